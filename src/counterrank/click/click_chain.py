"""The click-chain model (ccm): users go on with a chance that depends on whether they clicked, and on what."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from counterrank.click.base import Floats, chances, shown_values
from counterrank.click.chain import Chain
from counterrank.click.climb import Climb
from counterrank.click.counts import ClickCounts
from counterrank.click.fit import Fit, Options, effective
from counterrank.click.halves import in_halves
from counterrank.click.walk import click_chain_step
from counterrank.errors import InputError
from counterrank.ids import Codes


class ClickChain(Chain):
    """Users read from the top and go on with chance τ₁ after no click, and τ₂·(1 − a) + τ₃·a after a click on an item
    of attraction a: what attracts more also satisfies more, or less.

    >>> model = ClickChain([0.5, 0.2], continuation=[0.9, 0.6, 0.2])
    >>> model.click_probabilities(np.array([0]), np.array([[0, 1]])).round(3).tolist()
    [[0.5, 0.13]]

    Reference: Guo et al., WWW 2009.
    """

    assumption = "A user reads from the top; the chance to go on depends on a click and the clicked item's attraction."

    def __init__(self, attraction: ArrayLike, continuation: ArrayLike) -> None:
        self.attraction = chances(attraction, "attraction")
        self.continuation = chances(continuation, "continuation")
        if len(self.continuation) != 3:
            raise InputError(f"continuation has {len(self.continuation)} numbers: give three, τ₁, τ₂ and τ₃")

    def steps(self, queries: Codes, rankings: Codes) -> tuple[Floats, Floats, Floats]:
        a = shown_values(self.attraction, rankings)
        missed, poor, good = self.continuation
        return a, np.full(1, missed), poor * (1.0 - a) + good * a


def fit_click_chain(counts: ClickCounts, options: Options = Options()) -> Fit:
    """Maximum likelihood by expectation–maximisation over what happened after the last click, and which of τ₂ and τ₃
    a click drew. The evidence on attraction is that of looks and clicks alone.
    """
    patterns = counts.need_patterns("ccm")
    clicks = counts.clicks.astype(np.float64)
    attraction = options.mean(clicks, counts.looks.to_last)
    continuation = np.array([0.9, 0.6, 0.4])
    looks, doubt, good, told = (np.zeros(len(clicks)) for _ in range(4))
    went, could = np.zeros(3), np.zeros(3)
    rows = patterns.coded, patterns.impressions

    def step() -> float:
        known = attraction, continuation
        total = in_halves(click_chain_step, rows, known, (looks, doubt, good, told, went, could))
        total += options.penalty(attraction) + options.other.penalty(continuation)
        attraction[:] = options.mean(clicks + good, looks + told)
        continuation[:] = options.other.mean(went, could)
        return total

    climb = Climb(step, [attraction, continuation])
    climb.run(options.iterations, options.tolerance, options.strides)
    evidence = effective(clicks, looks, doubt, attraction)
    return Fit(ClickChain(attraction, continuation), evidence, tuple(climb.trace), climb.converged, climb.notes)
