"""Random numbers by key, in compiled code: normal, gamma and Beta."""

from __future__ import annotations

import math

import numpy as np

from counterrank.compiled import njit
from counterrank.statistics.hashing import mix, uniform

LIFT = 1 << 62  # the number of a draw that no other has


@njit(inline="always")
def normal(key, number):  # type: ignore[no-untyped-def]
    """Box and Muller's."""
    radius = math.sqrt(-2.0 * math.log(1.0 - uniform(key, 2 * number)))
    return radius * math.cos(2.0 * math.pi * uniform(key, 2 * number + 1))


@njit()
def gamma(key, shape):  # type: ignore[no-untyped-def]
    """Marsaglia and Tsang's rejection; for a shape below 1 by way of one more."""
    lift = 1.0
    if shape < 1.0:
        lift = (1.0 - uniform(key, LIFT)) ** (1.0 / shape)
        shape += 1.0
    d = shape - 1.0 / 3.0
    c = 1.0 / math.sqrt(9.0 * d)
    for attempt in range(1000):
        x = normal(key, 2 * attempt)
        v = (1.0 + c * x) ** 3
        if v > 0.0:
            u = 1.0 - uniform(key, 4 * attempt + 2)
            if math.log(u) < 0.5 * x * x + d - d * v + d * math.log(v):
                return d * v * lift
    return d * lift


@njit()
def beta(key, a, b):  # type: ignore[no-untyped-def]
    """A draw from Beta(a, b)."""
    one, other = gamma(mix(key ^ np.uint64(1)), a), gamma(mix(key ^ np.uint64(2)), b)
    total = one + other
    return one / total if total > 0.0 else a / (a + b)
