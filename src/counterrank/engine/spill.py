"""Groups of rankings that outgrow memory: set down in partitions on disk, added up one partition at a time."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from counterrank.engine.tables import GroupTable
from counterrank.ids import Codes
from counterrank.statistics.rankings import Rankings

PARTITIONS = 128


class Spill:
    """Groups on disk, in files by their ranking's key, so that equal rankings meet in one file."""

    def __init__(self, positions: int, by_propensity: bool) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="counterrank-")
        self.positions = positions
        self.by_propensity = by_propensity
        self.record = np.dtype(
            [("query", "<i4"), ("sums", "<f8", 3), ("propensity", "<f8"), ("rows", "<i4", positions)], align=False
        )
        self.groups = 0

    def write(self, table: GroupTable, used: int) -> None:
        records = np.zeros(used, dtype=self.record)
        records["query"] = table.query[:used]
        records["sums"] = table.sums[:used]
        records["propensity"] = table.propensity[:used]
        records["rows"] = table.rows[:used]
        homes = _partition(records["query"], records["rows"])
        order = np.argsort(homes, kind="stable")
        ends = np.searchsorted(homes[order], np.arange(PARTITIONS + 1))
        for number in range(PARTITIONS):
            chosen = order[ends[number] : ends[number + 1]]
            if len(chosen):
                with self._file(number).open("ab") as file:
                    file.write(records[chosen].tobytes())
        self.groups += used

    def read(self) -> Iterator[Rankings]:
        for number in range(PARTITIONS):
            if self._file(number).exists():
                records = np.fromfile(self._file(number), dtype=self.record)
                yield Rankings(
                    records["query"].astype(np.int64),
                    records["rows"].astype(np.int64),
                    records["sums"][:, 0].copy(),
                    records["sums"][:, 1].copy(),
                    records["sums"][:, 2].copy(),
                    records["propensity"].copy() if self.by_propensity else None,
                ).merged()

    def _file(self, number: int) -> Path:
        return Path(self._folder.name) / f"{number}.bin"


def _partition(queries: NDArray[np.int32], rows: NDArray[np.int32]) -> NDArray[np.int64]:
    mixed = queries.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    for k in range(rows.shape[1]):
        mixed = (mixed ^ rows[:, k].astype(np.uint64)) * np.uint64(0xBF58476D1CE4E5B9)
        mixed ^= mixed >> np.uint64(29)
    return (mixed % np.uint64(PARTITIONS)).astype(np.int64)


@dataclass(frozen=True)
class SpilledRankings:
    """Rankings on disk: the same chunks as `Rankings.chunks`, more of them."""

    spill: Spill
    pair_rows: Codes
    queries: Codes = field(repr=False)
    by_propensity: bool = True

    def chunks(self) -> Iterator[Rankings]:
        for chunk in self.spill.read():
            moved = chunk.moved(self.pair_rows, self.queries)
            yield moved if self.by_propensity else moved.without_propensity()

    def without_propensity(self) -> SpilledRankings:
        return replace(self, by_propensity=False)

    def moved(self, pair_rows: Codes) -> SpilledRankings:
        known = self.pair_rows >= 0
        rows = np.where(known, pair_rows[np.where(known, self.pair_rows, 0)], -1)
        return replace(self, pair_rows=rows)
