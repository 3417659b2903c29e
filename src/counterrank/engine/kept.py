"""Coded rows kept for later: in memory while there is room, then in files, or not at all."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np

from counterrank import temporary
from counterrank.engine.coder import CodedRows
from counterrank.engine.narrow import Kept
from counterrank.errors import InputError

COLUMNS = ("coded", "starts", "impressions", "reward", "day", "cluster", "chances")
_opening = Lock()  # the head of a file is read as Python's syntax, which threads of Python 3.11 cannot do at once


class KeptRows:
    """Batches of coded rows. Beyond `room` bytes: to disk, or all are forgotten (`complete` is then False)."""

    def __init__(self, room: int, to_disk: bool) -> None:
        self.room, self.to_disk = room, to_disk
        self.complete = True
        self.in_memory: list[Kept] = []
        self._bytes = 0
        self._files = 0
        self._folder: temporary.Folder | None = None

    def add(self, rows: Kept) -> None:
        if not self.complete:
            return
        self._bytes += rows.nbytes
        if self._bytes <= self.room:
            self.in_memory.append(rows)
        elif self.to_disk:
            self._write(rows)
        else:
            self.complete = False
            self.in_memory = []

    def holds(self, rows: Kept) -> bool:
        """Whether all rows are kept, and will be with these."""
        return self.complete and (self.to_disk or self._bytes + rows.nbytes <= self.room)

    def has_room(self, rows: Kept) -> bool:
        """Whether all rows are in memory, and will be with these."""
        return self.complete and self._bytes + rows.nbytes <= self.room

    @property
    def keeps(self) -> bool:
        """Whether rows are kept in memory as long as there is room."""
        return self.complete and self.room > 0

    @property
    def shown(self) -> int:
        """Places for shown items of the rows in memory."""
        return sum(len(rows) * rows.positions for rows in self.in_memory)

    @property
    def spilled(self) -> bool:
        """Whether some batches are on disk."""
        return self._files > 0

    def gather(self) -> None:
        """Make one batch of all, in the order of queries, where they are in memory and each is in that order."""
        if len(self.in_memory) > 1 and not self.spilled and all(len(rows.starts) for rows in self.in_memory):
            self.in_memory = [_gathered(self.in_memory)]

    def on_disk(self) -> Iterator[CodedRows]:
        """The batches that did not fit, one at a time."""
        for number in range(self._files):
            columns: dict[str, Any] = {}
            for name in COLUMNS:
                path = self._path(number, name)
                with _opening:
                    columns[name] = np.asarray(np.load(path, mmap_mode="r")) if path.exists() else None
            coded, starts = columns["coded"], columns["starts"]
            assert coded is not None and starts is not None  # noqa: S101, PT018 - always written
            yield CodedRows(**columns | {"coded": coded, "starts": starts})

    def _write(self, rows: Kept) -> None:
        if self._folder is None:
            self._folder = temporary.Folder()
        number = self._files
        try:
            for name in COLUMNS:
                if (column := getattr(rows, name)) is not None:
                    np.save(self._path(number, name), column, allow_pickle=False)
        except OSError as error:
            raise InputError(
                f"the rows do not fit on the disk behind {tempfile.gettempdir()} ({error.strerror}): make room, set "
                "TMPDIR to a larger disk, or leave out what needs every row: pi, wpi, click models with no closed form"
            ) from None
        self._files += 1

    def _path(self, number: int, column: str) -> Path:
        assert self._folder is not None  # noqa: S101 - a file was written
        return Path(self._folder.name) / f"{number}-{column}.npy"


def _gathered(batches: Sequence[Kept]) -> CodedRows:
    """The rows of all batches by query; those of one query stay in the order of batches."""
    queries, rows = max(len(each.starts) for each in batches) - 1, sum(map(len, batches))
    sizes = np.zeros((queries + 1, len(batches)), dtype=np.int64)  # the rows of no query come first
    for number, each in enumerate(batches):
        own = np.diff(np.concatenate([[0], each.starts]))
        sizes[: len(own), number] = own
        sizes[0, number] += len(each) - own.sum()
    begins = (np.cumsum(sizes.ravel()) - sizes.ravel()).reshape(sizes.shape)
    places = [
        np.repeat(begins[:, number] - (np.cumsum(own) - own), own) + np.arange(own.sum())
        for number, own in enumerate(sizes.T)
    ]
    longest = max(each.positions for each in batches)

    def together(name: str) -> Any:
        columns = [getattr(each, name) for each in batches]
        if columns[0] is None:
            return None
        wide = columns[0].ndim > 1
        out = np.full((rows, longest) if wide else rows, -1 if name == "coded" else 1, dtype=columns[0].dtype)
        for place, column in zip(places, columns, strict=True):
            out[(place, slice(column.shape[1])) if wide else place] = column
        return out

    columns = {name: together(name) for name in COLUMNS if name != "starts"}
    return CodedRows(**columns, starts=np.append(begins[1:, 0], rows))
