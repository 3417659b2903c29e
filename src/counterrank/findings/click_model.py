"""Does the log agree with what estimators such as `item` and `pbm` assume of clicks? Whatever the target is."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from counterrank.estimate import Estimator
from counterrank.findings.case import grade
from counterrank.findings.diagnosis import Finding
from counterrank.setting.evidence import Evidence
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
            out.append(
                _finding(estimator.name, by_position(evidence, curve), by_cell(evidence, curve), *estimator.misfits)
            )
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


def _used(evidence: Evidence, curve: Vector) -> tuple[Vector, Vector, Vector, Vector]:
    """Of pairs that were clicked and stand at two positions or more: shown, clicked, exposure; and the curve there."""
    counts = evidence.counts
    open_ = curve > 0
    some = (np.count_nonzero(counts.shown[:, open_], axis=1) > 1) & counts.clicked[:, open_].any(axis=1)
    shown = counts.shown[some][:, open_].astype(np.float64)
    clicked = counts.clicked[some][:, open_].astype(np.float64)
    return shown, clicked, shown * curve[open_], curve[open_]


def by_position(evidence: Evidence, curve: Vector) -> Misfit:
    """Clicks of each position against those expected there, each pair's clicks shared out as it was exposed.

    With π its exposure by position (summing to 1) and C its clicks, d = clicks − C·π has mean 0 whatever the pair's
    attraction. Its variance V is (I − π1ᵀ)·D·(I − 1πᵀ), with D = π·(C − curve·C(C − 1)/exposure), which needs no
    attraction either. Summed over pairs, dᵀV⁺d is chi-square with as many degrees of freedom as V has rank; a curve
    that is off by the factors exp(u) adds about uᵀVu.
    """
    _, clicked, exposure, e = _used(evidence, curve)
    if not len(clicked):
        return Misfit(0.0, 0, 0.0, 0.0)
    clicks, whole = clicked.sum(axis=1, keepdims=True), exposure.sum(axis=1, keepdims=True)
    share = exposure / whole
    expected = clicks * share
    gap = (clicked - expected).sum(axis=0)
    each = np.maximum(share * (clicks - e * clicks * (clicks - 1) / whole), 0.0)
    total = each.sum(axis=1, keepdims=True)
    variance = np.diag(each.sum(axis=0)) - share.T @ each - each.T @ share + (share * total).T @ share
    values, vectors = np.linalg.eigh((variance + variance.T) / 2)
    kept = values > _RANK * max(values.max(), 0.0)
    statistic = float((((vectors.T @ gap)[kept]) ** 2 / values[kept]).sum()) if kept.any() else 0.0
    return _misfit(statistic, int(kept.sum()), float(values[kept].sum()))


def _misfit(statistic: float, freedom: int, clicks: float) -> Misfit:
    """What the statistic has beyond its degrees of freedom is the misfit's."""
    size = (max(statistic - freedom, 0.0) / clicks) ** 0.5 if clicks > 0 else 0.0
    return Misfit(statistic, freedom, size, clicks)


def by_cell(evidence: Evidence, curve: Vector) -> Misfit:
    """Pearson's test of every (pair, position) with enough clicks: do all pairs follow the same curve?"""
    shown, clicked, exposure, _ = _used(evidence, curve)
    if not len(clicked):
        return Misfit(0.0, 0, 0.0, 0.0)
    for _ in range(2):  # cells that are too thin go, and what is left is fitted anew
        expected = _expected(clicked, exposure)
        thick = (expected >= ENOUGH) & (shown - expected >= ENOUGH)
        thick &= np.count_nonzero(thick, axis=1)[:, None] > 1
        shown, clicked, exposure = (np.where(thick, table, 0.0) for table in (shown, clicked, exposure))
    expected = _expected(clicked, exposure)
    kept = (expected > 0) & (expected < shown)
    if not kept.any():
        return Misfit(0.0, 0, 0.0, 0.0)
    part = (clicked[kept] - expected[kept]) ** 2 / (expected[kept] * (1 - expected[kept] / shown[kept]))
    freedom = int(kept.sum() - np.count_nonzero(kept.any(axis=1)))
    return _misfit(float(part.sum()), freedom, float(expected[kept].sum()))


def _expected(clicked: Vector, exposure: Vector) -> Vector:
    """Each pair's clicks, shared out as it was exposed."""
    whole = exposure.sum(axis=1)
    rate = np.divide(clicked.sum(axis=1), whole, out=np.zeros(len(whole)), where=whole > 0)
    return np.asarray(rate[:, None] * exposure)
