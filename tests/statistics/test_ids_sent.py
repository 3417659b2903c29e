"""Ids that were sent to another process are found there, whatever was looked up before they were sent."""

from __future__ import annotations

import pickle

import numpy as np
import pyarrow as pa
import pytest

from counterrank import ids
from counterrank.ids import FEW, Ids


@pytest.mark.parametrize("size", [FEW, FEW + 1, 5_000])
def test_ids_are_found_where_the_secret_is_another(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    known = Ids(pa.array([f"id-{i}" for i in range(size)]))
    wanted = pa.array([f"id-{i}" for i in (0, size - 1, size)])
    assert known.codes(wanted).tolist() == [0, size - 1, -1]
    sent = pickle.dumps(known)
    monkeypatch.setattr(ids, "_SECRET", np.array([3, 5], dtype=np.uint64))
    there = pickle.loads(sent)  # noqa: S301 - made above
    assert there.codes(wanted).tolist() == [0, size - 1, -1]
    assert there == Ids(known.texts)
