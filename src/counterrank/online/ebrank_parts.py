"""EBRank with a part taken away: the ablations of figure 5."""

from __future__ import annotations

from typing import ClassVar

from counterrank.compiled import njit
from counterrank.online.ebrank import EBRank
from counterrank.online.memory import sums


@njit(nogil=True)
def by_prior(rows, first, size, examination, params, key, out):  # type: ignore[no-untyped-def]
    """α / (α + β) alone."""
    for i in range(size):
        alpha, beta = rows.belief[first + i, 0], rows.belief[first + i, 1]
        out[i] = alpha / (alpha + beta)


class OnlyPrior(EBRank):
    """Sorts by α/(α + β): what features say, whatever was clicked."""

    name: ClassVar[str] = "ebrank-prior"
    says: ClassVar[str] = "EBRank's prior alone"
    exploration: ClassVar[float] = 0.0
    grid: ClassVar[tuple[float, ...]] = (0.0,)
    score = by_prior


@njit(nogil=True)
def by_behaviour(rows, first, size, examination, params, key, out):  # type: ignore[no-untyped-def]
    """C/n (or clicks/E), 0 where never shown."""
    for i in range(size):
        n, clicks, weighted, exposure = sums(rows, first + i, examination)
        out[i] = 0.0
        if n > 0:
            out[i] = clicks / exposure if params[1] > 0 else weighted / n


class OnlyBehaviour(EBRank):
    """Sorts by C/n, 0 where never shown: clicks alone, without a prior and without exploration."""

    name: ClassVar[str] = "ebrank-behaviour"
    says: ClassVar[str] = "clicks alone, without a prior"
    exploration: ClassVar[float] = 0.0
    grid: ClassVar[tuple[float, ...]] = (0.0,)
    score = by_behaviour
