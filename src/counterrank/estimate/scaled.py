"""An estimate whose weights are multiplied by one number a query: what the log does not show is taken to be alike."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from counterrank.estimate.base import Blocks, Estimate, Limits, LinearEstimate, Thin, Vector, Weighed
from counterrank.estimate.influence import Influence, Moved
from counterrank.ids import Codes
from counterrank.setting.evidence import Evidence
from counterrank.statistics.counts import Part
from counterrank.statistics.rankings import Rankings

Kind = Estimate | LinearEstimate


def scaled(estimate: Kind, factor: Vector, evidence: Evidence) -> Kind:
    """Each impression's term times the factor of its query, (Q,), for estimates that are means of one term each."""
    if estimate.value is None or np.all(factor == 1):
        return estimate
    per_query = estimate.per_query * factor
    value = evidence.mean(per_query)
    if isinstance(estimate, LinearEstimate):
        return _linear(estimate, factor, evidence, per_query, value)
    changed = replace(
        estimate, value=value, per_query=per_query, reach=_reach(estimate.reach, factor),
        limits=_limits(estimate.limits, factor), terms=None,
    )  # fmt: skip
    if estimate.by_pattern is not None:
        moved = estimate.by_pattern.scaled(factor, estimate.value, value)
        return replace(
            changed, by_pattern=moved, second_moment=moved.second_moment(), spreads=moved.spreads,
            terms=moved.terms(), within=moved.within(evidence.counts.impressions.astype(np.float64)),
        )  # fmt: skip
    if estimate.influence is None:
        return changed
    return replace(changed, influence=_influence(estimate.influence, factor, estimate.value, value))


def _linear(
    estimate: LinearEstimate, factor: Vector, evidence: Evidence, per_query: Vector, value: float
) -> LinearEstimate:
    by = factor[evidence.counts.cell_queries] if estimate.own else 1.0
    sizes = estimate.counts.pairs.sizes
    return replace(
        estimate,
        value=value,
        per_query=per_query,
        weighed=_weighed(estimate, factor),
        constant=factor * (estimate.constant + (estimate.value or 0.0)) - value,
        thin=None if estimate.thin is None else _thin(estimate.thin, factor),
        ends=None,
        blocks=None if estimate.blocks is None else _blocks(estimate.blocks, factor, sizes),
        own=tuple(each.times(by, _of_pairs(factor, sizes)) for each in estimate.own),
        curve=None if estimate.curve is None else replace(estimate.curve, slope=estimate.curve.slope * factor.max()),
    )


def _weighed(estimate: LinearEstimate, factor: Vector) -> Weighed:
    counts = estimate.counts

    def larger(part: Part) -> tuple[Vector, Vector]:
        weight, offset = estimate.weighed(part)
        by = np.repeat(factor[part.first : part.last], np.diff(counts.runs(part)))
        return weight * by, offset * by

    return larger


def _thin(thin: Thin, factor: Vector) -> Thin:
    def larger(part: Part) -> tuple[Vector, Vector]:
        weight, variance = thin.rates(part)
        sizes = np.diff(thin.counts.runs(part, thin.of_pairs))
        return weight * np.repeat(factor[part.first : part.last], sizes), variance

    return Thin.of(larger, thin.counts, thin.of_pairs)


def _blocks(blocks: Blocks, factor: Vector, sizes: Codes) -> Blocks:
    by = _of_pairs(factor, sizes)
    return lambda first, last: blocks(first, last) * by(first, last)


def _of_pairs(factor: Vector, sizes: Codes) -> Blocks:
    return lambda first, last: np.repeat(factor[first:last], sizes[first:last])[:, None]


def _influence(influence: Influence, factor: Vector, before: float, value: float) -> Influence:
    def moved(chunk: Rankings) -> Moved:
        found, by = influence(chunk), factor[chunk.queries]
        return Moved(
            found.slope * by,
            (found.level + before) * by - value,
            found.free * by,
            found.weight * by,
            found.wanted,
            found.term * by,
        )

    return moved


def _reach(reach: tuple[float, float] | None, factor: Vector) -> tuple[float, float] | None:
    if reach is None:
        return None
    ends = [end * by for end in reach for by in (float(factor.min()), float(factor.max()))]
    return min(ends), max(ends)


def _limits(limits: Limits | None, factor: Vector) -> Limits | None:
    """Of each query, by its own factor."""
    if limits is None:
        return None
    ends = [end * factor for end in limits]
    return np.minimum(*ends), np.maximum(*ends)
