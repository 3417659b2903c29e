"""The deviation bound of the pseudoinverse estimator, as an interval."""

from __future__ import annotations

from counterrank.interval.base import NoInterval, Spread


def theorem3(spread: Spread, confidence: float) -> tuple[float, float]:
    """value ± deviation, as `deviation` gives it at this confidence. Reference: swaminathan2017, theorem 3."""
    if spread.deviation is None:
        raise NoInterval("it is for pi, where the log supports the target and the range of rewards is known")
    return spread.value - spread.deviation, spread.value + spread.deviation
