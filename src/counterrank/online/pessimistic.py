"""A ranker by the lower bound of EBRank's posterior: what to serve when nothing is to be tried out."""

from __future__ import annotations

from typing import ClassVar

from counterrank.compiled import njit
from counterrank.online.ebrank import EBRank, posterior

Z = 1.2815515655446004  # one in ten is below: δ = 0.2


@njit(nogil=True)
def score(rows, first, size, examination, params, key, out):  # type: ignore[no-untyped-def]
    """R̂ less z standard deviations of its Beta."""
    for i in range(size):
        estimate, strength = posterior(rows, first + i, examination, params[1])
        mean = min(max(estimate, 0.0), 1.0)
        out[i] = estimate - Z * (mean * (1.0 - mean) / (strength + 1.0)) ** 0.5


class Pessimistic(EBRank):
    """Sorts by R̂ − z·√(R̂(1 − R̂)/(E + α + β + 1)): the normal approximation of cief2024's bound at δ = 0.2.

    It explores nothing: new items stay below whatever is known to be good.
    """

    name: ClassVar[str] = "pessimistic"
    says: ClassVar[str] = "a lower bound of EBRank's posterior"
    exploration: ClassVar[float] = 0.0
    grid: ClassVar[tuple[float, ...]] = (0.0,)
    score = score
