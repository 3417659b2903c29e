"""Groups of rankings that outgrow memory: set down in partitions on disk, added up one partition at a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from counterrank import temporary
from counterrank.engine.tables import GroupTable
from counterrank.errors import InputError
from counterrank.ids import Codes
from counterrank.records import dataclass
from counterrank.statistics.rankings import Rankings

PARTITIONS = 128


class Spill:
    """Groups on disk, in files by their ranking's key, so that equal rankings meet in one file."""

    def __init__(self, by_propensity: bool) -> None:
        self._folder = temporary.Folder()
        self.by_propensity = by_propensity
        self.widths: list[int] = []  # how many positions the rankings had when they were written

    def _record(self, width: int) -> np.dtype[Any]:
        fields = [("query", "<i4"), ("sums", "<f8", 3), ("propensity", "<f8"), ("rows", "<i4", width)]
        return np.dtype(fields, align=False)

    def write(self, table: GroupTable, used: int) -> None:
        width = table.positions
        if width not in self.widths:
            self.widths.append(width)
        records = np.zeros(used, dtype=self._record(width))
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
                self._append(self._file(number, width), records[chosen])

    def _append(self, path: Path, records: NDArray[Any]) -> None:
        try:
            with path.open("ab") as file:
                file.write(records.tobytes())
        except OSError as error:
            raise InputError(
                f"the rankings do not fit on the disk behind {path.parent.parent} ({error.strerror}): make room, set "
                "TMPDIR to a larger disk, or leave out what needs whole rankings: list, wlist"
            ) from None

    def read(self, positions: int) -> Iterator[Rankings]:
        """The groups, added up, a partition at a time."""
        for number in range(PARTITIONS):
            parts = [
                self._load(number, width, positions) for width in self.widths if self._file(number, width).exists()
            ]
            if parts:
                query, rows, sums, propensity = (np.concatenate(columns) for columns in zip(*parts, strict=True))
                yield Rankings(
                    queries=query,
                    rows=rows,
                    impressions=sums[:, 0],
                    reward=sums[:, 1],
                    reward2=sums[:, 2],
                    propensity=propensity if self.by_propensity else None,
                ).merged()

    def _load(self, number: int, width: int, positions: int) -> tuple[Any, Any, Any, Any]:
        records = np.fromfile(self._file(number, width), dtype=self._record(width))
        rows = np.full((len(records), positions), -1, dtype=np.int64)
        rows[:, : min(width, positions)] = records["rows"][:, :positions]
        return records["query"].astype(np.int64), rows, records["sums"], records["propensity"]

    def _file(self, number: int, width: int) -> Path:
        return Path(self._folder.name) / f"{number}-{width}.bin"


def _partition(queries: NDArray[np.int32], rows: NDArray[np.int32]) -> NDArray[np.int64]:
    mixed = queries.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    for k in range(rows.shape[1]):  # a place beyond the end adds nothing, so that a ranking has one home at any width
        step = (mixed ^ rows[:, k].astype(np.uint64)) * np.uint64(0xBF58476D1CE4E5B9)
        mixed = np.where(rows[:, k] >= 0, step ^ (step >> np.uint64(29)), mixed)
    return (mixed % np.uint64(PARTITIONS)).astype(np.int64)


@dataclass(frozen=True)
class SpilledRankings:
    """Rankings on disk: the same chunks as `Rankings.chunks`, more of them."""

    spill: Spill
    pair_rows: Codes
    queries: Codes = field(repr=False)
    positions: int
    by_propensity: bool = True
    quick: bool = False

    def chunks(self, low: int = 0, high: int | None = None) -> Iterator[Rankings]:
        for chunk in self.spill.read(self.positions):
            moved = chunk.moved(self.pair_rows, self.queries)
            yield from (moved if self.by_propensity else moved.without_propensity()).chunks(low, high)

    def without_propensity(self) -> SpilledRankings:
        return replace(self, by_propensity=False)

    def moved(self, pair_rows: Codes) -> SpilledRankings:
        known = self.pair_rows >= 0
        rows = np.where(known, pair_rows[np.where(known, self.pair_rows, 0)], -1)
        return replace(self, pair_rows=rows)
