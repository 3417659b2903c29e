"""Three click models on lists of four: chances of click patterns, what a log says of them, what lists are worth.

Everything is done for many runs at once: `seen` may have leading axes, (..., L, 2^K).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from counterrank.lab.cief2024.pages import PATTERNS, Floats, Integers, K, Pages
from counterrank.records import dataclass

MODELS = ("cm", "dcm", "pbm")
SMOOTH = 1.0  # Beta(1, 1)

_BEFORE = np.cumsum(PATTERNS, axis=1) - PATTERNS  # clicks above each position
_AFTER = PATTERNS.sum(axis=1, keepdims=True) - _BEFORE - PATTERNS
_NONE = PATTERNS.sum(axis=1, keepdims=True) == 0
LOOKED: dict[str, NDArray[np.bool_]] = {  # (2^K, K): what was examined, as the model has it
    "cm": _BEFORE == 0,  # down to the first click; with no click all
    "dcm": (_AFTER + PATTERNS > 0) | _NONE,  # down to the last click; with no click all
}
_LAST = (PATTERNS == 1) & (_AFTER == 0)


@dataclass(frozen=True)
class Clicked:
    """What logs say of each item, (..., P), and of each position, (..., K).

    `position`: the chance to leave content after a click (dcm), or to look at all (pbm); 1 for cm.
    """

    clicks: Floats
    looks: Floats
    position: Floats
    shown: NDArray[np.bool_]


def evidence(model: str, pages: Pages, seen: Integers) -> Clicked:
    """The paper's counts (appendix A, with the corrections for what was examined)."""
    places = pages.places
    at = seen.sum(axis=-1)
    clicks_at = seen @ PATTERNS  # (..., L, K)
    shown = np.einsum("...l,lpk->...p", at, places) > 0
    if model == "pbm":
        position = clicks_at.sum(axis=-2) / at.sum(axis=-1)[..., None]  # eq. 13
        clicks = np.einsum("...lk,lpk,...k->...p", clicks_at, places, position, optimize=True)  # eq. 14
        looks = np.einsum("...l,lpk,...k->...p", at, places, position, optimize=True)
        return Clicked(clicks, looks, position, shown)
    looked = LOOKED[model]
    looks = np.einsum("...lk,lpk->...p", seen @ looked, places, optimize=True)
    clicks = np.einsum("...lk,lpk->...p", seen @ (PATTERNS * looked), places, optimize=True)
    position = np.ones((*at.shape[:-1], K))
    if model == "dcm":
        stops = (seen @ _LAST).sum(axis=-2)
        position = (stops + SMOOTH) / (clicks_at.sum(axis=-2) + 2 * SMOOTH)
    return Clicked(clicks, looks, position, shown)


@dataclass(frozen=True)
class Truth:
    """A click model with its parameters: what is called true. `position` as in `Clicked`."""

    model: str
    pages: Pages
    attraction: Floats  # (P,)
    position: Floats  # (K,)

    @classmethod
    def fit(cls, model: str, pages: Pages) -> Truth:
        """Ψ*: attraction smoothed by Beta(1, 1)."""
        found = evidence(model, pages, pages.seen)
        return cls(model, pages, (found.clicks + SMOOTH) / (found.looks + 2 * SMOOTH), found.position)

    def chances(self) -> Floats:
        """(L, 2^K): the chance of each click pattern on each list."""
        theta = self.attraction[self.pages.lists]  # (L, K)
        if self.model == "pbm":
            click = (theta * self.position)[:, None, :]
            return np.asarray(np.where(PATTERNS == 1, click, 1 - click).prod(axis=-1))
        looking, content = np.ones((len(theta), len(PATTERNS))), np.zeros((len(theta), len(PATTERNS)))
        for k in range(K):
            hit, leaves = theta[:, k, None], self.position[k]
            clicked = PATTERNS[:, k] == 1
            content = np.where(clicked, looking * hit * leaves, content)  # who left above cannot click here
            looking = np.where(clicked, looking * hit * (1 - leaves), looking * (1 - hit))
        return np.asarray(looking + content)

    def draw(self, size: int, runs: int, rng: np.random.Generator) -> Integers:
        """(runs, L, 2^K): logs of `size` pages, lists as often as in the log, clicks by the model."""
        lists = rng.multinomial(size, self.pages.shares, size=runs)
        return np.asarray(rng.multinomial(lists, _proper(self.chances())))

    def value(self, rankings: Integers) -> Floats:
        """(...,): eqs. 3 to 5 of rankings (..., K)."""
        worth = self.attraction[rankings] * self.position
        return np.asarray(worth.sum(axis=-1) if self.model == "pbm" else 1 - (1 - worth).prod(axis=-1))

    def best(self) -> float:
        """The value of the best list."""
        return float(self.value(arrange(self.attraction, self.position)))

    def logged(self) -> float:
        """The mean value of the log's lists."""
        return float(self.value(self.pages.lists) @ self.pages.shares)

    def random(self, rng: np.random.Generator, draws: int = 2000) -> float:
        """The mean value of lists drawn at random from the query's items."""
        order = rng.random((draws, self.pages.items)).argsort(axis=1)[:, :K]
        return float(self.value(order).mean())


def arrange(score: Floats, position: Floats) -> Integers:
    """(..., K): the k-th best item at the k-th best position."""
    best = np.argsort(-score, axis=-1, kind="stable")[..., :K]
    order = np.argsort(-position, axis=-1, kind="stable")
    out = np.empty((*np.broadcast_shapes(best.shape[:-1], order.shape[:-1]), K), dtype=np.int64)
    np.put_along_axis(out, np.broadcast_to(order, out.shape), np.broadcast_to(best, out.shape), axis=-1)
    return out


def _proper(chances: Floats) -> Floats:
    """Rows that sum to 1 exactly enough for a multinomial draw."""
    return np.asarray(chances / chances.sum(axis=1, keepdims=True))
