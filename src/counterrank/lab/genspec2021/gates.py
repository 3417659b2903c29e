"""What each gate lets through, at all confidences at once, from the clicks of the selection part."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from counterrank.learning.gate import PairClicks, capital_from_counts, relative_bounds, sea_bounds
from counterrank.simulate.labelled import Vector

GATES = ("genspec", "sea", "betting")
CONFIDENCES = (0.01, 0.5, 0.75, 0.95)
NONE = "none"  # no bound at all: an estimate above 0 is enough

Gated = tuple[str, float]  # gate and confidence; (NONE, 0.0) without a bound


@dataclass(frozen=True)
class Let:
    """What a gate lets through: the general policy, for all queries or none, and the special ones."""

    general: bool
    special: NDArray[np.bool_]  # (Q,)


def wins(
    clicks: PairClicks, first: Vector, second: Vector, asked: list[Gated], *, whole: bool = False
) -> dict[Gated, NDArray[np.bool_]]:
    """Of each gate, where the first policy is above the second with confidence, query by query or on the whole."""
    kinds = {kind for kind, _ in asked}
    one = relative_bounds(clicks, first, second, whole=whole)
    two = sea_bounds(clicks, first, second, whole=whole) if "sea" in kinds else None
    capital = capital_from_counts(clicks, first, second, whole=whole) if "betting" in kinds else np.zeros(0)
    out: dict[Gated, NDArray[np.bool_]] = {}
    for kind, confidence in asked:
        if kind == NONE:
            out[kind, confidence] = one.value > 0
        elif kind == "genspec":
            out[kind, confidence] = one.value > _or_never(one.half(confidence))
        elif kind == "sea" and two is not None:
            out[kind, confidence] = two.value > _or_never(two.half(confidence))
        else:
            out[kind, confidence] = capital > math.log(2 / (1 - confidence))
    return out


def _or_never(half: Vector) -> Vector:
    return np.nan_to_num(half, nan=np.inf)


def let_through(
    clicks: PairClicks, special: Vector, general: Vector | None, logging: Vector, asked: list[Gated]
) -> dict[Gated, Let]:
    """Algorithm 1: the general policy against logging on the whole; the special one against what acts, by query."""
    active = dict.fromkeys(asked, False)
    if general is not None:
        active = {each: bool(yes[0]) for each, yes in wins(clicks, general, logging, asked, whole=True).items()}
    out: dict[Gated, Let] = {}
    for acts in sorted(set(active.values())):
        mine = [each for each in asked if active[each] == acts]
        other = general if acts and general is not None else logging
        for each, yes in wins(clicks, special, other, mine).items():
            out[each] = Let(acts, yes)
    return out
