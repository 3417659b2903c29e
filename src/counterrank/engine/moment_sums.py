"""What the second pass adds up: rows weighed with the coefficients of all estimators, at once or part by part."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from counterrank.engine import kernels
from counterrank.engine.coder import CodedRows
from counterrank.engine.plan import Coefficients, Moments
from counterrank.engine.runs import Runs
from counterrank.engine.unit_sums import UnitSums
from counterrank.statistics.cells import LookedUp
from counterrank.statistics.counts import Part
from counterrank.statistics.histogram import BUCKETS, Spreads

THREADS = 2
APART = 64  # rows between what two threads write to, which would slow each other down in one line of the cache
Table = NDArray[np.float64]


class MomentSums:
    """Fed with rows, and with the table of coefficients that weighs them; two threads may feed it other queries."""

    def __init__(self, coefficients: Coefficients, units: UnitSums) -> None:
        self.coefficients, self.units = coefficients, units
        estimators = len(coefficients.scale)
        self.out = np.zeros((len(coefficients.counts.impressions), estimators, 4))
        self.spread = np.zeros((THREADS, estimators, 3, BUCKETS, 2))  # each thread fills its own
        self.cross = np.zeros((THREADS, estimators + APART, estimators))[:, :estimators]
        self._one = Lock()

    def add(self, rows: CodedRows, where: LookedUp, table: Table, thread: int = 0) -> None:
        """All of these rows."""
        with self._one:
            self.units.add(rows, where, table)
        self.add_runs(Runs.whole(rows), where, table, thread)

    def add_runs(self, runs: Runs, where: LookedUp, table: Table, thread: int = 0) -> None:
        """Rows of which terms by query and by cluster are left out."""
        weighted = runs.impressions is not None
        counts = runs.impressions if runs.impressions is not None else np.zeros(0, dtype=np.int64)
        kernels.sum_moments(
            runs.codes, runs.end, (runs.first, runs.last, runs.begin), (counts, weighted), where, table,
            self.coefficients.scale, self.coefficients.constant, self.out, self.cross[thread], self.spread[thread],
        )  # fmt: skip

    def by_parts(self, parts: Sequence[Part], rows_of: Callable[[Part], Iterable[CodedRows]]) -> None:
        """All rows, with the coefficients of a part of the queries at a time, whose pairs are numbered from 0 on."""
        pairs, cells = self.coefficients.pairs, self.coefficients.cells

        def work(thread: int) -> None:
            for part in parts[thread::THREADS]:
                table, mine = self.coefficients.table(part), part.pairs
                every = np.arange(mine.stop - mine.start)
                where = cells.of_pairs(mine).looked_up(every, pairs.queries_of(part.first, part.last))
                for rows in rows_of(part):
                    self.add(rows, where, table, thread)

        with ThreadPoolExecutor(THREADS) as pool:
            list(pool.map(work, range(THREADS)))

    def done(self) -> Moments:
        spreads = Spreads.dense(self.spread)
        half = self.cross.sum(axis=0)  # one side of the diagonal
        units = self.units
        return Moments(self.out, half + np.tril(half, -1).T, spreads, units.cluster_terms(), units.query_units())
