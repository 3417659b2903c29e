"""What an estimate's user must know, in words."""

from __future__ import annotations

import numpy as np

from counterrank.estimate import ESTIMATORS, Estimate, Evidence

FEW = 30  # impressions that carry an estimate, below which a normal interval is not to be trusted


def warn(name: str, estimate: Estimate, evidence: Evidence) -> list[str]:
    """The warnings of one estimate."""
    said = list(estimate.warnings)
    normalised = name in ("wlist", "wip")
    lost = "taken to be worth what was logged" if normalised else "counted as 0, so the estimate is too low on average"
    if estimate.unsupported > 1e-9 and estimate.value is not None:
        said.append(f"the log never shows {_percent(estimate.unsupported)} of what the target shows; it is {lost}")
    if estimate.clipped > 0:
        said.append(
            f"{_percent(estimate.clipped)} of the weights were clipped at {evidence.clip:g}: "
            f"the estimate is biased{'' if normalised else ' downwards'}"
        )
    size = estimate.effective_sample_size
    if size is not None and size < FEW and estimate.value is not None:
        said.append(f"only {size:.3g} impressions' worth of evidence: the interval may be far too narrow")
    elif size is None and estimate.value is not None and ESTIMATORS[name].clips:
        said.append("no impression carries weight: the log cannot tell")
    said.extend(_misfit(name, estimate, evidence))
    if name == "pbm":
        said.extend(evidence.fitted)
    if name == "pbm" and np.any(evidence.examination > 1 + 1e-9):
        said.append("some positions are examined more than position 1: is the order of `items` the order shown?")
    return said


def _misfit(name: str, estimate: Estimate, evidence: Evidence) -> list[str]:
    """A known logging policy gives weights that average 1, less what it does not support. Do they?"""
    known = not (evidence.estimated if name == "list" else evidence.shares)
    mean = estimate.mean_weight
    if name not in ("list", "ip") or not known or evidence.same or mean is None or estimate.clipped > 0:
        return []
    expected = 1 - estimate.unsupported
    size = estimate.effective_sample_size or 1.0
    if abs(mean - expected) < max(0.1, 5 / size**0.5):
        return []
    whose = "the log's propensities" if evidence.by_propensity else "the given logging policy"
    return [f"the weights average {mean:.3g} instead of {expected:.3g}: {whose} does not fit the log"]


def _percent(share: float) -> str:
    return f"{share:.1%}" if share >= 0.001 else f"{100 * share:.2g}%"
