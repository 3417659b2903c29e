"""Whether what is served has fallen below the order received: a bet that is kept up all the time."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from counterrank.interval.betting import lower_bound
from counterrank.service.batch import unpack
from counterrank.statistics.histogram import Histogram
from counterrank.statistics.terms import Units

CONFIDENCE = 0.99
MOST = 20_000  # different terms that are told apart


def marked(impression: str, page: Sequence[int]) -> str:
    """The name of an impression that also says at which positions the page shows what was received there.

    >>> marked("abc", [0, 2, 1])
    'abc.1'
    """
    mask = 0
    for j, place in enumerate(page):
        if place == j:
            mask |= 1 << j
    return f"{impression}.{mask:x}"


def agrees(impression: str) -> int:
    """The positions of `marked`, as bits."""
    _, _, mask = impression.rpartition(".")
    try:
        return int(mask, 16) if "." in impression else 0
    except ValueError:
        return 0


@lru_cache(maxsize=4096)  # most pages are alike
def _term(mask: int, propensities: bytes, positions: tuple[int, ...]) -> float:
    chances = unpack(propensities)
    return sum((1 / chances[p - 1] if mask >> (p - 1) & 1 else 0.0) - 1.0 for p in positions) / len(chances)


class Below:
    """Terms T = Σ click_j·(1[the order received has that item there] / item_propensity_j − 1) / k, one per page.

    Their mean is at most what the order received is worth above what is served, by position-based reckoning as `ip`
    does it: items that are never shown count for nothing. No term is below −1, so that the lower bound of `betting`
    holds at all times. Of the pages that are kept for a user and a day the first counts.
    """

    def __init__(self) -> None:
        self.pages = 0
        self.terms: dict[float, int] = {}  # of pages with clicks
        self.sum = 0.0

    def shown(self) -> None:
        self.pages += 1

    def clicked(self, impression: str, propensities: bytes, positions: Sequence[int]) -> None:
        """Clicks on a page."""
        term = _term(agrees(impression), propensities, tuple(positions))
        key = round(term, 9) if len(self.terms) < MOST else round(term, 1) - 0.1
        self.terms[key] = self.terms.get(key, 0) + 1
        self.sum += term

    def lower(self) -> float:
        """What the order received is worth above what is served, at least, with confidence."""
        quiet = self.pages - sum(self.terms.values())
        if self.pages < 2 or not self.terms:
            return -1.0
        terms = {0.0: max(quiet, 0)}
        for term, count in self.terms.items():
            terms[term] = terms.get(term, 0) + count
        kept = sorted((term, count) for term, count in terms.items() if count)
        units = Units.of(Histogram.of([term for term, _ in kept], [count for _, count in kept]))
        return lower_bound(units, -1.0, 1 - CONFIDENCE)

    def alarm(self) -> dict[str, Any]:
        """Whether it rings."""
        lower = self.lower()
        mean = self.sum / self.pages if self.pages else 0.0
        return {
            "name": "below_received",
            "active": lower > 0,
            "message": f"the order received less what is served: {mean:+.4f} clicks a position, above {lower:+.4f} at "
            f"{CONFIDENCE:.0%}",
        }
