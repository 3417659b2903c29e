"""The memory of a service: it grows, keeps what it knew, and is the same after a file."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from counterrank.errors import InputError
from counterrank.online import Memory
from counterrank.online.memory import VALIDATION, totals


def grown(seed: int = 0, pages: int = 400) -> tuple[Memory, dict[tuple[str, str], np.ndarray]]:
    """Random pages of random queries, and the same counted in a dict."""
    rng = np.random.default_rng(seed)
    memory = Memory(positions=4, names=["x", "y"])
    plain: dict[tuple[str, str], np.ndarray] = {}
    for _ in range(pages):
        query = f"q{rng.integers(7)}"
        items = [f"i{n}" for n in rng.permutation(30)[: rng.integers(1, 5)]]
        clicks = rng.integers(0, 2, len(items)).tolist()
        for k, (item, click) in enumerate(zip(items, clicks, strict=True)):
            counted = plain.setdefault((query, item), np.zeros((2, 4), dtype=int))
            counted[0, k] += 1
            counted[1, k] += click
        memory.record(query, items, clicks)
    return memory, plain


def test_it_counts_as_a_dict_does_however_blocks_move() -> None:
    memory, plain = grown()
    assert len(memory) == len(plain)
    for query in memory.query_ids:
        for slot, item in enumerate(memory.items_of(query)):
            row = memory.rows.begin[memory.query(query)] + slot
            assert (memory.rows.shown[row] == plain[query, item][0]).all()
            assert (memory.rows.clicked[row] == plain[query, item][1]).all()


def test_another_examination_curve_needs_no_other_counts() -> None:
    memory, plain = grown(1)
    for curve in (np.array([1.0, 0.5, 0.25, 0.1]), np.array([0.9, 0.8, 0.7, 0.6])):
        at = memory.rows_of()
        names = [(query, item) for query in memory.query_ids for item in memory.items_of(query)]
        shown, clicked = (np.array([plain[name][i] for name in names]) for i in (0, 1))
        expected = np.stack([shown.sum(1), clicked.sum(1), (clicked / curve).sum(1), (shown * curve).sum(1)], axis=1)
        assert totals(memory.rows, at, curve) == pytest.approx(expected)


def test_the_same_from_a_file(tmp_path: Path) -> None:
    memory, _ = grown(2)
    memory.add("q1", "new", [0.5, np.nan], (2.0, 5.0))
    memory.part[memory.query("q3")] = VALIDATION
    memory.save(tmp_path / "memory.parquet")
    again = Memory.read(tmp_path / "memory.parquet")
    assert again.to_arrow().equals(memory.to_arrow()) or str(again.to_arrow()) == str(memory.to_arrow())
    assert (again.rows_in(VALIDATION).size, again.names) == (memory.rows_in(VALIDATION).size, memory.names)
    again.record("q1", ["new"], [1])
    assert again.clicks("q1")[-1] == 1


def test_files_that_are_none(tmp_path: Path) -> None:
    (tmp_path / "text.parquet").write_text("x")
    pq.write_table(pa.table({"query": ["q"]}), tmp_path / "other.parquet")
    for name in ("text", "other", "missing"):
        with pytest.raises(InputError, match="memory"):
            Memory.read(tmp_path / f"{name}.parquet")


def test_a_page_that_is_too_long() -> None:
    with pytest.raises(InputError, match="at most 1"):
        Memory(positions=1).record("q", ["a", "b"], [0, 0])


def test_an_item_costs_the_same_however_many_there_are() -> None:
    def seconds(count: int) -> float:
        memory = Memory(positions=2, names=["x"])
        start = time.process_time()
        for number in range(count):
            memory.add(f"q{number % 11}", str(number), [1.0])
        return time.process_time() - start

    seconds(100)
    assert seconds(8000) < 60 * max(seconds(1000), 0.005)
