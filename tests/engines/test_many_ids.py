"""More ids than are compared one by one: every engine finds them wherever they are looked up."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import counterrank as cr
from counterrank.ids import FEW

QUERIES, ITEMS, POSITIONS = 2 * FEW, 4, 3


@pytest.mark.parametrize("whole", [True, False], ids=["integers", "text"])
def test_standard_errors_are_those_of_the_default_engine(engine, few, whole, tmp_path):
    if few and not whole:
        pytest.skip("one kind of ids is enough where jobs are slow to start")
    rng = np.random.default_rng(6)
    size = 4_000
    query = rng.integers(0, QUERIES, size)
    shown = np.argsort(rng.random((size, ITEMS)), axis=1)[:, :POSITIONS]
    clicks = (rng.random(shown.shape) < 0.3 / (1 + np.arange(POSITIONS))).astype(int)

    def ids(values, what):
        return values.tolist() if whole else np.char.add(what, values.astype(str)).tolist()

    items = ids(ITEMS * query[:, None] + shown, "item-")
    path = tmp_path / "log.parquet"
    table = pa.table({"query": ids(query, "query-"), "items": items, "clicks": clicks.tolist()})
    pq.write_table(table, path, row_group_size=1_000)
    every = np.arange(QUERIES)
    best = ids(ITEMS * every[:, None] + np.arange(POSITIONS), "item-")
    target = {str(q): [str(item) for item in row] for q, row in zip(ids(every, "query-"), best, strict=True)}

    names = ["list", "ip", "wip", "pbm"]
    expected, found = (cr.evaluate(path, target, estimators=names, engine=each) for each in ("duckdb", engine))
    for name in names:
        mine, theirs = found[name], expected[name]
        assert theirs.stderr > 0
        for number in ("value", "stderr", "lower", "upper"):
            assert getattr(mine, number) == pytest.approx(getattr(theirs, number), rel=1e-9), (name, number)
