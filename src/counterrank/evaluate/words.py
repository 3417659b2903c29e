"""What an estimate's user must know, in words."""

from __future__ import annotations

import numpy as np

from counterrank.estimate import ESTIMATORS, Estimate, Evidence

_WAY = {"dr-list": " towards the model's word"}
FEW = 30  # impressions that carry an estimate, below which a normal interval is not to be trusted


def warn(name: str, estimate: Estimate, evidence: Evidence) -> list[str]:
    """The warnings of one estimate."""
    said = list(estimate.warnings)
    normalised = name in ("wlist", "wip")
    if ESTIMATORS[name].needs_features:
        said.extend(_direct(name, estimate, evidence))
    elif ESTIMATORS[name].needs_pairs:
        said.extend(_page(name, estimate, evidence))
    elif estimate.unsupported > 1e-9 and estimate.value is not None:
        said.append(_lost(name, estimate, evidence, normalised))
    if estimate.clipped > 0:
        said.append(
            f"{_percent(estimate.clipped)} of the weights were clipped at {evidence.clip:g}: "
            f"the estimate is biased{'' if normalised else _WAY.get(name, ' downwards')}"
        )
    size = estimate.effective_sample_size
    if size is not None and size < FEW and estimate.value is not None:
        worth = "1 impression's" if size == 1 else f"{size:.3g} impressions'"
        said.append(f"only {worth} worth of evidence: the interval may be far too narrow")
    elif size is None and estimate.value is not None and name != "rctr":
        alone = ", and the value is the model's alone" if ESTIMATORS[name].needs_features else ""
        said.append(f"no impression carries weight: the log cannot tell{alone}")
    said.extend(_misfit(name, estimate, evidence))
    if name == "pbm":
        said.extend(evidence.fitted)
    if name == "pbm" and np.any(evidence.examination > 1 + 1e-9):
        said.append("some positions are examined more than position 1: is the order of `items` the order shown?")
    return said


def _page(name: str, estimate: Estimate, evidence: Evidence) -> list[str]:
    """What `pi` and `wpi` alone have to say."""
    said = []
    if estimate.unsupported > 1e-9 and estimate.value is not None:
        said.append(
            f"the log cannot tell {_percent(estimate.unsupported)} of what the target shows from its rankings; it is "
            f"{'taken to be worth what it can tell' if name == 'wpi' else 'left out'}, so the estimate is biased"
        )
    return said + _unclipped(name, evidence)


def _direct(name: str, estimate: Estimate, evidence: Evidence) -> list[str]:
    """What the estimators with a regression alone have to say."""
    if name == "dm" or estimate.unsupported <= 1e-9:
        return _unclipped(name, evidence)
    return [
        f"the log cannot tell {_percent(estimate.unsupported)} of what the target shows: for that the regression's "
        "word stands alone",
        *_unclipped(name, evidence),
    ]


def _unclipped(name: str, evidence: Evidence) -> list[str]:
    if ESTIMATORS[name].clips or not np.isfinite(evidence.clip):
        return []
    if name == "dm":
        return ["--clip does not apply: no impression is weighted"]
    return ["--clip does not apply: these weights may be negative, and are used as they are"]


def _known(name: str, evidence: Evidence) -> bool:
    """Whether the logging policy behind the weights was given, and not estimated by shares."""
    return not (evidence.estimated if ESTIMATORS[name].needs_rankings else evidence.shares)


def _lost(name: str, estimate: Estimate, evidence: Evidence, normalised: bool) -> str:
    """What becomes of the part of the target that was never logged."""
    share = _percent(estimate.unsupported)
    if evidence.by_propensity and ESTIMATORS[name].needs_rankings:
        return f"the log never shows {share} of what the target shows: trust it only if the logging policy could have"
    who = "the given logging policy" if _known(name, evidence) else "the log"
    what = "taken to be worth what was logged" if normalised else "counted as 0, so the estimate is too low on average"
    return f"{who} never shows {share} of what the target shows; it is {what}"


def _misfit(name: str, estimate: Estimate, evidence: Evidence) -> list[str]:
    """Weights from a known logging policy average 1, or what it supports of that. Do they?"""
    mean, most = estimate.mean_weight, estimate.expected_weight
    if not _known(name, evidence) or evidence.same or mean is None or most is None or estimate.clipped > 0:
        return []
    least, most = most, 1.0 if evidence.by_propensity else most  # what was not logged may still have been possible
    size = estimate.effective_sample_size or 1.0
    slack = max(0.1, 5 / size**0.5)
    if least - slack <= mean <= most + slack or not np.isfinite(mean):
        return []
    whose = "the log's propensities do" if evidence.by_propensity else "the given logging policy does"
    return [f"the weights average {mean:.3g} instead of {most:.3g}: {whose} not fit the log"]


def _percent(share: float) -> str:
    return f"{share:.1%}" if share >= 0.001 else f"{100 * share:.2g}%"
