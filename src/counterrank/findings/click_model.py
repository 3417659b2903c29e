"""Does the log agree with what estimators such as `item` and `pbm` assume of clicks? Whatever the target is."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from counterrank.estimate import Estimator
from counterrank.findings.case import grade
from counterrank.findings.diagnosis import Finding
from counterrank.policy.base import BLOCK
from counterrank.records import dataclass
from counterrank.setting.evidence import Evidence, ratios
from counterrank.statistics.cells import Cells
from counterrank.statistics.chi_square import upper_tail
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
            curve = estimator.curve(evidence)
            used = _used(evidence, curve)
            out.append(_finding(estimator.name, by_position(used, curve), by_cell(used), *estimator.misfits))
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


Used = tuple[Cells, Vector, Vector, Vector]


def _used(evidence: Evidence, curve: Vector) -> Used:
    """Of pairs that were clicked and stand at two positions or more, where the curve is open: shown, clicked, exposure.

    First the cells, of these pairs and positions alone.
    """
    counts, cells, open_ = evidence.counts, evidence.cells, np.flatnonzero(curve > 0)
    number = np.full(len(curve), -1)
    number[open_] = np.arange(len(open_))
    used = (number[cells.positions] >= 0) & (counts.shown > 0)
    some = (cells.by_pair(used) > 1) & (cells.by_pair(used * counts.clicked) > 0)
    at = np.flatnonzero(used & some[cells.rows])
    rows = (np.cumsum(some) - 1)[cells.rows[at]]
    kept = Cells(np.searchsorted(rows, np.arange(some.sum() + 1)), number[cells.positions[at]], len(open_))
    shown, clicked = counts.shown[at].astype(np.float64), counts.clicked[at].astype(np.float64)
    return kept, shown, clicked, shown * curve[cells.positions[at]]


def by_position(used: Used, curve: Vector) -> Misfit:
    """Clicks of each position against those expected there, each pair's clicks shared out as it was exposed.

    With π its exposure by position (summing to 1) and C its clicks, d = clicks − C·π has mean 0 whatever the pair's
    attraction. Its variance V is (I − π1ᵀ)·D·(I − 1πᵀ), with D = π·(C − curve·C(C − 1)/exposure), which needs no
    attraction either. Summed over pairs, dᵀV⁺d is chi-square with as many degrees of freedom as V has rank; a curve
    that is off by the factors exp(u) adds about uᵀVu.
    """
    cells, _, clicked, exposure = used
    if not len(clicked):
        return Misfit(0.0, 0, 0.0, 0.0)
    rows, e = cells.rows, curve[curve > 0][cells.positions]
    clicks, whole = cells.by_pair(clicked)[rows], cells.by_pair(exposure)[rows]
    share = exposure / whole
    gap = cells.by_position(clicked - clicks * share)
    each = np.maximum(share * (clicks - e * clicks * (clicks - 1) / whole), 0.0)
    total = cells.by_pair(each)
    variance = np.diag(cells.by_position(each))
    for first in range(0, cells.pairs, step := max(BLOCK // cells.depth, 1)):
        last = min(first + step, cells.pairs)
        part, own = (cells.dense(x, first, last) for x in (share, each))
        both = part.T @ own
        variance += (part * total[first:last, None]).T @ part - both - both.T
    values, vectors = np.linalg.eigh((variance + variance.T) / 2)
    kept = values > _RANK * max(values.max(), 0.0)
    statistic = float((((vectors.T @ gap)[kept]) ** 2 / values[kept]).sum()) if kept.any() else 0.0
    return _misfit(statistic, int(kept.sum()), float(values[kept].sum()))


def _misfit(statistic: float, freedom: int, clicks: float) -> Misfit:
    """What the statistic has beyond its degrees of freedom is the misfit's."""
    size = (max(statistic - freedom, 0.0) / clicks) ** 0.5 if clicks > 0 else 0.0
    return Misfit(statistic, freedom, size, clicks)


def by_cell(used: Used) -> Misfit:
    """Pearson's test of every (pair, position) with enough clicks: do all pairs follow the same curve?"""
    cells, shown, clicked, exposure = used
    if not len(clicked):
        return Misfit(0.0, 0, 0.0, 0.0)
    for _ in range(2):  # cells that are too thin go, and what is left is fitted anew
        expected = _expected(cells, clicked, exposure)
        thick = (expected >= ENOUGH) & (shown - expected >= ENOUGH)
        thick &= (cells.by_pair(thick) > 1)[cells.rows]
        shown, clicked, exposure = (np.where(thick, each, 0.0) for each in (shown, clicked, exposure))
    expected = _expected(cells, clicked, exposure)
    kept = (expected > 0) & (expected < shown)
    if not kept.any():
        return Misfit(0.0, 0, 0.0, 0.0)
    part = (clicked[kept] - expected[kept]) ** 2 / (expected[kept] * (1 - expected[kept] / shown[kept]))
    freedom = int(kept.sum() - np.count_nonzero(cells.by_pair(kept)))
    return _misfit(float(part.sum()), freedom, float(expected[kept].sum()))


def _expected(cells: Cells, clicked: Vector, exposure: Vector) -> Vector:
    """Each pair's clicks, shared out as it was exposed."""
    rate = ratios(cells.by_pair(clicked), cells.by_pair(exposure))
    return np.asarray(rate[cells.rows] * exposure)
