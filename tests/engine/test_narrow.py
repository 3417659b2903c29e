"""Kept rows in less room are the rows they were made of."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from coded import batch_of, pairs_of
from counterrank.engine import Embedded, Plan
from counterrank.engine.coder import CodedRows
from counterrank.engine.narrow import NarrowRows, narrowed
from counterrank.log import read_log


@pytest.mark.parametrize(
    ("largest", "kind"), [(1, "uint8"), (127, "uint8"), (128, "uint16"), (32_767, "uint16"), (32_768, None)]
)
def test_rows_are_the_same(largest: int, kind: str | None) -> None:
    rng = np.random.default_rng(largest)
    table = pairs_of([3, largest, 1, 5], rng)
    plain = batch_of(table, 4, 500, rng, positions=6)
    rows = narrowed(plain, table)
    if kind is None:
        assert rows is plain
        return
    assert isinstance(rows, NarrowRows)
    assert rows.narrow.dtype == kind
    assert rows.nbytes < plain.nbytes
    assert (len(rows), rows.positions) == (len(plain), plain.positions)
    until = np.cumprod(plain.coded >= 0, axis=1).astype(bool)  # behind its end nobody reads a row
    assert (rows.coded[until] == plain.coded[until]).all()
    assert (rows.heads() == plain.heads()).all()
    ends = until.sum(axis=1)
    picked = rng.permutation(500)[:77]
    for given, which in ((rows.taken(picked), picked), (rows.some(100, 230), np.arange(100, 230))):
        for row, found in zip(which, given, strict=True):
            end = int(ends[row])
            assert found[:end].tolist() == plain.coded[row, :end].tolist()
            assert end == 6 or found[end] == -1
    for name in ("impressions", "starts", "day"):
        assert (getattr(rows, name) == getattr(plain, name)).all()


def test_rows_that_are_in_no_order_or_have_chances_stay_as_they_are() -> None:
    rng = np.random.default_rng(0)
    table = pairs_of([4, 4], rng)
    rows = batch_of(table, 2, 50, rng, positions=6)
    loose = CodedRows(coded=rows.coded, impressions=None, starts=np.zeros(0, dtype=np.int64))
    weighed = CodedRows(coded=rows.coded, impressions=None, starts=rows.starts, chances=np.ones(rows.coded.shape))
    assert narrowed(loose, table) is loose
    assert narrowed(weighed, table) is weighed


def test_a_long_log_keeps_narrow_rows_that_say_what_it_showed(tmp_path) -> None:
    """Later batches show new pairs, so that the pairs of a query are far apart."""
    rng = np.random.default_rng(3)
    size, positions = 1_100_000, 4
    queries = rng.integers(0, 30, size)
    first = rng.integers(0, 4 + np.arange(size) // 100_000)
    items = (first[:, None] + np.arange(positions)) * 1_000 + queries[:, None] % 7
    clicks = (rng.random(items.shape) < 0.2).astype(np.int8)
    ends = pa.array(np.arange(0, items.size + 1, positions), pa.int32())
    path = tmp_path / "log.parquet"
    lists = [pa.ListArray.from_arrays(ends, pa.array(values.ravel())) for values in (items, clicks)]
    pq.write_table(pa.table({"query": queries, "items": lists[0], "clicks": lists[1]}), path, row_group_size=122_880)
    run = Embedded().count(read_log(path), Plan(metric="clicks", weights=np.ones))
    assert all(isinstance(part, NarrowRows) for part in run.kept.in_memory)
    shown = np.array([int(text) for text in run.item_ids.texts.to_pylist()])
    begin = 0
    for part in run.kept.in_memory:
        coded = part.coded
        mine = shown[run.new_item[run.coder.pairs.item[coded >> 1]]]
        of = run.coder.pairs.query[coded[:, 0] >> 1]
        batch = slice(begin, begin + len(coded))
        order = np.lexsort((np.arange(len(coded)), [int(q) for q in queries[batch]]))
        mine_order = np.lexsort((np.arange(len(coded)), run.new_query[of]))
        assert (mine[mine_order] == items[batch][order]).all()
        assert ((coded & 1)[mine_order] == clicks[batch][order]).all()
        for q, (low, high) in enumerate(pairwise(part.starts)):
            assert (of[low:high] == q).all()
        begin += len(coded)
    assert begin == size
