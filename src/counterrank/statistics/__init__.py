"""Small tables that add: a part of a log and the rest give the whole."""

from counterrank.statistics.counts import Counts
from counterrank.statistics.days import DaySums
from counterrank.statistics.histogram import Histogram, Spreads
from counterrank.statistics.looks import LookCounts
from counterrank.statistics.patterns import Patterns
from counterrank.statistics.rankings import Rankings

STATISTICS: dict[str, type] = {
    "counts": Counts,
    "rankings": Rankings,
    "patterns": Patterns,
    "looks": LookCounts,
    "days": DaySums,
    "histogram": Histogram,
    "spreads": Spreads,
}

__all__ = ["STATISTICS", "Counts", "DaySums", "Histogram", "LookCounts", "Patterns", "Rankings", "Spreads"]
