"""Which page is drawn, and with what chance: by enumeration, and by how often each comes."""

from __future__ import annotations

import itertools
import math
import random
from collections import Counter
from typing import Any

import numpy as np
import pytest
from scipy.stats import chisquare

from counterrank.service.page import draw, draws_from, is_base, pool_size
from counterrank.service.scoring import AS_GIVEN, BY_POSTERIOR, IMPRESSIONS, SHOWN, base_order


def test_three_items_two_places() -> None:
    rng = random.Random(1)
    seen = {}
    for _ in range(2000):
        page = draw([0, 1, 2], 2, 3, 0.3, rng.random)
        seen[tuple(page.places)] = page
    assert set(seen) == set(itertools.permutations(range(3), 2))
    assert seen[0, 1].propensity == pytest.approx(0.75, abs=1e-15)
    assert not seen[0, 1].explored
    for places, page in seen.items():
        if places != (0, 1):
            assert page.propensity == pytest.approx(0.05, abs=1e-15)
            assert page.explored
    assert seen[0, 2].item_propensities == pytest.approx((0.8, 0.1))
    assert seen[2, 1].item_propensities == pytest.approx((0.1, 0.8))


@pytest.mark.parametrize(
    ("m", "k", "pool", "randomise"), [(3, 2, 20, 0.3), (6, 2, 4, 0.5), (4, 4, 1, 1.0), (5, 1, 3, 0.0)]
)
def test_chances_are_those_of_all_coins(m: int, k: int, pool: int, randomise: float) -> None:
    """Every page that the coin and the shuffle can give, summed up: chances of pages and of items at positions."""
    size = pool_size(m, pool, k)
    pages: Counter[tuple[int, ...]] = Counter()
    base = tuple(range(k))
    pages[base] += 1 - randomise
    for page in itertools.permutations(range(size), k):
        pages[page] += randomise / math.perm(size, k)
    assert sum(pages.values()) == pytest.approx(1)
    rng = random.Random(2)
    for _ in range(300):
        found = draw(list(range(m)), k, size, randomise, rng.random)
        assert found.propensity == pytest.approx(pages[tuple(found.places)])
        for j, place in enumerate(found.places):
            chance = sum(share for page, share in pages.items() if page[j] == place)
            assert found.item_propensities[j] == pytest.approx(chance)


def test_pages_come_as_often_as_their_propensities_say() -> None:
    rng, shown, chances = random.Random(3), Counter(), {}
    for _ in range(20_000):
        page = draw([3, 1, 0, 2], 2, 4, 0.4, rng.random)
        shown[tuple(page.places)] += 1
        chances[tuple(page.places)] = page.propensity
    assert sum(chances.values()) == pytest.approx(1)
    keys = sorted(chances)
    assert chisquare([shown[key] for key in keys], [20_000 * chances[key] for key in keys]).pvalue > 1e-3


def test_draws_of_a_key_are_uniform_and_the_same_again() -> None:
    assert [draws_from(b"k")() for _ in range(2)] == [draws_from(b"k")()] * 2
    counts: Counter[tuple[int, ...]] = Counter()
    for i in range(20_000):
        counts[tuple(draw([0, 1, 2], 2, 3, 1.0, draws_from(b"seed%d" % i)).places)] += 1
    assert len(counts) == 6
    assert chisquare(list(counts.values())).pvalue > 1e-3


def test_a_kept_page_tells_whether_it_was_the_base_page() -> None:
    rng = random.Random(5)
    for _ in range(500):
        page = draw([4, 2, 0, 1], 3, 4, 0.6, rng.random)
        assert is_base(page.item_propensities, 0.6, 4) == (not page.explored)


def based(at: Any, counts: Any, belief: Any, given: Any, params: Any, out: Any) -> list[int]:
    """The base order, without beliefs that came with the request."""
    found = np.empty(len(at), dtype=np.int64)
    base_order(at, counts, belief, np.zeros((0, 2)), given, params, out, found)
    return [int(place) for place in found]


def order(impressions: list[int], budget: float, k: int, below: float = 20.0) -> list[int]:
    """The base order of items whose estimates fall from the first to the last."""
    m = len(impressions)
    counts = np.zeros((m, 4), dtype=np.int64)
    counts[:, SHOWN] = impressions
    belief = np.column_stack([np.linspace(2.0, 1.0, m), np.full(m, 5.0)])
    out = np.empty((m, 8))
    params = (float(BY_POSTERIOR), 0.0, 1.0, below, budget, float(k))
    found = based(np.arange(m), counts, belief, np.zeros(0), params, out)
    assert out[:, IMPRESSIONS].tolist() == impressions
    return found


def test_the_budget_of_new_items() -> None:
    assert order([0, 0, 0, 50, 50, 0], budget=2, k=3) == [0, 1, 3, 4, 2, 5]  # further ones come after all others
    assert order([0, 50, 50, 0, 0, 50], budget=2, k=3) == [0, 1, 2, 3, 4, 5]  # one new in the first three: no limit
    assert order([0, 0, 0, 0], budget=1, k=3) == [0, 1, 2, 3]  # nothing else is there
    assert order([0, 50, 0, 50], budget=0, k=2) == [1, 3, 0, 2]
    assert order([19, 20, 19, 20], budget=1, k=2) == [0, 1, 3, 2]  # new: fewer than 20


def test_ties_stay_in_the_order_received() -> None:
    counts, belief = np.zeros((5, 4), dtype=np.int64), np.tile([1.0, 5.0], (5, 1))
    params = (float(BY_POSTERIOR), 20.0, 1.0, 0.0, 1.0, 3.0)
    out = np.empty((5, 8))
    at = np.array([3, 1, 4, 0, 2])
    assert based(at, counts, belief, np.zeros(0), params, out) == [0, 1, 2, 3, 4]
    given = np.array([1.0, 2.0, 1.0, 2.0, 0.0])
    params = (float(AS_GIVEN), *params[1:])
    assert based(at, counts, belief, given, params, out) == [1, 3, 0, 2, 4]
