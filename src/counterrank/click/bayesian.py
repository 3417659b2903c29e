"""The dynamic Bayesian model (dbn), and its simplified form (sdbn): a click may satisfy, and then the page is left."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from counterrank.click.base import Floats, chances, shown_values
from counterrank.click.chain import Chain
from counterrank.click.climb import Climb
from counterrank.click.counts import ClickCounts
from counterrank.click.endings import Endings, Known
from counterrank.click.fit import LAST, Fit, Looks, Options, effective, logs
from counterrank.ids import Codes


class DynamicBayesian(Chain):
    """Users read from the top; a click satisfies with the item's own chance s, and then they leave. Otherwise they go
    on with one chance γ everywhere. With γ = 1 it is the simplified model.

    >>> model = DynamicBayesian([0.5, 0.2], satisfaction=[0.4, 0.0], perseverance=0.5)
    >>> model.click_probabilities(np.array([0]), np.array([[0, 1]])).round(3).tolist()
    [[0.5, 0.08]]

    Reference: Chapelle and Zhang, WWW 2009.
    """

    assumption = "A user reads from the top, leaves when a clicked item satisfies, and else goes on with one chance."

    def __init__(self, attraction: ArrayLike, satisfaction: ArrayLike, perseverance: float = 1.0) -> None:
        self.attraction = chances(attraction, "attraction")
        self.satisfaction = chances(satisfaction, "satisfaction")
        self.perseverance = float(chances([perseverance], "perseverance")[0])

    def steps(self, queries: Codes, rankings: Codes) -> tuple[Floats, Floats, Floats]:
        go_on = self.perseverance * (1.0 - shown_values(self.satisfaction, rankings))
        return shown_values(self.attraction, rankings), np.full(1, self.perseverance), go_on


def fit_simplified(counts: ClickCounts, options: Options = Options()) -> Fit:
    """Closed form with γ = 1: read down to the last click, everything where there is none; the last click satisfied."""
    clicks, looks = counts.clicks.astype(np.float64), counts.looks.to_last.astype(np.float64)
    satisfied = options.other.mean(counts.looks.last, clicks)
    return Fit(DynamicBayesian(options.mean(clicks, looks), satisfied), Looks(clicks, looks), biased=LAST)


def fit_bayesian(counts: ClickCounts, options: Options = Options()) -> Fit:
    """Maximum likelihood by expectation–maximisation over what happened after the last click.

    A click at the end of a page tells nothing on satisfaction.
    """
    endings = Endings.of(counts, "dbn")
    start = fit_simplified(counts, options).model
    assert isinstance(start, DynamicBayesian)  # noqa: S101
    attraction, satisfaction = start.attraction.copy(), start.satisfaction.copy()
    perseverance = np.full(1, 0.9)
    clicks = counts.clicks.astype(np.float64)
    between = clicks - counts.looks.last  # with another one below
    told, known = between + endings.followed, Known(endings, endings.places(lambda group: group.last))
    looks = np.zeros(len(clicks))

    def step() -> float:
        u = float(perseverance[0])
        v = u * (1.0 - satisfaction)
        total, sums = known.step(attraction, u, v)
        total += endings.certain(clicks, attraction) + logs(between, v) + logs(endings.missed.sum(), perseverance)
        total += options.penalty(attraction) + options.other.penalty(satisfaction, perseverance)
        looks[:] = endings.seen + sums.looks
        satisfied = satisfaction * sums.after[:-1, 0]
        # of all looks those below the first position, and those above the last one of users who were not satisfied
        went, could = looks.sum() - counts.total, looks.sum() - endings.stops - sums.lowest[0] - satisfied.sum()
        attraction[:], satisfaction[:] = options.mean(clicks, looks), options.other.mean(satisfied, told)
        perseverance[:] = options.other.mean(went, could)
        return total

    climb = Climb(step, [attraction, satisfaction, perseverance])
    climb.run(options.iterations, options.tolerance, options.strides)
    model = DynamicBayesian(attraction, satisfaction, float(perseverance[0]))
    evidence = effective(clicks, looks, known.doubt(), attraction)
    return Fit(model, evidence, tuple(climb.trace), climb.converged, climb.notes)
