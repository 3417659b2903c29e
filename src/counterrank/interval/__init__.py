"""Kinds of intervals, by name."""

from counterrank.interval.base import Interval, NoInterval, Spread
from counterrank.interval.bernstein import empirical_bernstein, terms_needed
from counterrank.interval.betting import betting, query_bounds
from counterrank.interval.bootstrap import bootstrap
from counterrank.interval.deviation import deviation
from counterrank.interval.empirical import bernstein
from counterrank.interval.hoeffding import hoeffding
from counterrank.interval.normal import normal
from counterrank.interval.sequence import sequence
from counterrank.interval.student import student
from counterrank.interval.theorem3 import theorem3

INTERVALS: dict[str, Interval] = {
    "normal": normal,
    "t": student,
    "bootstrap": bootstrap,
    "empirical-bernstein": bernstein,
    "hoeffding": hoeffding,
    "theorem3": theorem3,
    "sequence": sequence,
    "betting": betting,
}
FEW = 100  # impressions' worth of evidence below which the normal approximation gives way to Student's t


def usual(effective: float | None) -> str:
    """The kind of interval for an effective sample size, where none is asked for."""
    return "normal" if effective is None or effective >= FEW else "t"


__all__ = [
    "INTERVALS",
    "Interval",
    "NoInterval",
    "Spread",
    "deviation",
    "empirical_bernstein",
    "query_bounds",
    "terms_needed",
    "usual",
]
