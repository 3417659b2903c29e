"""Few long lists: most cells of (pair, position) are empty, and tables of all of them are few at a time."""

from __future__ import annotations

import random
import tracemalloc
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import counterrank as cr
from counterrank.engine import cells


def long_rows(queries: int, pages: int, positions: int) -> dict[str, list[Any]]:
    draw = random.Random(1)
    rows: dict[str, list[Any]] = {"query": [], "items": [], "clicks": []}
    for number in range(queries * pages):
        items = [f"{number % queries}-{k}" for k in range(positions)]
        draw.shuffle(items)
        rows["query"].append(str(number % queries))
        rows["items"].append(items[: positions - number % 3])
        rows["clicks"].append([int(draw.random() < 0.1) for _ in rows["items"][-1]])
    return rows


@pytest.mark.parametrize("target", ["uniform", "logging", {"0": ["0-3", "0-1", "0-2"], "1": ["1-0", "1-5"]}], ids=str)
@pytest.mark.parametrize("options", [{}, {"clip": 5.0}, {"top": 7}, {"clip": "auto"}], ids=str)
def test_cells_give_what_full_tables_give(
    target: Any, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    log = long_rows(queries=4, pages=2, positions=30)
    full = cr.evaluate(log, target, **options).to_dict()
    monkeypatch.setattr(cells, "SMALL", 0)
    made: list[object] = []
    of = cells.ShownCells.of
    monkeypatch.setattr(cells.ShownCells, "of", lambda *given: made.append(of(*given)) or made[-1])
    sparse = cr.evaluate(log, target, **options).to_dict()
    assert any(each is not None for each in made) or "top" in options
    assert sparse == full


def test_what_is_behind_a_rows_end_is_no_cell(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cells, "SMALL", 0)
    rows = SimpleNamespace(coded=np.array([[0, 3, -1, 99], [-1, 77, 77, 77]], dtype=np.int32))
    found = cells.ShownCells.of([rows], pairs=40, positions=4)
    assert found is not None
    assert list(zip(found.position.tolist(), found.pair.tolist(), strict=True)) == [(0, 0), (1, 1)]


def test_few_tables_of_all_cells_at_a_time() -> None:
    log = cr.read_log(long_rows(queries=5, pages=2, positions=900))
    cr.evaluate(long_rows(1, 2, 5), "uniform")  # what is imported and compiled does not count
    tracemalloc.start()
    try:
        cr.evaluate(log, "uniform")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak / (5 * 900 * 900 * 8) < 19  # full coefficients alone were 10
