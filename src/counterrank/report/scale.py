"""From numbers to places on a picture, and where its ticks stand."""

from __future__ import annotations

import math
from collections.abc import Iterable

from counterrank.records import dataclass
from counterrank.words import plain_zero


@dataclass(frozen=True)
class Scale:
    """Numbers from `low` to `high` on a line from `start` to `stop`; `log`: equal ratios take equal room."""

    low: float
    high: float
    start: float
    stop: float
    log: bool = False

    def __call__(self, value: float) -> float:
        low, high, at = (math.log10(x) if self.log else x for x in (self.low, self.high, value))
        share = (at - low) / (high - low) if high > low else 0.5
        return round(self.start + min(max(share, -0.02), 1.02) * (self.stop - self.start), 2)

    def ticks(self, about: int = 5) -> list[float]:
        """Round numbers within the scale."""
        if self.log:
            first, last = math.ceil(math.log10(self.low) - 1e-9), math.floor(math.log10(self.high) + 1e-9)
            each = max(math.ceil((last - first + 1) / about), 1)
            return [10.0**power for power in range(first, last + 1, each)]
        step = _round((self.high - self.low) / about) if self.high > self.low else 1.0
        first = math.ceil(self.low / step - 1e-9)
        return [round(n * step, 12) for n in range(first, math.floor(self.high / step + 1e-9) + 1)]


def around(values: Iterable[float | None], margin: float = 0.06, zero: bool = False) -> tuple[float, float]:
    """The least and the largest of the numbers, with some room; `zero`: 0 is within."""
    known = [v for v in values if v is not None and math.isfinite(v)] + ([0.0] if zero else [])
    if not known:
        return 0.0, 1.0
    low, high = min(known), max(known)
    room = (high - low) * margin or abs(high) * 0.1 or 1.0
    return (0.0 if zero and low == 0 else low - room), (0.0 if zero and high == 0 else high + room)


def tick_text(value: float, step: float) -> str:
    """A tick with as many digits as tell it from the next.

    >>> tick_text(0.1, 0.05), tick_text(2000, 1000), tick_text(1e6, 1e6)
    ('0.10', '2,000', '1M')
    """
    if abs(value) >= 1e15:
        return f"{value:.3g}".replace("-", "−")
    if abs(value) >= 1e6:
        return f"{value / 1e6:g}M".replace("-", "−")
    digits = max(-math.floor(math.log10(step) + 1e-9), 0) if step > 0 else 0
    text = f"{value:,.{digits}f}" if digits <= 4 else f"{value:.3g}"
    return plain_zero(text).replace("-", "−")


def _round(step: float) -> float:
    """1, 2 or 5 times a power of ten, not below the step."""
    power = 10.0 ** math.floor(math.log10(step))
    return next(n * power for n in (1, 2, 5, 10) if n * power >= step * (1 - 1e-9))
