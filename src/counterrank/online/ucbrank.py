"""UCBRank: clicks where there are some, a feature model where there are none, and an upper confidence bound."""

from __future__ import annotations

from typing import ClassVar

from counterrank.compiled import njit
from counterrank.online.counterfactual import CFTopK
from counterrank.online.memory import sums


@njit(inline="always")
def mean(rows, row, examination):  # type: ignore[no-untyped-def]
    """Impressions, and clicks/E, or the model's value where never shown."""
    n, clicks, _, exposure = sums(rows, row, examination)
    return n, (clicks / exposure if n > 0 else rows.belief[row, 0])


@njit(nogil=True)
def score(rows, first, size, examination, params, key, out):  # type: ignore[no-untyped-def]
    """Plus c / max(√n, 0.001)."""
    for i in range(size):
        n, value = mean(rows, first + i, examination)
        out[i] = value + params[0] / max(n**0.5, 0.001)


@njit(nogil=True)
def plus_one(rows, first, size, examination, params, key, out):  # type: ignore[no-untyped-def]
    """Plus c / √(n + 1)."""
    for i in range(size):
        n, value = mean(rows, first + i, examination)
        out[i] = value + params[0] / (n + 1.0) ** 0.5


class UCBRank(CFTopK):
    """clicks/E if the item was shown, else the feature model, plus c/max(√n, 0.001). An unseen item gets 1000·c."""

    name: ClassVar[str] = "ucbrank"
    says: ClassVar[str] = "clicks, or the feature model, plus c/√n"
    behaviours: ClassVar[tuple[str, ...]] = ("none",)
    exploration: ClassVar[float] = 0.0
    grid: ClassVar[tuple[float, ...]] = (0.0, 1e-5, 3e-5, 1e-4, 3e-4, 1e-3, 1e-2, 0.1, 0.3, 1.0)
    score = score


class UCBRankPlusOne(UCBRank):
    """The same with c/√(n + 1), which is finite for an item never shown."""

    name: ClassVar[str] = "ucbrank-plus-one"
    says: ClassVar[str] = "the same plus c/√(n + 1)"
    grid: ClassVar[tuple[float, ...]] = (0.0, 0.01, 0.03, 0.1, 0.2, 0.3, 0.5, 1.0)
    score = plus_one
