"""What an interval is made from."""

from __future__ import annotations

from collections.abc import Callable

from counterrank.records import dataclass
from counterrank.statistics.histogram import Histogram
from counterrank.statistics.terms import Terms


@dataclass(frozen=True, kw_only=True)
class Spread:
    """An estimate and how its impressions' influences are spread. None: not known, or without limit.

    `width`: how far apart the terms of two impressions can lie, where the value is the mean of one bounded term per
    impression; `deviation`: theorem 3's bound on `pi`'s error; `influence`: the influences themselves;
    `terms`: what the value is the mean of, and how far a term can reach, or, in `no_terms`, why there are none.
    """

    value: float
    stderr: float
    impressions: int
    effective: float | None = None
    width: float | None = None
    deviation: float | None = None
    influence: Histogram | None = None
    terms: Terms | None = None
    no_terms: str = ""


class NoInterval(Exception):
    """Why a kind of interval does not apply to an estimate, in words."""


Interval = Callable[[Spread, float], tuple[float, float]]
