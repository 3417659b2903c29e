"""Few long lists: most cells of (pair, position) are empty, and no table of all of them is ever made."""

from __future__ import annotations

import random
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import counterrank as cr
from counterrank.policy import Policy
from counterrank.statistics import cell_tally
from counterrank.statistics.cells import Cells
from counterrank.statistics.pairs import Pairs
from seeds import in_turn


def long_rows(queries: int, pages: int, positions: int) -> dict[str, list[Any]]:
    draw = random.Random(1)
    rows: dict[str, list[Any]] = {"query": [], "items": [], "clicks": [], "day": []}
    for number in range(queries * pages):
        items = [f"{number % queries}-{k}" for k in range(positions)]
        draw.shuffle(items)
        rows["query"].append(str(number % queries))
        rows["items"].append(items[: positions - number % 3])
        rows["clicks"].append([int(draw.random() < 0.1) for _ in rows["items"][-1]])
        rows["day"].append(number // queries)
    return rows


TARGETS = ["uniform", "logging", {"0": ["0-3", "0-1", "0-2"], "1": ["1-0", "1-5"]}]


OPTIONS: list[dict[str, Any]] = [
    {}, {"clip": 5.0}, {"top": 7}, {"clip": "auto"}, {"examination": "em"},
    {"logging": "uniform", "estimators": "list,ip,wip,pbm,item", "interval": "empirical-bernstein"},
]  # fmt: skip


@pytest.mark.parametrize(("target", "options"), in_turn(TARGETS, OPTIONS))
def test_some_queries_at_a_time_give_what_all_at_once_give(
    target: Any, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    log = long_rows(queries=4, pages=2, positions=30)
    full = cr.evaluate(log, target, **options).to_dict()
    blocks = Pairs.blocks
    monkeypatch.setattr(cell_tally, "SMALL", 0)  # cells are found by hash
    monkeypatch.setattr(Pairs, "blocks", lambda pairs, numbers: blocks(pairs, 1))  # a query at a time
    assert cr.evaluate(log, target, **options).to_dict() == full


@pytest.mark.parametrize("small", [0, 1 << 22])
def test_cells_are_counted_one_by_one(small: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cell_tally, "SMALL", small)
    rng = np.random.default_rng(0)
    pairs, positions, rows = 3000, 40, 5000
    coded = (2 * rng.integers(0, pairs, (rows, positions)) + rng.integers(0, 2, (rows, positions))).astype(np.int32)
    coded[np.arange(rows), rng.integers(1, positions, rows)] = -1  # whatever is behind the end is no cell
    coded[:100] = np.where(coded[:100] >= 0, coded[:100] % 2000, -1)  # pairs come as they are met
    often = rng.integers(1, 4, rows)
    tally = cell_tally.CellTally(1)
    tally.grow(0, positions)
    tally.add(coded[:100], often[:100])
    tally.grow(pairs)
    tally.add(coded[100:], often[100:])
    assert tally.dense == (small > 0)
    rename = rng.permutation(pairs)
    rename[:5] = -1  # not wanted
    found = tally.found(rename, pairs, positions)
    shown, clicked = np.zeros((2, pairs + 1, positions), dtype=np.int64)
    for row, n in zip(coded.tolist(), often.tolist(), strict=True):
        for k, v in enumerate(row[: row.index(-1)]):
            shown[rename[v >> 1], k] += n
            clicked[rename[v >> 1], k] += n * (v & 1)
    np.testing.assert_array_equal(found.cells.dense(found.shown), shown[:-1])
    np.testing.assert_array_equal(found.cells.dense(found.clicked), clicked[:-1])
    assert (found.shown > 0).all()


def test_cells_are_found_and_added_up() -> None:
    rng = np.random.default_rng(1)
    table = rng.integers(0, 3, (50, 9)) * rng.integers(0, 2, (50, 9))
    cells, (values,) = Cells.of_tables(table)
    rows, positions = rng.integers(0, 50, 200), rng.integers(0, 9, 200)
    np.testing.assert_array_equal(cells.at(values, rows, positions), table[rows, positions])
    np.testing.assert_array_equal(cells.by_pair(values), table.sum(axis=1))
    np.testing.assert_array_equal(cells.by_position(values), table.sum(axis=0))
    np.testing.assert_array_equal(cells.dense(values, 3, 20), table[3:20])
    into = rng.permutation(60)[:50]
    moved, order = cells.moved(into, 60)
    wide = np.zeros((60, 9), dtype=np.int64)
    wide[into] = table
    np.testing.assert_array_equal(moved.dense(values if order is None else values[order]), wide)
    twice, (sums,) = Cells.added(np.tile(cells.rows, 2), np.tile(cells.positions, 2), [np.tile(values, 2)], 50, 9)
    np.testing.assert_array_equal(twice.dense(sums), 2 * table)


def scores(queries: int, positions: int) -> Policy:
    named = {str(q): {f"{q}-{k}": float(k * 7 % positions) for k in range(positions)} for q in range(queries)}
    return cr.read_policy(named)


COMMANDS: dict[str, Callable[[Any, Any, Any], object]] = {
    "check": lambda log, table, scored: cr.check(log),
    "evaluate, table": lambda log, table, scored: cr.evaluate(log, table),
    "evaluate, scores": lambda log, table, scored: cr.evaluate(log, scored),
    "evaluate, uniform": lambda log, table, scored: cr.evaluate(log, "uniform"),
    "compare": lambda log, table, scored: cr.compare(log, table, scored),
    "clicks": lambda log, table, scored: cr.clicks(log, models="ctr,pbm,cm"),
    "evaluate, from the top": lambda log, table, scored: cr.evaluate(log, table, estimators="rips,cdr"),
    "clicks, from the top": lambda log, table, scored: cr.clicks(log, models="dcm-ml", prior="1,1"),
    "optimize": lambda log, table, scored: cr.optimize(log),
}


@pytest.mark.parametrize("queries", [30, pytest.param(10, marks=pytest.mark.slow)])
@pytest.mark.parametrize("command", in_turn(list(COMMANDS)))
def test_no_table_of_all_pairs_and_positions(command: str, queries: int) -> None:
    positions = 700
    log = cr.read_log(long_rows(queries, 30 // queries, positions))
    table = {str(q): [f"{q}-{k}" for k in range(positions)][::-1] for q in range(queries)}
    run = COMMANDS[command]
    scored = scores(queries, positions)
    run(log, table, scored)  # what is imported and compiled does not count
    tracemalloc.start()
    try:
        run(log, table, scored)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 8 * 30 * positions**2
