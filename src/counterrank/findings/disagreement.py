"""Where estimators disagree, an assumption fails: which one?"""

from __future__ import annotations

import math
from statistics import NormalDist

from counterrank.estimate.contrasts import CONTRASTS, Contrast
from counterrank.findings.case import Case, grade
from counterrank.findings.diagnosis import Finding
from counterrank.findings.weights import VERY_FEW
from counterrank.statistics.chi_square import holm
from counterrank.words import number, percent

CHANCE = 0.01
LARGE, VERY_LARGE = 0.05, 0.2  # of the value
EXPLAINED = 3.0  # what the log never shows may be worth so many times what it shows
NOTHING = 1e-9


def disagreement(case: Case) -> list[Finding]:
    """Differences of estimators on the same target, each beside its own standard error, corrected for their number."""
    if case.evidence.same:
        return []
    asked = [contrast for contrast in CONTRASTS if _comparable(case, contrast)]
    gaps = [_gap(case, contrast) for contrast in asked]
    corrected = holm([_chance(*gap) for gap in gaps])
    return [_finding(case, *each) for each in zip(asked, gaps, corrected, strict=True)]


def _comparable(case: Case, contrast: Contrast) -> bool:
    rows = [case.rows.get(name) for name in (contrast.more, contrast.less)]
    return all(
        row is not None
        and row.value is not None
        and row.stderr is not None
        and row.clipped == 0
        and (row.effective_sample_size or 0) >= VERY_FEW
        for row in rows
    )


def _gap(case: Case, contrast: Contrast) -> tuple[float, float]:
    """The difference and its standard error.

    Of two estimators linear in clicks each impression's influence on both is known. Of others it is not: they lean on
    the same impressions, so that taking them as independent makes the error too large if anything.
    """
    one, other = case.rows[contrast.more], case.rows[contrast.less]
    n = case.evidence.counts.total
    square = case.joint.of_difference(contrast.more, contrast.less)
    error = (
        math.sqrt(square / n / (n - 1)) if square is not None else math.hypot(one.stderr or 0.0, other.stderr or 0.0)
    )
    return (one.value or 0.0) - (other.value or 0.0), error


def _chance(gap: float, error: float) -> float:
    if error <= 0:
        return 1.0
    return 2 * NormalDist().cdf(-abs(gap) / error)


def _finding(case: Case, contrast: Contrast, gap: tuple[float, float], chance: float) -> Finding:
    one, other = case.rows[contrast.more], case.rows[contrast.less]
    difference, error = gap
    value = other.value or 0.0
    beside = abs(difference / value) if value else float("inf") if difference else 0.0
    numbers = {
        "pair": [contrast.more, contrast.less], "difference": difference, "stderr": error, "chance": chance,
        "relative": beside if math.isfinite(beside) else None,
    }  # fmt: skip
    doubted = [name for name in contrast.doubted if name in case.rows]
    pair = f"{contrast.more} and {contrast.less}"
    both = f"{pair} differ by {number(difference, 3)}"
    if chance >= CHANCE:
        return Finding("disagreement", "trust", f"{pair} agree but for chance", doubted, numbers)
    lost = max(one.unsupported, other.unsupported)
    if lost > NOTHING and abs(difference) <= EXPLAINED * lost * max(abs(one.value or 0.0), abs(value)):
        words = f"{both}, which the {percent(lost)} that the log never shows may explain"
        return Finding("disagreement", "trust", words, doubted, numbers | {"unsupported": lost})
    level = grade(beside, LARGE, VERY_LARGE)
    share = f" ({percent(beside)})" if math.isfinite(beside) else ""
    if level == "trust":
        if abs(difference) <= _half(case, doubted):
            return Finding("disagreement", level, f"{both}{share}, more than chance, but little", doubted, numbers)
        words = f"{both}{share}, little, but more than an interval holds: {contrast.says}"
        return Finding("disagreement", "caution", words, doubted, numbers)
    return Finding("disagreement", level, f"{both}{share}: {contrast.says}", doubted, numbers)


def _half(case: Case, names: list[str]) -> float:
    """Half of the shortest interval of these estimators."""
    ends = [(case.rows[name].lower, case.rows[name].upper) for name in names]
    return min(((high - low) / 2 for low, high in ends if low is not None and high is not None), default=math.inf)
