"""The two ends of a bound on a difference, the part that the log never shows counted against whoever would win."""

from __future__ import annotations

import math
from collections.abc import Mapping
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from counterrank.estimate import Estimate, Estimator, LinearEstimate
from counterrank.estimate.difference import Sides, difference
from counterrank.estimate.estimator import Weighs
from counterrank.estimate.scaled import scaled
from counterrank.interval import INTERVALS, NoInterval, Spread
from counterrank.judging.evaluate import OPEN, filled
from counterrank.records import dataclass
from counterrank.setting.evidence import Evidence
from counterrank.words import counted

BETTING, NORMAL = "betting", "normal"
NOTHING = 1e-9  # a share that is smaller is rounding
UNTOLD = 1e-6  # of a page, from which nobody can bound what the log cannot tell
Draft = Estimate | LinearEstimate
Vector = NDArray[np.float64]
Flags = NDArray[np.bool_]
Both = tuple[float, float]  # the lower and the upper end


def drafts_of(estimator: Estimator, sides: Sides, suffix: str = "") -> dict[str, Draft]:
    """Target, baseline, their difference; and `low` and `high`, the same where unseen parts count against a winner.

    Low: the target's unseen part is worth 0, the baseline's as much as its seen one. High: the other way round.
    """
    alone = estimator.estimate(sides[0]), estimator.estimate(sides[1])
    found: dict[str, Draft] = {
        "target": alone[0], "baseline": alone[1], "difference": difference(estimator, sides, alone),
    }  # fmt: skip
    for end, side in (("low", 1), ("high", 0)):
        factor = np.ones(1) if takes_alike(estimator) else _factor(alone[side], sides[side])
        if np.all(factor == 1):
            found[end] = found["difference"]
            continue
        both = list(alone)
        both[side] = scaled(alone[side], factor, sides[side])
        found[end] = difference(estimator, sides, (both[0], both[1]))
    return {name + suffix: draft for name, draft in found.items()}


def _factor(draft: Draft, evidence: Evidence) -> Vector:
    """(Q,) 1 over the seen share of what the policy shows; 1 where nothing of a query was seen (`untold`)."""
    if draft.unseen is None or evidence.same:
        return np.ones(len(evidence.counts.impressions))
    seen = 1 - np.where(draft.unseen > NOTHING, draft.unseen, 0.0)
    return np.asarray(1 / np.where(seen <= NOTHING, 1.0, seen))


def takes_alike(estimator: Estimator) -> bool:
    """Whether its value has a word for what the log never shows: as good as the rest, or as a model says."""
    return estimator.self_normalised or bool(estimator.modelled)


def kind_of(estimator: Estimator) -> str:
    """The kind of bound where none is asked for."""
    return NORMAL if takes_alike(estimator) else BETTING


def untold(done: Mapping[str, Estimate]) -> Flags:
    """(Q,) queries of which the log shows nothing that one of the policies shows."""
    out = np.zeros(len(done["difference"].per_query), dtype=bool)
    for side in ("target", "baseline"):
        lost = done[side].unseen
        if lost is not None:
            out |= lost >= 1 - NOTHING
    return out


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
        return Ends(kind or kind_of(estimator), None, None, [])
    if estimator.weighs is Weighs.PAGES and done["difference"].unsupported > UNTOLD:
        said = "no bound: the log cannot tell some of what a policy shows, and nobody knows what that is worth"
        return Ends(kind or kind_of(estimator), None, None, [said])
    if (count := int(untold(done).sum())) > 0:
        said = f"no bound: the log shows nothing of what a policy shows for {counted(count, 'query', 'queries')}"
        return Ends(kind or kind_of(estimator), None, None, [f"{said}, and nobody knows what that is worth"])
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
            return Ends(asked, *_finite(_without(found, estimator, done)), [*reason, *_open(found), *_unseen(done)])
    if found is None:
        return Ends(asked, None, None, [f"no {asked} interval: {said}"])
    return Ends(asked, *_finite(_without(found, estimator, done)), [*_open(found), *_unseen(done)])


def _without(found: Both, estimator: Estimator, done: Mapping[str, Estimate]) -> Both:
    """The ends without the word of an estimator that has one for what the log never shows: that is worth 0 there."""
    if not takes_alike(estimator):
        return found
    lost = [max(done[side].value or 0.0, 0.0) * done[side].unsupported for side in ("target", "baseline")]
    return found[0] - lost[0], found[1] + lost[1]


def _both(
    done: Mapping[str, Estimate], n: int, kind: str, confidence: float, size: float | None
) -> tuple[tuple[float, float] | None, str]:
    """Two ends, ∓∞ where one cannot be told; or why there are none."""
    out = [-math.inf, math.inf]
    for place, name in enumerate(("low", "high")):
        estimate = done[name]
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
    for side, end, other in (("target", "lower", "upper"), ("baseline", "upper", "lower")):
        lost = done[side].unseen
        if lost is not None and np.any(lost > NOTHING):
            said.append(
                f"what the log never shows of the {side} counts as 0 in the {end} bound, and as its seen part in the "
                f"{other} bound"
            )
    return said
