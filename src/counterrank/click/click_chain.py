"""The click-chain model (ccm): users go on with a chance that depends on whether they clicked, and on what."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from counterrank.click.base import Floats, chances, shown_values
from counterrank.click.chain import Chain
from counterrank.click.climb import Climb
from counterrank.click.counts import ClickCounts
from counterrank.click.endings import Endings, Known
from counterrank.click.fit import Fit, Options, effective, logs
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
    endings = Endings.of(counts, "ccm")
    clicks = counts.clicks.astype(np.float64)
    attraction = options.mean(clicks, counts.looks.to_last)
    continuation = np.array([0.9, 0.6, 0.4])
    between = clicks - counts.looks.last  # with another one below
    told, known = between + endings.followed, Known(endings, endings.places(lambda group: group.last))
    looks = np.zeros(len(clicks))

    def step() -> float:
        u, low, high = continuation.tolist()
        v = low * (1.0 - attraction) + high * attraction
        total, sums = known.step(attraction, u, v)
        total += endings.certain(clicks, attraction) + logs(between, v)
        total += logs(endings.missed.sum(), continuation[:1])
        total += options.penalty(attraction) + options.other.penalty(continuation)
        looks[:] = endings.seen + sums.looks
        # both chances of going on, and of what is seen after that, by which draw it was
        went_on = np.divide(between, v, out=np.zeros_like(v), where=between > 0) + sums.after[:-1, 1]
        on_low, on_high = (1.0 - attraction) * low * went_on, attraction * high * went_on
        drew = on_high + attraction * (1.0 - high) * sums.after[:-1, 0]
        unclicked = endings.missed.sum() + sums.looks.sum()
        first = (v * sums.after[:-1, 1]).sum() + sums.after[-1, 1]
        went = unclicked - first, on_low.sum(), on_high.sum()
        could = unclicked - sums.lowest[0], told.sum() - drew.sum(), drew.sum()
        attraction[:] = options.mean(clicks + drew, looks + told)
        continuation[:] = options.other.mean(went, could)
        return total

    climb = Climb(step, [attraction, continuation])
    climb.run(options.iterations, options.tolerance, options.strides)
    evidence = effective(clicks, looks, known.doubt(), attraction)
    return Fit(ClickChain(attraction, continuation), evidence, tuple(climb.trace), climb.converged, climb.notes)
