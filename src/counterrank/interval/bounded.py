"""What bounded intervals ask of a spread."""

from __future__ import annotations

import math

from counterrank.interval.base import NoInterval, Spread


def width_of(spread: Spread) -> float:
    """How far apart two impressions' terms can lie."""
    if spread.width is None or not math.isfinite(spread.width):
        raise NoInterval("it needs a bounded term per impression, of impressions that do not depend on each other")
    if spread.impressions < 2:
        raise NoInterval("it needs two impressions")
    return spread.width
