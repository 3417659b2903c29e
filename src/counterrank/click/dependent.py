"""The dependent-click model (dcm): after a click users go on with a chance that depends on the position."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from counterrank.click.base import Floats, at_positions, by_position, chances, shown_values
from counterrank.click.chain import Chain
from counterrank.click.climb import Climb
from counterrank.click.counts import ClickCounts
from counterrank.click.endings import Endings, Known, Places
from counterrank.click.fit import LAST, Fit, Looks, Options, Scope, effective, logs, squeezed
from counterrank.ids import Codes


class DependentClick(Chain):
    """Users read from the top, click every attractive item, and after a click at k go on with chance λ_k.

    P(click at k) = a_k · Π_{j<k} (1 − a_j (1 − λ_j)): a page is left only after a click. With λ = 0 it is the cascade.
    λ is (K,), or (Q, K) where each query has its own.

    >>> model = DependentClick([0.5, 0.2], continuation=[0.5, 0.5])
    >>> model.click_probabilities(np.array([0]), np.array([[0, 1]])).round(3).tolist()
    [[0.5, 0.15]]

    Reference: Guo et al., WSDM 2009; cief2024, section 2.
    """

    assumption = "A user reads from the top, clicks what is attractive, and after a click at k goes on with chance λ_k."

    def __init__(self, attraction: ArrayLike, continuation: ArrayLike) -> None:
        self.attraction = chances(attraction, "attraction")
        self.continuation = by_position(continuation, "continuation")

    def steps(self, queries: Codes, rankings: Codes) -> tuple[Floats, Floats, Floats]:
        go_on = at_positions(self.continuation, queries, rankings.shape[1], "continuation")
        return shown_values(self.attraction, rankings), np.ones(1), go_on


def fit_dependent(counts: ClickCounts, options: Options = Options()) -> Fit:
    """cief2024, appendix A: read down to the last click, everything where there is none; the last click is a stop.

    Simple and in closed form, but a page is read past its last click more often than that counts: attraction comes
    out too high, and bounds on it cover too rarely.
    """
    clicks, looks = counts.clicks.astype(np.float64), counts.looks.to_last.astype(np.float64)
    at, last = (options.pooled(each.astype(np.float64)) for each in (counts.clicks_at(), counts.looks.last_at))
    model = DependentClick(options.mean(clicks, looks), squeezed(options.other.mean(at - last, at)))
    return Fit(model, Looks(clicks, looks), biased=LAST)


def fit_dependent_ml(counts: ClickCounts, options: Options = Options()) -> Fit:
    """Maximum likelihood: after its last click a page was left, or read on without finding anything attractive.

    Expectation–maximisation over which of the two it was. The evidence on attraction holds the looks past the last
    click too, each with the chance that it happened. A click at position K counts as a stop: the page ends there.
    """
    endings = Endings.of(counts, "dcm-ml")
    start = fit_dependent(counts, options).model
    assert isinstance(start, DependentClick)  # noqa: S101
    attraction, go_on = start.attraction.copy(), np.atleast_2d(start.continuation).copy()
    clicks = counts.clicks.astype(np.float64)
    at, last = (options.pooled(each.astype(np.float64)) for each in (counts.clicks_at(), counts.looks.last_at))
    between = at - last  # clicks with another one below
    known = Known(endings, _places(endings, counts, options.scope))
    could = between.copy()
    for part, places in zip(endings.parts, known.places, strict=True):
        for group, place in zip(part, places, strict=True):
            could += np.bincount(place, group.often, go_on.size + 1)[:-1].reshape(go_on.shape)
    could[:, -1] = at[:, -1]
    looks = np.zeros(len(clicks))

    def step() -> float:
        total, sums = known.step(attraction, 1.0, go_on.ravel())
        total += endings.certain(clicks, attraction) + logs(between, go_on) + logs(at[:, -1], 1.0 - go_on[:, -1])
        total += options.penalty(attraction) + options.other.penalty(go_on)
        looks[:] = endings.seen + sums.looks
        went = between + go_on * sums.after[:-1, 1].reshape(go_on.shape)
        attraction[:], go_on[:] = options.mean(clicks, looks), options.other.mean(went, could)
        return total

    climb = Climb(step, [attraction, go_on])
    climb.run(options.iterations, options.tolerance, options.strides)
    evidence = effective(clicks, looks, known.doubt(), attraction)
    return Fit(DependentClick(attraction, squeezed(go_on)), evidence, tuple(climb.trace), climb.converged, climb.notes)


def _places(endings: Endings, counts: ClickCounts, scope: Scope) -> Places:
    """Where the last click above each ending stands: its position, or query · K + position; the last one is none."""
    if scope == "pooled":
        return endings.places(lambda group: group.at)
    depth, queries = counts.cells.depth, np.append(counts.pairs.queries, len(counts.pairs.query_ids))
    none = len(counts.pairs.query_ids) * depth
    return endings.places(lambda group: np.minimum(queries[group.last] * depth + group.at, none).astype(np.int32))
