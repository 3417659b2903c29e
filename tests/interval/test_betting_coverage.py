"""How often betting bounds hold, how wide they are, and how seldom equal policies win."""

from __future__ import annotations

import math

import numpy as np
import pytest

from interval.betting_worlds import Pages, ends, slots

SIZES = [300, 3000, 30_000]
MOST_WIDE = {3000: 1.9, 30_000: 1.85}


def tried(n: int, logs: int, shares: bool, less: bool, seed: int = 1) -> tuple[float, float]:
    """The share of logs whose bounds hold the truth, and the median width as a multiple of the normal interval's."""
    world, rng = Pages(), np.random.default_rng([n, seed])
    truth = world.truth - less * world.logged
    held, widths = 0, []
    for _ in range(logs):
        terms, least, most = world.draw(rng, n, shares, less)
        lower, upper = ends(terms, least, most)
        held += lower <= truth <= upper
        widths.append((upper - lower) / (2 * 1.96 * terms.std(ddof=1) / math.sqrt(n)))
    return held / logs, float(np.median(widths))


def holds(share: float, logs: int, nominal: float = 0.95) -> bool:
    return share >= nominal - 3 * math.sqrt(nominal * (1 - nominal) / logs)


@pytest.mark.parametrize("less", [False, True])
@pytest.mark.parametrize("n", SIZES[:2])
def test_bounds_hold_and_are_not_wide(n: int, less: bool) -> None:
    share, wide = tried(n, 40, shares=False, less=less)
    assert holds(share, 40)
    assert wide <= MOST_WIDE.get(n, 3.0)


@pytest.mark.slow
@pytest.mark.parametrize("less", [False, True])
@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("shares", [False, True])
def test_bounds_hold_in_a_thousand_logs(n: int, less: bool, shares: bool) -> None:
    """With shares too, in this world: they are not proven there."""
    share, wide = tried(n, 1000, shares, less)
    assert share >= 0.95
    if not shares:
        assert wide <= MOST_WIDE.get(n, 3.0)


def looked_at(paths: int, days: int, a_day: int) -> float:
    """The share of logs whose bounds hold on all days, looked at once a day."""
    world, rng, held = Pages(), np.random.default_rng(9), 0
    for _ in range(paths):
        terms, least, most = world.draw(rng, days * a_day, False, True)
        looks = (ends(terms[: a_day * (day + 1)], least, most) for day in range(days))
        held += all(lower <= world.truth - world.logged <= upper for lower, upper in looks)
    return held / paths


def test_bounds_hold_on_all_days_together() -> None:
    assert holds(looked_at(20, 60, 50), 20)


@pytest.mark.slow
def test_bounds_hold_on_all_of_sixty_days_in_a_thousand_logs() -> None:
    assert looked_at(1000, 60, 100) >= 0.95


def false_wins(logs: int, n: int, positions: int, engaged: bool) -> float:
    rng = np.random.default_rng([positions, engaged])
    return sum(ends(*slots(rng, n, positions, engaged))[0] > 0 for _ in range(logs)) / logs


@pytest.mark.parametrize("engaged", [False, True])
def test_equal_policies_hardly_ever_win(engaged: bool) -> None:
    assert false_wins(60, 1000, 5, engaged) <= 0.025 + 3 * math.sqrt(0.025 * 0.975 / 60)


@pytest.mark.slow
@pytest.mark.parametrize("engaged", [False, True])
@pytest.mark.parametrize("positions", [5, 20])
def test_equal_policies_hardly_ever_win_in_a_thousand_logs(positions: int, engaged: bool) -> None:
    assert false_wins(1000, 3000, positions, engaged) <= 0.025 + 3 * math.sqrt(0.025 * 0.975 / 1000)
