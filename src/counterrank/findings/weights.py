"""Do enough impressions carry an estimate?"""

from __future__ import annotations

from counterrank.estimate import Estimator, Weighs
from counterrank.findings.case import Case, grade, merged
from counterrank.findings.diagnosis import Finding, Level
from counterrank.findings.tails import skewness
from counterrank.setting.evidence import Evidence
from counterrank.words import percent

FEW, VERY_FEW = 100, 30  # impressions' worth of evidence
FEW_RANKINGS = 400  # the same where whole rankings are weighed by known chances: their weights have long tails
LARGE, VERY_LARGE = 0.05, 0.2  # one impression's share of all weights
MUCH, MOST = 1 / 3, 0.8  # ten impressions' share of the value
SKEWED, VERY_SKEWED = 0.2, 0.5  # skewness of the estimate


def few(estimator: Estimator, evidence: Evidence) -> int:
    """Impressions' worth of evidence below which a 95 % interval covers less than it says."""
    return FEW_RANKINGS if estimator.weighs is Weighs.RANKINGS and estimator.knows(evidence) else FEW


def size(case: Case) -> list[Finding]:
    """Effective sample size."""
    out = []
    total = case.evidence.counts.total
    for name, row in case.rows.items():
        if row.value is None or case.estimator(name).weighs is Weighs.NOTHING:
            continue
        found = row.effective_sample_size
        numbers = {"effective_sample_size": found, "impressions": total, "share": found / total if found else 0.0}
        if found is None:
            out.append(Finding("size", "do not trust", "no impression carries weight", [name], numbers))
            continue
        worth = "impression's" if round(found) == 1 else "impressions'"
        words = f"{found:,.0f} {worth} worth of evidence, {percent(min(found / total, 1.0))} of the log"
        enough = found >= few(case.estimator(name), case.evidence)
        level: Level = "do not trust" if found < VERY_FEW else "trust" if enough else "caution"
        if level != "trust":
            words = f"only {words}: the interval may be too short"
        out.append(Finding("size", level, words, [name], numbers))
    return merged(out)


def tails(case: Case) -> list[Finding]:
    """The largest weight against all weights together."""
    out = []
    for name, tail in case.tails.items():
        if tail.largest is None or tail.largest_share is None or case.estimator(name).weighs is Weighs.NOTHING:
            continue
        words = f"the largest weight is {tail.largest:.3g}, {percent(tail.largest_share)} of all weights together"
        numbers = {"largest": tail.largest, "share": tail.largest_share, "negative": tail.negative}
        out.append(Finding("tails", grade(tail.largest_share, LARGE, VERY_LARGE), words, [name], numbers))
    return merged(out)


def ten(case: Case) -> list[Finding]:
    """How much of the value ten impressions bring."""
    words = "ten impressions bring {} of " + case.what
    return merged(
        [
            Finding("ten", grade(tail.ten, MUCH, MOST), words.format(percent(tail.ten)), [name], {"share": tail.ten})
            for name, tail in case.tails.items()
            if tail.ten is not None
        ]
    )


def skew(case: Case) -> list[Finding]:
    """The skewness of the estimate, s: a two-sided 95 % interval loses about 0.25·s² of its coverage (Edgeworth)."""
    out = []
    for name, spreads in case.spreads.items():
        found = skewness(spreads.influence, spreads.term)
        if found is None:
            continue
        level = grade(abs(found), SKEWED, VERY_SKEWED)
        words = f"the skewness of the estimate is {found:.2g}"
        if level != "trust":
            words += ": a few impressions pull it to one side, and the interval covers less than it says"
        out.append(Finding("skew", level, words, [name], {"skewness": found}))
    return merged(out)
