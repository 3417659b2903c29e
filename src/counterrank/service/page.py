"""Which page is shown: the base order's first, or with a small chance one of its pool; and how likely that was."""

from __future__ import annotations

import hashlib
import itertools
import math
from collections.abc import Callable, Iterator, Sequence

from msgspec import Struct

Draws = Callable[[], float]  # numbers in [0, 1), uniform


class Drawn(Struct, frozen=True, gc=False):
    """A page as places in the list of candidates, with its chance and the chance of each item at its position."""

    places: list[int]
    propensity: float
    item_propensities: tuple[float, ...]
    explored: bool  # it is not the base page


def pool_size(candidates: int, pool: int, k: int) -> int:
    """M = min(m, max(pool, k))."""
    return min(candidates, max(pool, k))


def draw(base: Sequence[int], k: int, pool: int, randomise: float, draws: Draws) -> Drawn:
    """A page of k of the base order, of which the first `pool` may be drawn.

    With chance ε = `randomise` the page is k of the pool, uniform without repeats, else the first k of the base order.
    So a page has the chance (1−ε)·1[page = base] + ε·(M−k)!/M!, and item d at position j
    (1−ε)·1[base_j = d] + ε/M.

    >>> draw([0, 1, 2], 2, 3, 0.3, iter([0.9]).__next__).propensity
    0.75
    >>> page = draw([0, 1, 2], 2, 3, 0.3, iter([0.1, 0.99, 0.0]).__next__)
    >>> page.places, round(page.propensity, 12), page.item_propensities
    ([2, 1], 0.05, (0.09999999999999999, 0.7999999999999999))
    """
    first = list(base[:k])
    shown = first
    if randomise > 0.0 and draws() < randomise:
        left = list(base[:pool])
        for j in range(k):  # Fisher and Yates, as far as the page goes
            other = j + int(draws() * (pool - j))
            left[j], left[other] = left[other], left[j]
        shown = left[:k]
    by_chance = randomise / math.perm(pool, k) if randomise > 0.0 else 0.0
    each, stay = randomise / pool, 1.0 - randomise
    if shown == first:
        return Drawn(shown, stay + by_chance, (stay + each,) * k, False)
    items = tuple(stay + each if shown[j] == first[j] else each for j in range(k))
    return Drawn(shown, by_chance, items, True)


def is_base(item_propensities: Sequence[float], randomise: float, pool: int) -> bool:
    """Whether a page that is kept was the base page of its time: then every item stood where the base order had it."""
    return min(item_propensities) >= (1.0 - randomise + randomise / pool) * (1 - 1e-12)


def draws_from(seed: bytes) -> Draws:
    """Numbers that follow from a seed and nothing else.

    >>> draws_from(b"x")() == draws_from(b"x")()
    True
    """
    return _numbers(seed).__next__


def _numbers(seed: bytes) -> Iterator[float]:
    for number in itertools.count():
        block = hashlib.sha256(seed + number.to_bytes(8, "big")).digest()
        for i in range(0, len(block), 8):
            yield (int.from_bytes(block[i : i + 8], "big") >> 11) / (1 << 53)
