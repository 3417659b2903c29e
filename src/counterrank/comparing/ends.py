"""The two ends of a bound on a difference, the part that the log never shows counted against whoever would win."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from counterrank.estimate import Estimate, Estimator, LinearEstimate
from counterrank.estimate.difference import Sides, difference
from counterrank.estimate.estimator import Weighs
from counterrank.estimate.scaled import scaled
from counterrank.interval import INTERVALS, NoInterval, Spread
from counterrank.judging.evaluate import OPEN, filled
from counterrank.setting.evidence import Evidence

BETTING, NORMAL = "betting", "normal"
NOTHING = 1e-9  # a share that is smaller is rounding
UNTOLD = 1e-6  # of a page, from which nobody can bound what the log cannot tell
Draft = Estimate | LinearEstimate


def drafts_of(estimator: Estimator, sides: Sides, suffix: str = "") -> dict[str, Draft]:
    """Target, baseline, their difference; and `low` and `high`, the same where unseen parts count against a winner.

    Low: the target's unseen part is worth 0, the baseline's as much as its seen one. High: the other way round. An end
    that cannot be told, as nothing of a policy was seen for some query, is left out.
    """
    alone = estimator.estimate(sides[0]), estimator.estimate(sides[1])
    found: dict[str, Draft] = {
        "target": alone[0], "baseline": alone[1], "difference": difference(estimator, sides, alone),
    }  # fmt: skip
    for end, side in (("low", 1), ("high", 0)):
        factor = _factor(alone[side], sides[side])
        if factor is None:
            continue
        if np.all(factor == 1):
            found[end] = found["difference"]
            continue
        both = list(alone)
        both[side] = scaled(alone[side], factor, sides[side])
        found[end] = difference(estimator, sides, (both[0], both[1]))
    return {name + suffix: draft for name, draft in found.items()}


def _factor(draft: Draft, evidence: Evidence) -> np.ndarray | None:
    """(Q,) 1 over the seen share of what the policy shows; None where nothing of a query was seen."""
    if draft.unseen is None or evidence.same:
        return np.ones(len(evidence.counts.impressions))
    seen = 1 - np.where(draft.unseen > NOTHING, draft.unseen, 0.0)
    return None if np.any(seen <= NOTHING) else 1 / seen


@dataclass(frozen=True)
class Ends:
    """Both ends of the bound, its kind, and what to say of it."""

    kind: str
    lower: float | None
    upper: float | None
    said: list[str]


def ends(
    estimator: Estimator, done: Mapping[str, Estimate], n: int, kind: str | None, confidence: float, size: float | None
) -> Ends:
    """The lower end of `low` and the upper end of `high`; where no bet can be placed, the normal approximation's."""
    if done["difference"].value is None:
        return Ends(kind or BETTING, None, None, [])
    if estimator.weighs is Weighs.PAGES and done["difference"].unsupported > UNTOLD:
        said = "no bound: the log cannot tell some of what a policy shows, and nobody knows what that is worth"
        return Ends(kind or BETTING, None, None, [said])
    asked = kind if kind is not None else BETTING
    if asked == "theorem3":
        return Ends(
            asked, None, None, ["no theorem3 interval: it is for the value of one policy, not for a difference"]
        )
    found, said = _both(done, n, asked, confidence, size)
    if found is None and asked == BETTING:
        reason = [f"no betting bound: {said}; the bound is the normal approximation's"] if kind == BETTING else []
        asked = NORMAL
        found, said = _both(done, n, asked, confidence, size)
        if found is not None:
            return Ends(asked, *_finite(found), [*reason, *_open(found), *_unseen(done)])
    if found is None:
        return Ends(asked, None, None, [f"no {asked} interval: {said}"])
    return Ends(asked, *_finite(found), [*_open(found), *_unseen(done)])


def _both(
    done: Mapping[str, Estimate], n: int, kind: str, confidence: float, size: float | None
) -> tuple[tuple[float, float] | None, str]:
    """Two ends, ∓∞ where one cannot be told; or why there are none."""
    out = [-math.inf, math.inf]
    for place, name in enumerate(("low", "high")):
        estimate = done.get(name)
        if estimate is None:
            continue
        second = estimate.second_moment
        if estimate.value is None or second is None or not math.isfinite(second) or n < 2:
            return None, "one impression says nothing of its own error"
        stderr = math.sqrt(max(second, 0.0) / n / (n - 1))
        width = estimate.width if estimate.width is not None and math.isfinite(estimate.width) else None
        spread = Spread(value=estimate.value, stderr=stderr, impressions=n, effective=size, width=width)
        try:
            out[place] = INTERVALS[kind](filled(spread, kind, estimate), confidence)[place]
            if kind == BETTING:  # a bet knows the terms, not the curve that they were weighed by
                out[place] += (2 * place - 1) * two_sided(confidence) * math.sqrt(estimate.curve_variance)
        except NoInterval as reason:
            return None, str(reason)
    return (out[0], out[1]), ""


def two_sided(confidence: float) -> float:
    """The normal quantile of both ends of an interval."""
    return NormalDist().inv_cdf((1 + confidence) / 2)


def _finite(found: tuple[float, float]) -> tuple[float | None, float | None]:
    lower, upper = (end if math.isfinite(end) else None for end in found)
    return lower, upper


def _open(found: tuple[float, float]) -> list[str]:
    return [OPEN] if math.inf in (-found[0], found[1]) else []


def _unseen(done: Mapping[str, Estimate]) -> list[str]:
    """What became of the parts that the log never shows."""
    said = []
    for side, end, other in (("target", "lower", "high"), ("baseline", "upper", "low")):
        lost = done[side].unseen
        if lost is None or not np.any(lost > NOTHING):
            continue
        gone = "upper" if end == "lower" else "lower"
        if other not in done:
            said.append(f"the log shows nothing of the {side} for some query: there is no {gone} bound")
        else:
            said.append(
                f"what the log never shows of the {side} counts as 0 in the {end} bound, and as its seen part in the "
                f"{gone} bound"
            )
    return said
