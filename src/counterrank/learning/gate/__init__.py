"""Bounds of the gate on arrays: from clicks per pair, propensities and what rank weights two policies give."""

from counterrank.learning.gate.bets import betting_from_counts, capital_from_counts
from counterrank.learning.gate.bounds import Bounds, PairClicks, TwoBounds, contrast, relative_bounds, sea_bounds
from counterrank.learning.gate.ties import levelled, tied_weights

__all__ = [
    "Bounds",
    "PairClicks",
    "TwoBounds",
    "betting_from_counts",
    "capital_from_counts",
    "contrast",
    "levelled",
    "relative_bounds",
    "sea_bounds",
    "tied_weights",
]
