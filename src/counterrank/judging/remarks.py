"""What an estimate's user must know, in words."""

from __future__ import annotations

import re

import numpy as np

from counterrank.estimate import ESTIMATORS, Estimate, Estimator, Weighs
from counterrank.setting.evidence import Evidence
from counterrank.setting.need import Need
from counterrank.words import percent

FEW = 30  # impressions that carry an estimate, below which a normal interval is not to be trusted


IN_COLUMNS = re.compile(r"never shows .* shows|impressions?' worth of evidence: the interval|weights were clipped at")


def repeats_a_column(text: str) -> bool:
    """Whether a warning says no more than a column of the table does: `unsupported`, `eff. size` or `clipped`."""
    return IN_COLUMNS.search(text) is not None


def warn(name: str, estimate: Estimate, evidence: Evidence, of: str = "the target") -> list[str]:
    """The warnings of one estimate of this policy."""
    said, estimator = list(estimate.warnings), ESTIMATORS[name]
    if estimator.modelled:
        said.extend(_direct(estimator, estimate, evidence))
    elif estimator.weighs is Weighs.PAGES:
        said.extend(_page(estimator, estimate, evidence))
    elif estimate.unsupported > 1e-9 and estimate.value is not None:
        said.append(_lost(estimator, estimate, evidence, of))
    if estimate.clipped > 0:
        said.append(
            f"{percent(estimate.clipped)} of the weights were clipped at {evidence.clip:g}: "
            f"the estimate is biased{estimator.clip_bias}"
        )
    size = estimate.effective_sample_size
    if size is not None and size < FEW and estimate.value is not None:
        worth = "1 impression's" if size == 1 else f"{size:.3g} impressions'"
        said.append(f"only {worth} worth of evidence: the interval may be far too narrow")
    elif size is None and estimate.value is not None and estimator.weighs is not Weighs.NOTHING:
        alone = f", and the value is the word of {estimator.modelled} alone" if estimator.modelled else ""
        said.append(f"no impression carries weight: the log cannot tell{alone}")
    said.extend(_misfit(estimator, estimate, evidence))
    if Need.EXAMINATION in estimator.needs:
        said.extend(evidence.fitted)
        if np.any(evidence.examination > 1 + 1e-9):
            said.append("some positions are examined more than position 1: is the order of `items` the order shown?")
    return said


def _page(estimator: Estimator, estimate: Estimate, evidence: Evidence) -> list[str]:
    """What the estimators that weigh pages by pairs have to say."""
    said = []
    if estimate.unsupported > 1e-9 and estimate.value is not None:
        what = "taken to be worth what it can tell" if estimator.self_normalised else "left out"
        said.append(
            f"the log cannot tell {percent(estimate.unsupported)} of what the target shows from its rankings; it is "
            f"{what}, so the estimate is biased"
        )
    return said + _unclipped(estimator, evidence)


def _direct(estimator: Estimator, estimate: Estimate, evidence: Evidence) -> list[str]:
    """What the estimators with a regression alone have to say."""
    if estimator.weighs is Weighs.NOTHING or estimate.unsupported <= 1e-9:
        return _unclipped(estimator, evidence)
    return [
        f"the log cannot tell {percent(estimate.unsupported)} of what the target shows: for that the word of "
        f"{estimator.modelled} stands alone",
        *_unclipped(estimator, evidence),
    ]


def _unclipped(estimator: Estimator, evidence: Evidence) -> list[str]:
    if estimator.clips or not np.isfinite(evidence.clip):
        return []
    if estimator.weighs is Weighs.NOTHING:
        return ["`clip` does not apply: no impression is weighted"]
    return ["`clip` does not apply: these weights may be negative, and are used as they are"]


def _lost(estimator: Estimator, estimate: Estimate, evidence: Evidence, of: str) -> str:
    """What becomes of the part of the policy that was never logged."""
    share = percent(estimate.unsupported)
    if evidence.by_propensity and estimator.weighs is Weighs.RANKINGS:
        return f"the log never shows {share} of what {of} shows: trust it only if the logging policy could have"
    who = "the given logging policy" if estimator.knows(evidence) and not estimator.by_item(evidence) else "the log"
    what = "counted as 0, so the estimate is too low on average"
    if estimator.self_normalised:
        what = "taken to be worth what was logged"
    by = ", going by the mean weight" if estimator.by_item(evidence) else ""
    return f"{who} never shows {share} of what {of} shows{by}; it is {what}"


def _misfit(estimator: Estimator, estimate: Estimate, evidence: Evidence) -> list[str]:
    """Weights from a known logging policy average 1, or what it supports of that. Do they?"""
    mean, most = estimate.mean_weight, estimate.expected_weight
    if not estimator.knows(evidence) or evidence.same or mean is None or most is None or estimate.clipped > 0:
        return []
    least, most = most, 1.0 if evidence.by_propensity else most  # what was not logged may still have been possible
    least = 0.0 if estimator.by_item(evidence) else least  # which is `unsupported` there
    size = estimate.effective_sample_size or 1.0
    slack = max(0.1, 5 / size**0.5)
    if least - slack <= mean <= most + slack or not np.isfinite(mean):
        return []
    logged = evidence.by_propensity or estimator.by_item(evidence)
    whose = "the log's propensities do" if logged else "the given logging policy does"
    return [f"the weights average {mean:.3g} instead of {most:.3g}: {whose} not fit the log"]
