"""Kinds of intervals, by name."""

from counterrank.interval.deviation import deviation
from counterrank.interval.normal import normal

INTERVALS = {"normal": normal}

__all__ = ["INTERVALS", "deviation", "normal"]
