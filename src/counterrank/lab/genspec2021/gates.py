"""What each gate lets through, at all confidences at once, from the clicks of the selection part."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

from counterrank.learning.gate import PairClicks, capital_from_counts, relative_bounds, sea_bounds
from counterrank.learning.gate.bounds import FEWEST
from counterrank.records import dataclass
from counterrank.simulate.labelled import Vector

GATES = ("genspec", "sea", "betting")
CONFIDENCES = (0.01, 0.5, 0.75, 0.95)
NONE = "none"  # no bound at all: an estimate above 0 is enough
TABULAR, POSTERIOR = "special", "posterior"
SHRUNK = {  # gates that also, or only, have the special policy that is shrunk: their bound and their candidates
    "posterior": ("betting", (POSTERIOR,)),
    "both": ("betting", (TABULAR, POSTERIOR)),
    "genspec-both": ("genspec", (TABULAR, POSTERIOR)),
}

Gated = tuple[str, float]  # gate and confidence; (NONE, 0.0) without a bound


@dataclass(frozen=True)
class Let:
    """What a gate lets through: the general policy, for all queries or none, and the special ones."""

    general: bool
    special: NDArray[np.bool_]  # (Q,)
    shrunk: NDArray[np.bool_]  # (Q,) where the special policy that acts is the shrunk one


def bound_of(kind: str) -> str:
    """The bound of a gate.

    >>> bound_of("both"), bound_of("sea")
    ('betting', 'sea')
    """
    return SHRUNK[kind][0] if kind in SHRUNK else kind


def candidates_of(kind: str) -> tuple[str, ...]:
    return SHRUNK[kind][1] if kind in SHRUNK else (TABULAR,)


def margins(
    clicks: PairClicks, first: Vector, second: Vector, asked: Iterable[Gated], *, whole: bool = False
) -> dict[Gated, Vector]:
    """By bound and confidence, how far the first policy is above the second, query by query or on the whole.

    Above 0: it wins. By betting that is the logarithm of the capital less what is asked for, else reward.
    """
    wanted = list(dict.fromkeys(asked))
    kinds = {kind for kind, _ in wanted}
    one = relative_bounds(clicks, first, second, whole=whole)
    two = sea_bounds(clicks, first, second, whole=whole) if "sea" in kinds else None
    capital = capital_from_counts(clicks, first, second, whole=whole) if "betting" in kinds else np.zeros(0)
    out: dict[Gated, Vector] = {}
    for kind, confidence in wanted:
        if kind == NONE:
            out[kind, confidence] = one.value
        elif kind == "betting":
            enough = one.clicks >= FEWEST
            out[kind, confidence] = np.where(enough, capital, -np.inf) - math.log(2 / (1 - confidence))
        else:
            bound = two if kind == "sea" and two is not None else one
            out[kind, confidence] = bound.value - np.nan_to_num(bound.half(confidence), nan=np.inf)
    return out


def let_through(
    clicks: PairClicks, special: Mapping[str, Vector], general: Vector | None, logging: Vector, asked: list[Gated]
) -> dict[Gated, Let]:
    """Algorithm 1: the general policy against logging on the whole; the special one against what acts, by query.

    Where a gate has two special policies each is tested at half the error, and the one further above acts.
    """
    active = dict.fromkeys(asked, False)
    if general is not None:
        bounds = {each: (bound_of(each[0]), each[1]) for each in asked}
        found = margins(clicks, general, logging, bounds.values(), whole=True)
        active = {each: bool(found[bound][0] > 0) for each, bound in bounds.items()}
    out: dict[Gated, Let] = {}
    for acts in sorted(set(active.values())):
        mine = [each for each in asked if active[each] == acts]
        other = general if acts and general is not None else logging
        of = {
            name: margins(clicks, weight, other, [_each(gated) for gated in mine if name in candidates_of(gated[0])])
            for name, weight in special.items()
        }
        for gated in mine:
            names = candidates_of(gated[0])
            above = np.stack([of[name][_each(gated)] for name in names])
            best = np.argmax(above, axis=0)
            out[gated] = Let(acts, above.max(axis=0) > 0, np.array([name == POSTERIOR for name in names])[best])
    return out


def _each(gated: Gated) -> Gated:
    """The bound of each candidate's test, and its confidence."""
    kind, confidence = gated
    return bound_of(kind), 1 - (1 - confidence) / len(candidates_of(kind)) if kind in SHRUNK else confidence
