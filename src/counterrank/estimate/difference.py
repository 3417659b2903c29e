"""The difference of two policies by one estimator: each impression's influence on it is that on both values."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from counterrank.estimate.base import Estimate, Limits, LinearEstimate
from counterrank.estimate.cascade.influence import PatternInfluence
from counterrank.estimate.estimator import Estimator, Weighs
from counterrank.estimate.group_terms import group_terms
from counterrank.estimate.groups import moments, paged, ranked, spreads
from counterrank.estimate.influence import of_difference
from counterrank.estimate.list_sums import known_rankings
from counterrank.estimate.pseudoinverse import page
from counterrank.estimate.regression.direct import fitted, residuals
from counterrank.estimate.spread import width_of_products
from counterrank.setting.evidence import Evidence
from counterrank.setting.need import Need
from counterrank.statistics.rankings import Rankings

Sides = tuple[Evidence, Evidence]


def difference(
    estimator: Estimator, sides: Sides, alone: tuple[Estimate | LinearEstimate, Estimate | LinearEstimate]
) -> Estimate | LinearEstimate:
    """The value of the first side less that of the second; `alone` has the two estimates."""
    one, other = alone
    if isinstance(one, LinearEstimate) and isinstance(other, LinearEstimate):
        return one.less(other)
    assert isinstance(one, Estimate) and isinstance(other, Estimate)  # noqa: S101, PT018 - of the same estimator
    per_query = one.per_query - other.per_query
    clipped, unsupported = max(one.clipped, other.clipped), max(one.unsupported, other.unsupported)
    if one.by_pattern is not None and other.by_pattern is not None:
        return _by_pattern(sides[0], one, other, one.by_pattern.less(other.by_pattern))
    if one.value is None or other.value is None or one.influence is None or other.influence is None:
        return Estimate(
            value=None,
            per_query=per_query,
            second_moment=None,
            effective_sample_size=None,
            clipped=clipped,
            unsupported=unsupported,
        )
    counts, n = sides[0].counts, sides[0].counts.total
    direct = [fitted(side) for side in sides] if Need.FEATURES in estimator.needs else []
    left = [residuals(side) for side in sides] if direct else list(sides)
    thin = drawn = np.zeros(len(counts.impressions))  # of each query: for few impressions; from drawn rankings
    if estimator.weighs is Weighs.PAGES:
        gains = [1 / (e.mean_weight or 1.0) if estimator.self_normalised else 1.0 for e in (one, other)]
        thin, drawn = page.apart(left[0], left[1], (gains[0], gains[1]))
    if direct and not np.array_equal(direct[0].expected, direct[1].expected):
        drawn = drawn + direct[0].drawn + direct[1].drawn

    def chunks() -> Iterator[Rankings]:
        if Need.RANKINGS not in estimator.needs:
            return paged(sides[0]) if Need.PAGES in estimator.needs else ranked(sides[0])
        return known_rankings(sides) if direct else ranked(sides[0])

    influence, share = of_difference(one.influence, other.influence), counts.impressions / n
    found = moments(left[0], chunks, influence)
    second = float((found.squares + found.thin + thin).sum() + n * (n - 1) * (share**2 * drawn).sum())
    within = None
    if one.sizes is not None and other.sizes is not None:
        own = found
        if one.own is not None and other.own is not None:
            own = moments(left[0], chunks, of_difference(one.own, other.own))
        m = counts.impressions.astype(np.float64)
        within = own.within(m) + thin + m * (m - 1) * drawn
    limits = _limits(one, other, sides)
    terms = None if limits is None else group_terms(sides[0], chunks, influence, limits)
    return Estimate(
        value=one.value - other.value,
        per_query=per_query,
        second_moment=second,
        effective_sample_size=None,
        clipped=clipped,
        unsupported=unsupported,
        spreads=lambda: spreads(sides[0], chunks, influence),
        width=_width(one, other, sides[0]),
        within=within,
        terms=terms.whole if terms is not None else None,
        query_terms=terms.by_query if terms is not None else None,
        no_terms=one.no_terms,
    )


def _limits(one: Estimate, other: Estimate, sides: Sides) -> Limits | None:
    """Between what numbers the difference of two weights can lie."""
    if one.limits is None or other.limits is None:
        return None
    if _alike(sides):
        return 0.0, 0.0
    return one.limits[0] - other.limits[1], one.limits[1] - other.limits[0]


def _alike(sides: Sides) -> bool:
    """Whether both policies are one, so that no impression can tell them apart."""
    one, other = sides
    if one.same or other.same:
        return one.same and other.same
    if one.policy is other.policy:
        return True
    mine, theirs = one.target.support(), other.target.support()
    if mine is None or theirs is None:
        return False
    return all(np.array_equal(a, b) for a, b in zip(mine, theirs, strict=True))


def _by_pattern(side: Evidence, one: Estimate, other: Estimate, moved: PatternInfluence) -> Estimate:
    """From influences by rankings and clicks."""
    n = side.counts.impressions.astype(np.float64)
    assert one.value is not None and other.value is not None  # noqa: S101, PT018 - sums, never undefined
    width = one.width + other.width if one.width is not None and other.width is not None else None
    return Estimate(
        value=one.value - other.value,
        per_query=one.per_query - other.per_query,
        second_moment=moved.second_moment(),
        effective_sample_size=None,
        clipped=max(one.clipped, other.clipped),
        unsupported=max(one.unsupported, other.unsupported),
        spreads=moved.spreads,
        width=width,
        within=moved.within(n),
        by_pattern=moved,
        terms=moved.terms(),
        no_terms=one.no_terms,
    )


def _width(one: Estimate, other: Estimate, evidence: Evidence) -> float | None:
    """How far apart the terms of two impressions can lie."""
    if one.reach is None or other.reach is None:
        return None
    return width_of_products((one.reach[0] - other.reach[1], one.reach[1] - other.reach[0]), evidence)
