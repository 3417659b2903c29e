"""How far an impression moves an estimate, by the group of impressions with its ranking that it belongs to."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from counterrank.records import dataclass
from counterrank.statistics.rankings import Rankings

Vector = NDArray[np.float64]


@dataclass(frozen=True)
class Moved:
    """ψ = slope·reward + level for each impression of a group, rewards counted from the log's origin."""

    slope: Vector  # (G,) the weight of a reward
    level: Vector  # (G,)
    free: Vector  # (G,) what of the slope moves with the log's own share of the ranking
    weight: Vector  # (G,) of an impression, before anything is normalised
    wanted: NDArray[np.bool_]  # (G,) a policy that is judged shows the ranking
    term: Vector  # (G,) what an impression brings to the value beside slope·reward

    def less(self, other: Moved) -> Moved:
        """On a difference of two values."""
        return Moved(
            self.slope - other.slope,
            self.level - other.level,
            self.free - other.free,
            self.weight - other.weight,
            self.wanted | other.wanted,
            self.term - other.term,
        )


Influence = Callable[[Rankings], Moved]


def of_difference(one: Influence, other: Influence) -> Influence:
    return lambda chunk: one(chunk).less(other(chunk))


def alike(size: int, slope: float, level: Vector | float, weight: float, origin: float) -> Moved:
    """Where every impression has the same weight, whatever the ranking."""
    full = np.full(size, slope)
    return Moved(
        full, np.zeros(size) + level, np.zeros(size), np.full(size, weight), np.zeros(size, dtype=bool), full * origin
    )
