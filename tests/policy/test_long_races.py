"""Plackett–Luce on long lists: the chance of every item at every position, against counting and convolution."""

from __future__ import annotations

import time

import numpy as np
import pytest

from counterrank.policy import PlackettLuce, _others


def race(logs: np.ndarray, positions: int) -> np.ndarray:
    names = [f"{n:04}" for n in range(len(logs))]
    found = PlackettLuce({"q": dict(zip(names, logs.tolist(), strict=True))}).marginals("q", positions)
    return np.array([found[name] for name in names])


def by_tickets(logs: np.ndarray, positions: int) -> np.ndarray:
    """Of two kinds of items, by counting: how many of either kind were drawn is all that matters."""
    kinds, sizes = np.unique(logs, return_counts=True)
    assert len(kinds) == 2
    weight, out = np.exp(kinds), np.zeros((2, positions))
    drawn = {(0, 0): 1.0}
    for k in range(positions):
        following: dict[tuple[int, int], float] = {}
        for (one, two), chance in drawn.items():
            left = weight * (sizes - [one, two])
            for kind in range(2):
                if left[kind]:
                    part = chance * left[kind] / left.sum()
                    out[kind, k] += part / sizes[kind]
                    to = (one + (kind == 0), two + (kind == 1))
                    following[to] = following.get(to, 0.0) + part
        drawn = following
    return out[np.searchsorted(kinds, logs)]


@pytest.mark.parametrize(("sizes", "positions"), [((60, 70), 130), ((100, 5), 90), ((3, 200), 80)])
@pytest.mark.parametrize("gap", [0.5, 6.0])
def test_marginals_of_long_lists_agree_with_counting(sizes: tuple[int, int], positions: int, gap: float) -> None:
    logs = np.repeat([0.0, gap], sizes)
    np.testing.assert_allclose(race(logs, positions), by_tickets(logs, positions), rtol=1e-9, atol=1e-15)


def test_halving_the_items_gives_what_convolving_gives() -> None:
    rng = np.random.default_rng(2)
    for size, wide in ((1, 1), (2, 2), (37, 9), (40, 40)):
        left = rng.random(size)
        density, gone = rng.random(size), 1 - left
        found, expected = np.zeros((2, size + 3, wide + 3))
        _others.add(density, left, gone, 0, size, wide, _others.room_for(wide), found)
        for a in range(size):
            chances = np.ones(1)
            for other in range(size):
                chances = chances if other == a else np.convolve(chances, [left[other], gone[other]])
            expected[a, : min(wide, size)] = density[a] * chances[:wide]
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-39)


@pytest.mark.slow
def test_a_list_of_two_thousand_takes_seconds() -> None:
    """Convolving what is before and behind each item would take many minutes."""
    logs = np.random.default_rng(0).normal(size=2000)
    race(logs[:70], 70)
    began = time.process_time()
    shown = race(logs, 2000)
    assert time.process_time() - began < 60
    np.testing.assert_allclose(shown.sum(axis=0), 1, atol=1e-12)
    np.testing.assert_allclose(shown.sum(axis=1), 1, atol=1e-12)
