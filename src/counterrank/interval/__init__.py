"""Kinds of intervals, by name."""

from counterrank.interval.bernstein import empirical_bernstein, terms_needed
from counterrank.interval.deviation import deviation
from counterrank.interval.normal import normal

INTERVALS = {"normal": normal}

__all__ = ["INTERVALS", "deviation", "empirical_bernstein", "normal", "terms_needed"]
