"""Does the log show what the target shows?"""

from __future__ import annotations

import math

from counterrank.estimate import Weighs
from counterrank.findings.case import Case, grade, merged
from counterrank.findings.diagnosis import LEVELS, Finding, Level
from counterrank.result.row import Row
from counterrank.words import percent

NOTHING = 1e-9  # a share that is smaller is rounding
LOST = 0.2  # of the target's mass, from which nothing is to be trusted
SMALL = 0.1  # of half the interval, below which a bias does not matter
OFF, FAR_OFF = 0.05, 0.2  # how far the mean weight may be from what it should be
SURE = 3.0  # standard errors


def overlap(case: Case) -> list[Finding]:
    """The share of the target's mass that the log supports, in each estimator's own sense.

    What is missing is a bias of about its share of the value: it matters where that is no longer small beside the
    interval.
    """
    out = []
    for name, row in case.rows.items():
        weighs = case.estimator(name).weighs
        if row.value is None or weighs is Weighs.NOTHING:
            continue
        who = f"the {name}" if case.of is not None else "the target"
        # of a page it is a squared length, and a bias goes by the length
        power = 0.5 if weighs is Weighs.PAGES else 1.0
        if case.estimator(name).by_item(case.evidence) and row.unsupported > NOTHING:
            error = _error(case, name)
            if error is not None and row.unsupported <= SURE * error:
                out.append(_by_chance(name, row.unsupported, error))
                continue
        out += supported(name, row.unsupported, abs(row.value), _width(row), who, power)
    return merged(out)


def _by_chance(name: str, lost: float, error: float) -> Finding:
    """Of weights by the propensities of impressions, which fall short of their mean now and then."""
    words = f"the weights fall short of their mean by {percent(lost)}, which may be chance (± {percent(error)})"
    return Finding("overlap", "trust", words, [name], {"supported": 1 - lost, "unsupported": lost, "stderr": error})


def _error(case: Case, name: str) -> float | None:
    """The standard error of the mean weight: Σw = n·mean and Σw² = (Σw)²/size."""
    mean, size = case.estimates[name].mean_weight, case.estimates[name].effective_sample_size
    if mean is None or size is None or not math.isfinite(mean):
        return None
    return float(mean * max(1 / size - 1 / case.evidence.counts.total, 0.0) ** 0.5)


def supported(name: str, lost: float, value: float, width: float | None, who: str, power: float = 1.0) -> list[Finding]:
    """The finding of one estimator or policy; `width` is that of the interval, lost^power the share that is missing."""
    numbers = {"supported": 1 - lost, "unsupported": lost}
    if lost <= NOTHING:
        return [Finding("overlap", "trust", f"the log supports all of what {who} shows", [name], numbers)]
    level = _level(lost**power, value, width)
    words = f"the log never shows {percent(lost)} of what {who} shows"
    if level == "trust":
        words += ", which is little beside the interval"
    return [Finding("overlap", level, words, [name], numbers)]


def _level(lost: float, value: float, width: float | None) -> Level:
    if lost >= LOST:
        return "do not trust"
    return "trust" if width is not None and lost * value <= SMALL * width / 2 else "caution"


def _width(row: Row) -> float | None:
    return row.upper - row.lower if row.upper is not None and row.lower is not None else None


def _worse(one: Level, other: Level) -> Level:
    return max(one, other, key=LEVELS.index)


def clipped(case: Case) -> list[Finding]:
    """Clipped weights bias an estimate."""
    words = "{} of the weights were clipped, which biases the estimate"
    return merged(
        [
            Finding("clipped", "caution", words.format(percent(row.clipped)), [name], {"clipped": row.clipped})
            for name, row in case.rows.items()
            if row.clipped > 0 and row.value is not None
        ]
    )


def balance(case: Case) -> list[Finding]:
    """Weights from a logging policy that is known average 1. Where they do not, what weighs most was not met, or the
    policy is not the one that logged."""
    evidence = case.evidence
    out: list[Finding] = []
    if evidence.same and case.of is None:
        return []
    for name, estimate in case.estimates.items():
        estimator = case.estimator(name)
        mean, size = estimate.mean_weight, estimate.effective_sample_size
        sure = estimator.weighs is Weighs.RANKINGS and evidence.by_propensity
        expected = 1.0 if sure else estimate.expected_weight
        if not estimator.knows(evidence) or estimate.clipped > 0 or None in (mean, expected, size):
            continue
        assert mean is not None and expected is not None and size is not None  # noqa: S101, PT018 - looked above
        gap, error = abs(mean - expected), _error(case, name)
        if error is None:
            continue
        level: Level = "trust"
        if gap > SURE * error + NOTHING:
            row = case.rows[name]
            level = _worse(grade(gap, OFF, FAR_OFF), _level(gap, abs(row.value or 0.0), _width(row)))
        words = f"the weights average {mean:.3g} where {expected:.3g} is expected"
        if level != "trust":
            fits = "propensities do" if estimator.by_item(evidence) else "logging policy does"
            why = "what weighs most was hardly met" if mean < expected else f"the {fits} not fit the log"
            words += f": {why}"
        numbers = {"mean_weight": mean, "expected": expected, "stderr": error}
        out.append(Finding("balance", level, words, [name], numbers))
    return merged(out)
