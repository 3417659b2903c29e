"""The position-based model (pbm): a position is looked at, or not, whatever is shown around it."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from counterrank.click.base import ClickModel, Clicks, Floats, at_positions, by_position, chances, shown_values
from counterrank.click.counts import ClickCounts
from counterrank.click.empirical import empirical_of
from counterrank.click.fit import Fit, Looks, Options, squeezed
from counterrank.click.glance import Glimpses, climb
from counterrank.errors import Unanswerable
from counterrank.ids import Codes


class PositionBased(ClickModel):
    """A click needs the position to be examined and the item to attract, independently of all other positions.

    P(click at k) = attraction of the item at k · examination of k. Examination is (K,), or (Q, K) where each query has
    its own.

    >>> model = PositionBased([0.5, 0.2], examination=[1.0, 0.5])
    >>> model.click_probabilities(np.array([0]), np.array([[0, 1]])).tolist()
    [[0.5, 0.1]]

    Reference: Craswell et al., WSDM 2008 (the examination hypothesis); li2018, section 3.5.
    """

    assumption = "A click at k happens when position k is examined and its item attracts, independently of the rest."

    def __init__(self, attraction: ArrayLike, examination: ArrayLike) -> None:
        self.attraction = chances(attraction, "attraction")
        self.examination = by_position(examination, "examination")

    def click_probabilities(self, queries: Codes, rankings: Codes) -> Floats:
        examination = at_positions(self.examination, queries, rankings.shape[1], "examination")
        return shown_values(self.attraction, rankings) * examination

    def conditional_probabilities(self, queries: Codes, rankings: Codes, clicks: Clicks) -> Floats:
        return self.click_probabilities(queries, rankings)

    def sample(self, queries: Codes, rankings: Codes, rng: np.random.Generator) -> Clicks:
        return (rng.random(rankings.shape) < self.click_probabilities(queries, rankings)).astype(np.int8)


def fit_position_based_paper(counts: ClickCounts, options: Options = Options()) -> Fit:
    """cief2024, equations 13 and 14: examination is the click rate of the position, and weighs clicks and looks alike.

    Attraction comes out as θ·Σp²/Σp, too low, and examination holds the attraction of what stands there.
    """
    shown, clicked = (options.pooled(each.astype(np.float64)) for each in (counts.shown_at(), counts.clicks_at()))
    # eq. 13 divides by all impressions of the query, also those that end above the position
    impressions = counts.impressions.astype(np.float64)[:, None]
    seen = impressions if options.scope == "query" else impressions.sum(axis=0, keepdims=True)
    curve = np.divide(clicked, seen, out=np.zeros_like(shown), where=seen > 0)  # 0 of a query with no impressions
    cells = counts.cells
    of = counts.pairs.queries[cells.rows] if options.scope == "query" else 0
    weight = curve[of, cells.positions]
    looks = Looks(cells.by_pair(counts.clicked * weight), cells.by_pair(counts.shown * weight))
    model = PositionBased(options.mean(looks.clicks, looks.looks), squeezed(curve))
    return Fit(model, looks, biased="examination holds the attraction of what stands there")


def fit_position_based(counts: ClickCounts, options: Options = Options()) -> Fit:
    """Maximum likelihood by expectation–maximisation over which unclicked items were looked at.

    Position 1 is taken as always examined: the curve and attraction are known only up to a factor.
    """
    cells = Glimpses.of_positions(counts, options.scope == "query")
    width = counts.cells.depth
    heights = len(counts.impressions) if options.scope == "query" else 1
    examination = np.full(heights * width, 0.5)
    examination[::width] = 1.0
    fixed = np.zeros(heights * width, dtype=np.bool_)
    fixed[::width] = True
    found = climb(cells, len(counts.pairs), examination, fixed, options)
    return Fit(
        PositionBased(found.attraction, squeezed(examination.reshape(heights, width))),
        found.looks,
        tuple(found.climb.trace),
        found.climb.converged,
        found.climb.notes,
    )


def fit_position_based_empirical(counts: ClickCounts, options: Options = Options()) -> Fit:
    """The curve by empirical Bayes, with the prior of attractions fitted along; attractions are posterior means.

    Options say how many iterations; their prior and scope are not used. Where position 1 has no clicks nothing gives
    the curve a scale, and it is fitted under the prior of the options.
    """
    try:
        fitted = empirical_of(counts.tally)
    except Unanswerable:
        return fit_position_based(counts, options)
    cells = Glimpses.of_positions(counts, by_query=False)
    curve = fitted.examination.copy()
    known = np.ones(len(curve), dtype=np.bool_)
    found = climb(cells, len(counts.pairs), curve, known, Options(fitted.prior, iterations=options.iterations))
    model = PositionBased(fitted.attraction, fitted.examination)
    looks = Looks(found.looks.clicks, found.looks.looks, fitted.prior)
    return Fit(model, looks, tuple(found.climb.trace), fitted.converged, fitted.notes)
