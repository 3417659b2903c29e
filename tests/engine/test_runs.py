"""Rows of many batches on a few shelves: every query's rows are met once, and weigh what they weigh one by one."""

from __future__ import annotations

import numpy as np
import pytest

import counterrank as cr
from coded import batch_of, pairs_of
from counterrank.engine import Embedded, embedded, part_sums, sent_rows
from counterrank.engine.coder import CodedRows
from counterrank.engine.narrow import Kept, NarrowRows, Shelves, narrowed
from counterrank.engine.runs import Runs, stacks
from counterrank.engine.tables import PairTable
from counterrank.log import parts
from in_parts import InParts

POSITIONS, QUERIES = 3, 7
ESTIMATORS = "list,wlist,ip,wip,pbm,item,rctr"  # more would be made of rows that are kept
SIZES = [40, 1, 0, 60, 35, 50, 9]


def spelled(runs: Runs, listed: np.ndarray | None) -> list[tuple[int, ...]]:
    """The codes of each row, and its impressions; `listed` names pairs that are told by their places."""
    found = []
    for first, last, begin in zip(runs.first, runs.last, runs.begin, strict=True):
        for row in range(first, last):
            codes = runs.codes[row].astype(np.int64)
            codes = codes[: np.append(np.flatnonzero(codes == runs.end), len(codes))[0]]
            wide = codes if listed is None else 2 * listed[begin + (codes >> 1)] + codes % 2
            many = 1 if runs.impressions is None else runs.impressions[row]
            found.append((int(many), *wide.tolist()))
    return found


def narrow_batches(size: int, counted: bool, seed: int) -> tuple[PairTable, list[CodedRows], list[Kept]]:
    """Batches that know ever more queries, on shelves of so many bytes."""
    rng = np.random.default_rng(seed)
    table = pairs_of([3, 5, 1, 9, 4, 2, 6], rng)
    some = {"positions": POSITIONS, "counted": counted}
    plain = [batch_of(table, min(2 + i, QUERIES), each, rng, **some) for i, each in enumerate(SIZES)]
    shelves = Shelves(size)
    return table, plain, [narrowed(each, table, shelves) for each in plain]


@pytest.mark.parametrize("counted", [False, True])
@pytest.mark.parametrize("size", [1, 150, 1 << 20])
def test_rows_of_a_stack_are_those_of_its_batches(size: int, counted: bool) -> None:
    """Query by query: in each block of queries all of their rows, and none of any other."""
    table, plain, kept = narrow_batches(size, counted, seed=1)
    begins, listed = table.by_query()
    several = list(stacks(kept))
    assert (len(several) == 1) == (size > 150)
    assert all(stack.narrow for stack in several)
    for block in ((0, 1), (0, QUERIES), (2, 6), (6, QUERIES), (3, 3)):
        wanted = []
        for rows in plain:
            low, high = (rows.starts[min(q, len(rows.starts) - 1)] for q in block)
            wanted += spelled(Runs.some(rows, int(low), int(high)), None)
        found = [row for stack in several for row in spelled(stack.runs(*block, begins), listed)]
        assert sorted(found) == sorted(wanted)
        if block == (0, QUERIES):
            query = [table.query[row[1] >> 1] for row in spelled(several[-1].runs(*block, begins), listed) if row[1:]]
            assert query == sorted(query)


def test_rows_of_several_widths_and_forms_share_no_shelf() -> None:
    rng = np.random.default_rng(2)
    few, many = pairs_of([3, 4], rng), pairs_of([3, 200], rng)
    shelves = Shelves(1 << 20)
    kept: list[Kept] = [
        narrowed(batch_of(few, 2, 5, rng, positions=POSITIONS, counted=False), few, shelves),
        narrowed(batch_of(few, 2, 5, rng, positions=POSITIONS, counted=True), few, shelves),
        narrowed(batch_of(many, 2, 5, rng, positions=POSITIONS, counted=True), many, shelves),
        batch_of(many, 2, 5, rng, positions=POSITIONS, counted=True),
    ]
    assert [type(part) for part in kept] == [NarrowRows] * 3 + [CodedRows]
    assert [len(stack.parts) for stack in stacks(kept)] == [1, 1, 1, 1]
    assert [stack.narrow for stack in stacks(kept)] == [True, True, True, False]


def a_log(counted: bool) -> dict[str, object]:
    """A query whose items are at last too many for one byte, and others that come late."""
    rng = np.random.default_rng(5)
    size = 1_500
    queries = [int(q) for q in rng.integers(0, 3 + np.arange(size) // 300)]
    items = [
        [int(i) for i in rng.choice(4 + (row // 6 if query == 0 else 3), 3, replace=False)]
        for row, query in enumerate(queries)
    ]
    clicks = [[int(c) for c in rng.random(3) < 0.3] for _ in items]
    more = {"impressions": [int(n) for n in rng.integers(1, 5, size)]} if counted else {}
    return {"query": queries, "items": items, "clicks": clicks} | more


@pytest.mark.parametrize("counted", [False, True])
def test_rows_kept_narrow_weigh_what_rows_read_again_do(counted: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "BATCH_ROWS", 100)
    monkeypatch.setattr(embedded, "SHELF_BYTES", 700)
    log, target = cr.read_log(a_log(counted)), {q: [2, 0, 1] for q in range(8)}
    results = []
    for room in (embedded.CACHE_BYTES, 0):
        found = cr.evaluate(log, target, estimators=ESTIMATORS, engine=Embedded(cache_bytes=room))
        results.append([[row.value, row.stderr, row.lower, row.upper] for row in found.rows])
    np.testing.assert_allclose(*results, rtol=1e-12)


@pytest.mark.parametrize("waiting", [1, 900, 32 << 20])
@pytest.mark.parametrize("counted", [False, True])
def test_rows_that_waited_in_another_process_weigh_the_same(
    counted: bool, waiting: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They come in one byte a position and in two, a few at a time, weighed at once or together."""
    monkeypatch.setattr(part_sums, "WAITING_BYTES", waiting)
    monkeypatch.setattr(sent_rows, "SENT_BYTES", 64)
    log, target = cr.read_log(a_log(counted)), {q: [2, 0, 1] for q in range(8)}
    found = [cr.evaluate(log, target, engine=engine) for engine in (InParts(), "duckdb")]
    results = [[[row.value, row.stderr, row.lower, row.upper] for row in each.rows] for each in found]
    np.testing.assert_allclose(*results, rtol=1e-9)
