"""Where estimators disagree, an assumption fails: which one?"""

from __future__ import annotations

import math
from statistics import NormalDist

from counterrank.estimate import Weighs
from counterrank.estimate.contrasts import CONTRASTS, Contrast
from counterrank.findings.case import Case, grade
from counterrank.findings.diagnosis import LEVELS, Finding, Level
from counterrank.findings.paired import Gap, of_clicks_and_pages, of_pages
from counterrank.findings.tested import Tested, graded
from counterrank.findings.weights import VERY_FEW
from counterrank.statistics.chi_square import holm
from counterrank.words import number, percent

CHANCE = 0.01
LARGE, VERY_LARGE = 0.05, 0.2  # of the value
NOTHING = 1e-9


def disagreement(case: Case, tested: Tested | None = None) -> list[Finding]:
    """Differences of estimators on the same target, each beside its own standard error, corrected for their number."""
    if case.evidence.same:
        return []
    asked = [(contrast, gap) for contrast in CONTRASTS if (gap := _gap(case, contrast, tested)) is not None]
    corrected = holm([_chance(case, *each) for each in asked])
    return [_finding(case, *each, chance) for each, chance in zip(asked, corrected, strict=True)]


def _gap(case: Case, contrast: Contrast, tested: Tested | None) -> Gap | None:
    """The difference and its standard error; None where the two cannot be compared.

    Of two estimators linear in clicks each impression's influence on both is known. Clicks and pages, or pages and
    pages, are compared on the sample. What is left is taken as independent: both lean on the same impressions, so that
    the error is too large if anything.
    """
    one, other = case.rows.get(contrast.more), case.rows.get(contrast.less)
    if one is None or other is None or None in (one.value, one.stderr, other.value, other.stderr):
        return None
    if one.clipped or other.clipped:
        return None
    weighs = [case.estimator(name).weighs for name in (contrast.more, contrast.less)]
    if tested is not None and weighs[0] is Weighs.POSITIONS and weighs[1] in (Weighs.RANKINGS, Weighs.PAGES):
        return of_clicks_and_pages(case, tested, contrast.less, VERY_FEW)
    if min(one.effective_sample_size or 0, other.effective_sample_size or 0) < VERY_FEW:
        return None
    n, square = case.evidence.counts.total, case.joint.of_difference(contrast.more, contrast.less)
    error = math.sqrt(square / n / (n - 1)) if square is not None else None
    if error is None and tested is not None:
        error = of_pages(case, tested, case.estimates[contrast.more], case.estimates[contrast.less])
    apart = math.hypot(one.stderr or 0.0, other.stderr or 0.0)
    return Gap((one.value or 0.0) - (other.value or 0.0), apart if error is None else error)


def _chance(case: Case, contrast: Contrast, gap: Gap) -> float:
    """Of a difference so large; one that is rounding has an error that is rounding too, and says nothing."""
    values = [abs(case.rows[name].value or 0.0) for name in (contrast.more, contrast.less)]
    if gap.error <= 0 or abs(gap.difference) <= NOTHING * max(values):
        return 1.0
    return 2 * NormalDist().cdf(-abs(gap.difference) / gap.error)


def _finding(case: Case, contrast: Contrast, gap: Gap, chance: float) -> Finding:
    one, other = case.rows[contrast.more], case.rows[contrast.less]
    difference, value = gap.difference, other.value or 0.0
    beside = abs(difference / value) if value else float("inf") if difference else 0.0
    numbers = {
        "pair": [contrast.more, contrast.less], "difference": difference, "stderr": gap.error, "chance": chance,
        "relative": beside if math.isfinite(beside) else None, "supported": gap.supported,
    }  # fmt: skip
    doubted = [name for name in contrast.doubted if name in case.rows]
    pair = f"{contrast.more} and {contrast.less}"
    both = f"{pair} differ by {number(difference, 3)}"
    if gap.supported:
        both += " on what the log shows"
    if chance >= CHANCE:
        return Finding("disagreement", "trust", f"{pair} agree but for chance", doubted, numbers)
    lost = 0.0 if gap.supported else max(one.unsupported, other.unsupported)
    if lost > NOTHING and abs(difference) <= lost * max(abs(one.value or 0.0), abs(value)):
        words = f"{both}, which the {percent(lost)} that the log never shows may explain"
        return Finding("disagreement", "trust", words, doubted, numbers | {"unsupported": lost})
    level = _level(case, doubted, gap, beside)
    share = f" ({percent(beside)})" if math.isfinite(beside) else ""
    if level == "trust":
        return Finding("disagreement", level, f"{both}{share}, more than chance, but little", doubted, numbers)
    return Finding("disagreement", level, f"{both}{share}: {contrast.says}", doubted, numbers)


def _level(case: Case, doubted: list[str], gap: Gap, beside: float) -> Level:
    """By the size of the difference beside the value, and beside the shortest interval that is doubted."""
    levels = [graded(gap.difference, 0.0, case.rows[name]) for name in doubted]
    return max(grade(beside, LARGE, VERY_LARGE), *levels, key=LEVELS.index)
