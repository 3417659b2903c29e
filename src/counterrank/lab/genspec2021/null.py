"""Worlds in which nothing is to be won: clicks say nothing of relevance, and what a gate lets through is false."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from counterrank.interval.betting import lower_bounds
from counterrank.learning.gate import PairClicks, levelled, relative_bounds, tied_weights
from counterrank.records import dataclass
from counterrank.simulate.labelled import Vector
from counterrank.simulate.ndcg import dcg_weights
from counterrank.statistics.terms import Units

ITEMS = 20
ENGAGED = 0.1  # of the sessions: they look at everything, and click on most of it
CLICKS = {True: 0.8, False: 0.1}  # the chance of a click on what is examined


def line(confidence: float) -> float:
    """Φ(−√(2 ln(2/(1−ε)))): what the paper's bound lets through where clicks are many and nothing is to be won.

    >>> [round(line(each), 4) for each in (0.01, 0.5, 0.75, 0.95)]
    [0.1178, 0.0479, 0.0207, 0.0033]
    """
    return float(ndtr(-math.sqrt(2 * math.log(2 / (1 - confidence)))))


@dataclass(frozen=True)
class Pages:
    """Impressions of one query of 20 items in random order: the position of each item, from 0, and its click."""

    positions: NDArray[np.int64]  # (N, K)
    clicked: NDArray[np.bool_]  # (N, K)


def engaged_pages(impressions: int, rng: np.random.Generator) -> Pages:
    """Pages of users who are engaged or not, so that clicks of a page go together; no item is better than another."""
    positions = rng.permuted(np.tile(np.arange(ITEMS), (impressions, 1)), axis=1)
    engaged = rng.random((impressions, 1)) < ENGAGED
    chance = np.where(engaged, CLICKS[True], CLICKS[False] / (positions + 1.0))
    return Pages(positions, rng.random(positions.shape) < chance)


def falsely_opened(impressions: int, confidence: float, rng: np.random.Generator) -> tuple[bool, bool]:
    """Whether the special policy of such a query is let through: by betting on pages, and by the paper's bound.

    It learns from so many impressions and is judged on as many others. A page is one term, Σ R over its items, of which
    none is below the sum of all that a click can take.
    """
    weights, starts = dcg_weights(ITEMS), np.array([0, ITEMS])
    propensity = np.full(ITEMS, (1 / np.arange(1.0, ITEMS + 1)).mean())
    learnt, judged = engaged_pages(impressions, rng), engaged_pages(impressions, rng)
    seen = learnt.clicked.sum(axis=0) / propensity
    special = tied_weights(starts, levelled(starts, seen), weights)
    logging = np.full(ITEMS, weights.mean())
    worth = (special - logging) / propensity
    terms: Vector = np.sort(judged.clicked @ worth)
    one = np.ones(len(terms))
    units = Units(one, terms, terms, terms, one)
    least = np.array([np.minimum(worth, 0.0).sum()])
    betting = lower_bounds(np.array([0, len(terms)]), units, least, (1 - confidence) / 2)[0] > 0
    clicks = PairClicks(
        starts=starts, impressions=np.array([impressions]), clicks=judged.clicked.sum(axis=0), propensity=propensity,
        positions=ITEMS, most=float(weights[0]),
    )  # fmt: skip
    found = relative_bounds(clicks, special, logging)
    return bool(betting), bool(found.value[0] > np.nan_to_num(found.half(confidence), nan=np.inf)[0])
