"""Clicks within strata: impressions of a query that show the same item at the same position.

If a click depends on nothing but the item and its position, the impressions of a stratum are alike, whatever else
their rankings have. So a direction f, a number that each (ranking, position) has, must not go with the clicks inside
strata: Σ (f − its mean in the stratum)·click has mean 0 given the rankings, however few impressions strata have.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from counterrank.findings.strata_sums import add_to_strata, add_up
from counterrank.ids import Codes
from counterrank.records import dataclass
from counterrank.statistics.chi_square import upper_tail
from counterrank.statistics.hashing import distinct
from counterrank.statistics.sample import Sample

Matrix = NDArray[np.float64]
ROUNDING = 1e-9  # of the largest number of a direction
_RANK = 1e-9  # relative: a smaller eigenvalue is 0 but for rounding


@dataclass(frozen=True)
class Scores:
    """Of D directions: Σ (f − mean)·click, its variance, and what a relative change of click rates by f adds to it."""

    total: Matrix  # (D,)
    variance: Matrix  # (D, D) each page's positions together, so that clicks of a page may hang on each other
    information: Matrix  # (D, D)
    means: Matrix  # (D, strata)
    clicks: float  # in strata with two impressions or more
    pages: Matrix  # (D,) how many pages carry the total, as if all had the same part of its variance

    def __add__(self, other: Scores) -> Scores:
        return replace(
            self,
            total=self.total + other.total,
            variance=self.variance + other.variance,
            information=self.information + other.information,
            clicks=self.clicks + other.clicks,
            pages=self.pages + other.pages,
        )

    @cached_property
    def _inverse(self) -> tuple[Matrix, int]:
        scale = np.sqrt(np.maximum(np.diag(self.variance), 1e-300))
        values, vectors = np.linalg.eigh(self.variance / scale / scale[:, None])
        kept = values > _RANK * max(float(values.max(initial=0.0)), 0.0)
        kept &= bool((np.diag(self.variance) > 0).any())
        half = vectors[:, kept] / np.sqrt(values[kept]) / scale[:, None]
        return half @ half.T, int(kept.sum())

    @property
    def freedom(self) -> int:
        return self._inverse[1]

    @property
    def statistic(self) -> float:
        """A chi-square of `freedom` degrees, where no direction matters."""
        return float(self.total @ self._inverse[0] @ self.total)

    @property
    def chance(self) -> float:
        return upper_tail(self.statistic, self.freedom) if self.freedom else 1.0

    @property
    def slopes(self) -> Matrix:
        """(D,) by how much click rates change, relatively, with each direction: all together, by least squares."""
        return np.linalg.pinv(self.information, rcond=_RANK, hermitian=True) @ self.total

    def moved(self, gradient: Matrix) -> tuple[float, float]:
        """gradient · slopes, and its standard error."""
        weight = gradient @ np.linalg.pinv(self.information, rcond=_RANK, hermitian=True)
        return float(weight @ self.total), max(float(weight @ self.variance @ weight), 0.0) ** 0.5


@dataclass(frozen=True, kw_only=True)
class Strata:
    """A sample as (group, position) matrices; `cell` is the stratum of each, one more where a list has ended."""

    queries: Codes  # (G,)
    rows: Codes  # (G, K) of `Pairs`, -1 beyond the end
    clicks: Matrix  # (G, K)
    number: Matrix  # (G,) impressions
    days: Codes  # (G,)
    keys: Codes  # (strata,) pair·K + position, rising
    cell: Codes  # (G, K)
    share: float  # of the log's impressions

    @classmethod
    def of(cls, sample: Sample) -> Strata:
        rows = sample.rows
        positions = rows.shape[1]
        every = (rows * positions + np.arange(positions)).ravel()
        first, of = distinct(every.view(np.uint64))
        order = np.argsort(every[first])
        keys, number = every[first[order]], np.empty(len(order), dtype=np.int64)
        number[order] = np.arange(len(order))
        outside = int(np.searchsorted(keys, 0))  # beyond the end keys are below 0, and come first
        cell = number[of].reshape(rows.shape) - outside
        return cls(
            queries=sample.queries,
            rows=rows,
            clicks=sample.clicks.astype(np.float64),
            number=sample.impressions.astype(np.float64),
            days=sample.days,
            keys=keys[outside:],
            cell=np.where(rows >= 0, cell, len(keys) - outside),
            share=sample.share,
        )

    def moved(self, rows: Codes) -> Strata:
        """The same under pairs of which pair p is rows[p]: more of them, in the same order."""
        keys = rows[self.pair] * self.rows.shape[1] + self.place
        return replace(self, rows=np.where(self.inside, rows[self.rows], -1), keys=keys)

    @property
    def inside(self) -> NDArray[np.bool_]:
        return self.rows >= 0

    @property
    def pair(self) -> Codes:
        """(strata,)"""
        return np.asarray(self.keys // self.rows.shape[1], dtype=np.int64)

    @property
    def place(self) -> Codes:
        """(strata,)"""
        return np.asarray(self.keys % self.rows.shape[1], dtype=np.int64)

    def rates(self, number: Matrix | None = None) -> tuple[Matrix, Matrix]:
        """(strata,) impressions and clicks."""
        if number is None:
            return self._rates
        return self._counted(number)

    @cached_property
    def _rates(self) -> tuple[Matrix, Matrix]:
        return self._counted(self.number)

    def _counted(self, number: Matrix) -> tuple[Matrix, Matrix]:
        shown, clicked = self._sums(np.zeros((0, *self.rows.shape)), number)
        return shown, clicked

    def _sums(self, directions: Matrix, number: Matrix) -> Matrix:
        """(2 + D, strata) impressions, clicks, and the sum of each direction."""
        sums = np.zeros((2 + len(directions), len(self.keys)))
        add_to_strata(self.cell, self.clicks, number, directions, sums)
        return sums

    def at(self, table: Matrix) -> Matrix:
        """(G, K) a number of each stratum where it is shown, 0 beyond the end."""
        return np.append(table, 0.0)[self.cell]

    def find(self, rows: Codes) -> Codes:
        """(…, K) the stratum of each item of other rankings; one more where there is none."""
        wanted = rows * self.rows.shape[1] + np.arange(rows.shape[1])
        at = np.minimum(np.searchsorted(self.keys, wanted), len(self.keys) - 1)
        return np.where((self.keys[at] == wanted) & (rows >= 0), at, len(self.keys))

    def halves(self) -> tuple[Matrix, Matrix]:
        """The impressions of each group dealt to two halves, by what the sample holds."""
        first = np.random.default_rng(0).binomial(self.number.astype(np.int64), 0.5).astype(np.float64)
        return first, self.number - first

    def means(self, directions: Sequence[Matrix] | Matrix, number: Matrix | None = None) -> Matrix:
        """(D, strata) the mean of each direction."""
        shown, _, *sums = self._sums(np.asarray(directions), self.number if number is None else number)
        return np.stack([np.divide(each, shown, out=np.zeros_like(shown), where=shown > 0) for each in sums])

    def score(self, directions: Sequence[Matrix] | Matrix, number: Matrix | None = None) -> Scores:
        """Directions are (G, K). Residuals are made longer by √(n/(n − 1)): a stratum's rate is its own mean."""
        n = self.number if number is None else number
        stacked = np.asarray(directions)
        shown, clicked, *sums = self._sums(stacked, n)
        rate = np.divide(clicked, shown, out=np.zeros_like(shown), where=shown > 0)
        longer = np.sqrt(np.divide(shown, shown - 1, out=np.zeros_like(shown), where=shown > 1))
        means = np.stack([np.divide(each, shown, out=np.zeros_like(shown), where=shown > 0) for each in sums])
        nothing = ROUNDING * np.abs(stacked).max(axis=(1, 2), initial=0.0)
        total, information, page = add_up(
            self.cell, self.clicks, n, stacked, np.stack([rate, longer]), means, nothing
        )  # fmt: skip
        once = np.divide(1.0, n, out=np.zeros_like(n), where=n > 0)
        return Scores(
            total=total,
            variance=(page * once) @ page.T,
            information=information,
            means=means,
            clicks=float(clicked[shown > 1].sum()),
            pages=_effective(page * once, n),
        )


def _effective(parts: Matrix, number: Matrix) -> Matrix:
    """(Σu²)²/Σu⁴ of each direction."""
    scale = np.abs(parts).max(axis=1, initial=0.0)[:, None]
    squares = np.divide(parts, scale, out=np.zeros_like(parts), where=scale > 0) ** 2
    second, fourth = squares @ number, squares**2 @ number
    return np.asarray(np.divide(second**2, fourth, out=np.zeros_like(second), where=fourth > 0), dtype=np.float64)
