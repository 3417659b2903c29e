"""Numbers that all workers of a service on one machine see at once: a small file that each maps into its memory.

The number of the policy setting (so that a kill switch reaches every worker with its answer), when each token may call
next, and counters of each worker, which `/metrics` adds up.
"""

from __future__ import annotations

import hashlib
import mmap
import os
import tempfile
import time
from pathlib import Path

import numpy as np

from counterrank.errors import InputError

TOKENS, WORKERS, COUNTERS = 1024, 256, 128
_EPOCH, _ANSWERED, _NEXT, _COUNTS = 1, 2, 8, 8 + TOKENS
_FLIGHT = COUNTERS - 1  # of a worker's counters: the epoch of its oldest page that is on its way, and 1; 0: none is
_SIZE = 8 * (_COUNTS + WORKERS * COUNTERS)


class Shared:
    """The numbers of a service. `worker`: the place of this one's counters."""

    def __init__(self, path: str | Path, worker: int = 0) -> None:
        self.path = Path(path)
        try:
            handle = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | getattr(os, "O_NOFOLLOW", 0), 0o600)
        except OSError as error:
            raise InputError(f"{self.path}: cannot be written ({error.strerror}): give another store") from None
        try:
            if hasattr(os, "getuid") and os.fstat(handle).st_uid != os.getuid():
                raise InputError(
                    f"{self.path}: belongs to somebody else: remove it, or set TMPDIR to a folder of yours"
                )
            if os.fstat(handle).st_size < _SIZE:
                os.ftruncate(handle, _SIZE)
            self._map = mmap.mmap(handle, _SIZE)
        finally:
            os.close(handle)
        self._numbers = memoryview(self._map).cast("q")  # a number of it is read and written faster than an array's
        self._next = np.frombuffer(self._map, dtype=np.float64)[_NEXT : _NEXT + TOKENS]
        self.all_counts = np.frombuffer(self._map, dtype=np.float64)[_COUNTS:].reshape(WORKERS, COUNTERS)
        first = _COUNTS + worker * COUNTERS
        self.counts = memoryview(self._map).cast("d")[first : first + COUNTERS]
        self.counts[_FLIGHT] = 0.0

    @property
    def epoch(self) -> int:
        """The number of the policy setting by which pages are made on this machine."""
        return self._numbers[_EPOCH]

    @property
    def answered(self) -> int:
        """The number of the policy setting that was last answered for: no page made before it may be answered."""
        return self._numbers[_ANSWERED]

    def raise_answered(self, epoch: int) -> None:
        if epoch > self.answered:
            self._numbers[_ANSWERED] = epoch

    def fly(self, oldest: int | None) -> None:
        """Say of which setting this worker's oldest page is that is made and not answered yet; None: there is none."""
        self.counts[_FLIGHT] = 0.0 if oldest is None else oldest + 1.0

    def in_flight(self, epoch: int) -> bool:
        """Whether a worker has a page on its way that was made under an earlier setting."""
        oldest = self.all_counts[:, _FLIGHT]
        return bool(((oldest > 0.0) & (oldest <= epoch)).any())

    def raise_epoch(self, epoch: int) -> None:
        if epoch > self.epoch:
            self._numbers[_EPOCH] = epoch

    def reset(self, epoch: int) -> None:
        """As at the start of a service."""
        self._numbers[_EPOCH] = self._numbers[_ANSWERED] = epoch
        self.all_counts[:] = 0.0

    def wait(self, caller: int, rate: float, burst: float) -> float:
        """Seconds until a caller may call again; 0 if it may now, which counts.

        The calls of one caller are `1 / rate` apart on average, and up to `burst` of them may come at once.
        """
        now = time.time()
        at = caller % TOKENS
        due = max(float(self._next[at]), now)
        ahead = due - now - (burst - 1) / rate
        if ahead > 0:
            return ahead
        self._next[at] = due + 1 / rate
        return 0.0


def shared_path(store: str, sqlite: str | None) -> Path:
    """Where a service keeps these numbers: beside an SQLite file, else in the temporary folder, by the store's name."""
    if sqlite is not None:
        return Path(f"{sqlite}-shared")
    name = hashlib.sha256(store.encode()).hexdigest()[:16]
    owner = os.getuid() if hasattr(os, "getuid") else 0
    return Path(tempfile.gettempdir()) / f"counterrank-{owner}-{name}-shared"
