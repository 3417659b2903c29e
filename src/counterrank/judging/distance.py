"""What the pseudoinverse estimators add to an evaluation: how hard the question is, and a bound on the error."""

from __future__ import annotations

import numpy as np

from counterrank.estimate import ESTIMATORS, Estimate
from counterrank.estimate.pseudoinverse.gamma import matrix_sizes
from counterrank.estimate.pseudoinverse.known import closed_forms
from counterrank.interval import deviation
from counterrank.judging.remarks import warn
from counterrank.result.row import DistanceRow
from counterrank.setting.evidence import Evidence

# multiplications: what nobody asked for by name may take about two seconds on clicks, which other estimators judge as
# well, and about twenty on rewards of pages; where the logging policy is given, each matrix takes some to fill
WORK = {"clicks": 3e10, "reward": 3e11}
FILLING = 1e8


def too_much(evidence: Evidence) -> str | None:
    """Why `pi` and `wpi` are left out unless they are named."""
    counts = evidence.counts
    if counts.pages is None:
        return "pi, wpi left out: the log is too long to keep all its rankings in memory; name them with `estimators`"
    if evidence.shares:  # only what the log shows
        sizes = matrix_sizes(counts).astype(np.float64)
        work = float((sizes**3).sum())
    else:
        sizes = (counts.pairs.sizes * counts.pairs.lengths).astype(np.float64)
        sizes[closed_forms(evidence.logging)] = 0
        work = float((sizes**3 + FILLING * (sizes > 0)).sum())
    if work <= WORK["clicks" if evidence.of_clicks else "reward"]:
        return None
    return (
        f"pi, wpi left out: {int((sizes > 0).sum()):,} matrices of up to {int(sizes.max()):,} rows would take longer "
        "than all other estimators; name them with `estimators`, or cut with `top`"
    )


def add_distance(
    estimate: Estimate, name: str, evidence: Evidence, limits: tuple[float, float] | None, confidence: float
) -> tuple[DistanceRow | None, list[str]]:
    """The fields that `pi` adds, and all warnings of an estimate."""
    said = warn(name, estimate, evidence)
    distance = estimate.distance
    if distance is None:
        return None, said
    bound, why = None, list[str]()
    if ESTIMATORS[name].has_deviation:
        bound, why = _bound(estimate, evidence, limits, confidence)
    numbers = (distance.sigma2, distance.rho, distance.rho_bar, distance.kappa, bound)
    return DistanceRow(*(x if x is not None and np.isfinite(x) else None for x in numbers)), said + why


def _bound(
    estimate: Estimate, evidence: Evidence, limits: tuple[float, float] | None, confidence: float
) -> tuple[float | None, list[str]]:
    distance, counts = estimate.distance, evidence.counts
    assert distance is not None  # noqa: S101 - the caller looked
    if estimate.unsupported > 0:
        return None, []  # the bound is for a target that the logging policy supports
    said = ["the deviation bound takes the log's shares for the logging policy's own"] if evidence.shares else []
    if limits is None and not evidence.of_clicks:
        limits = counts.extremes
        if limits is None or limits[0] == limits[1]:
            return None, ["no deviation bound: all logged rewards are equal: give the range with `reward_range`"]
        said.append(
            f"the deviation bound takes the smallest and the largest logged reward, {limits[0]:.4g} and "
            f"{limits[1]:.4g}, for the range: give `reward_range` if rewards can lie outside"
        )
    low, high = limits if limits is not None else (0.0, float(evidence.weights.sum()))
    mean = float(counts.origin + counts.reward.sum() / counts.total)
    if not low <= mean <= high:
        return None, [f"no deviation bound: the mean reward {mean:.4g} is outside the range {low:g} to {high:g}"]
    return deviation(distance.sigma2, distance.rho, counts.total, confidence, max(abs(low), abs(high))), said
