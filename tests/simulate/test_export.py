"""Policies written to files come back the same."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from counterrank.errors import InputError
from counterrank.policy.base import Policy
from counterrank.policy.read import read_policy
from counterrank.policy.slots import Slots
from counterrank.policy.table import Table
from counterrank.simulate import make_world, write_policy

WORLD = make_world(queries=3, items=4, k=3, temperature=0.5)


def same(one: Policy, two: Policy) -> None:
    np.testing.assert_allclose(
        one.bind(WORLD.pairs).marginals(), two.bind(WORLD.pairs).marginals(), rtol=1e-12, atol=1e-15
    )


@pytest.mark.parametrize("suffix", ["parquet", "csv", "csv.gz", "jsonl", "jsonl.gz"])
def test_round_trip(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"policy.{suffix}"
    write_policy(WORLD.better(), path)
    same(read_policy(str(path)), WORLD.better())
    write_policy(WORLD.logging_policy(), path)
    same(read_policy(str(path), temperature=1), WORLD.logging_policy())
    table = Table(["q1", "q1", "q2"], [["i1", "i2"], ["i2", "i3", "i1"], ["i4"]], [0.25, 0.75, 1])
    write_policy(table, path)
    same(read_policy(str(path)), table)
    slots = Slots(["q1", "q1", "q1", "q2"], [1, 2, 2, 1], ["i1", "i2", "i3", "i4"], [1, 0.25, 0.75, 1])
    write_policy(slots, path)
    assert isinstance(read_policy(str(path)), Slots)
    same(read_policy(str(path)), slots)


def test_ids_are_escaped(tmp_path: Path) -> None:
    table = Table(['say "q", \\', "ü"], [["a,b", "[1]"], ["x\ny"]])
    for suffix in ("csv", "jsonl"):
        write_policy(table, tmp_path / f"p.{suffix}")
        read = read_policy(str(tmp_path / f"p.{suffix}"))
        assert read.rank('say "q", \\') == ["a,b", "[1]"]
        assert read.rank("ü") == ["x\ny"]


def test_a_mixture_has_no_file_form(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no file form"):
        write_policy(make_world(uniform_share=0.5).logging_policy(), tmp_path / "p.csv")
