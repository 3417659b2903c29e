"""Does the log agree with what estimators such as `item` and `pbm` assume of clicks? Whatever the target is."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from counterrank.estimate import Estimator
from counterrank.findings.case import grade
from counterrank.findings.diagnosis import Finding
from counterrank.findings.pair_sums import add_misfits
from counterrank.records import dataclass
from counterrank.setting.evidence import Evidence
from counterrank.statistics.chi_square import upper_tail
from counterrank.statistics.memo import remembered
from counterrank.words import percent

Vector = NDArray[np.float64]
CHANCE = 0.001
UNTESTED = "untested"  # in the numbers of a finding: the log is too thin to tell
LARGE, VERY_LARGE = 0.1, 0.3  # relative misfit of click-through rates
ENOUGH = 5.0  # expected clicks, and expected misses, of a (pair, position) that the test of cells takes in
_RANK = 1e-9  # relative: a smaller eigenvalue is 0 but for rounding


@dataclass(frozen=True)
class Misfit:
    """A chi-square test, and by how much click-through rates are off, relatively, as a root mean square."""

    statistic: float
    freedom: int
    size: float
    clicks: float  # that tell of it: a misfit of size s adds clicks·s² to the statistic

    @property
    def chance(self) -> float:
        return upper_tail(self.statistic, self.freedom)

    @property
    def weak(self) -> bool:
        """Whether a misfit that matters would likely go unnoticed."""
        return self.freedom == 0 or self.clicks * LARGE**2 < 10 + 4 * (2 * self.freedom) ** 0.5


def click_model(evidence: Evidence, estimators: Iterable[Estimator]) -> list[Finding]:
    """Of those that say how a pair's clicks go by position: its attraction times their curve."""
    if evidence.same or not evidence.of_clicks:
        return []
    out = []
    for estimator in estimators:
        if estimator.misfits is not None:
            found = _remembered_misfits(evidence, estimator)
            out.append(_finding(estimator.name, *found, *estimator.misfits))
    return out


def _finding(name: str, position: Misfit, cells: Misfit, fails: str, deep: str) -> Finding:
    numbers: dict[str, Any] = {
        of: {"statistic": test.statistic, "freedom": test.freedom, "chance": test.chance, "misfit": test.size}
        for of, test in (("positions", position), ("cells", cells))
    }
    bad = [(t, why) for t, why in ((position, fails), (cells, deep)) if t.freedom and t.chance < CHANCE]
    worst = max(bad, key=lambda each: each[0].size, default=None)
    if worst is not None:
        level = grade(worst[0].size, LARGE, VERY_LARGE)
        off = f"click-through rates are {percent(worst[0].size)} off what {name} expects"
        words = f"{off}: {worst[1]}" if level != "trust" else f"{off}, which is little"
        return Finding("click-model", level, words, [name], numbers)
    if position.weak:
        numbers[UNTESTED] = True
        words = f"the log is too thin to test what {name} assumes of clicks"
        return Finding("click-model", "caution", words, [name], numbers)
    return Finding("click-model", "trust", f"the log's clicks agree with what {name} assumes", [name], numbers)


def _remembered_misfits(evidence: Evidence, estimator: Estimator) -> tuple[Misfit, Misfit]:
    counts, curve = evidence.counts, estimator.curve(evidence)
    sources = counts.shown, counts.clicked, curve.tobytes()
    return remembered(counts.memo, ("misfits", estimator.name), sources, lambda: misfits(evidence, curve))


def misfits(evidence: Evidence, curve: Vector) -> tuple[Misfit, Misfit]:
    """Of positions, and of single (pair, position) cells, where the curve is open.

    Positions: clicks of each against those expected there, each pair's clicks shared out as it was exposed. With π its
    exposure by position (summing to 1) and C its clicks, d = clicks − C·π has mean 0 whatever the pair's attraction.
    Its variance V is (I − π1ᵀ)·D·(I − 1πᵀ), with D = π·(C − curve·C(C − 1)/exposure), which needs no attraction either.
    Summed over pairs, dᵀV⁺d is chi-square with as many degrees of freedom as V has rank; a curve that is off by the
    factors exp(u) adds about uᵀVu.

    Cells: Pearson's test of those with enough clicks: do all pairs follow the same curve?
    """
    counts, cells, depth = evidence.counts, evidence.cells, len(curve)
    gap, variance, of_cells = np.zeros(depth), np.zeros((depth, depth)), np.zeros(4)
    add_misfits(cells.starts, cells.positions, counts.shown, counts.clicked, curve, ENOUGH, gap, variance, of_cells)
    open_ = np.flatnonzero(curve > 0)
    values, vectors = np.linalg.eigh(variance[np.ix_(open_, open_)])
    kept = values > _RANK * max(values.max(initial=0.0), 0.0)
    statistic = float((((vectors.T @ gap[open_])[kept]) ** 2 / values[kept]).sum()) if kept.any() else 0.0
    squares, expected, number, pairs = of_cells.tolist()
    return _misfit(statistic, int(kept.sum()), float(values[kept].sum())), _misfit(
        squares, int(number - pairs), expected
    )


def _misfit(statistic: float, freedom: int, clicks: float) -> Misfit:
    """What the statistic has beyond its degrees of freedom is the misfit's."""
    size = (max(statistic - freedom, 0.0) / clicks) ** 0.5 if clicks > 0 else 0.0
    return Misfit(statistic, freedom, size, clicks)
