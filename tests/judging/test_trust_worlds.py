"""Trusted and wrong: how often the verdict says trust and the truth lies outside, in worlds that break assumptions."""

from __future__ import annotations

import pytest

from judging.user_worlds import TARGETS, Tally, make
from seeds import seeds

SHAPES = (
    {"queries": 10, "items": 6, "places": 4, "logger": "pl"},
    {"queries": 10, "items": 5, "places": 3, "logger": "eps"},
    {"queries": 20, "items": 7, "places": 4, "logger": "pl", "sharp": 0.4},
    {"queries": 4, "items": 6, "places": 4, "logger": "eps", "epsilon": 0.5},
)
WORLDS = ("position", "cascade", "dependent", "neighbours", "drift")
CELLS = [(u, logging) for u in WORLDS for logging in ("shares", "known") if (u, logging) != ("drift", "known")]


def tallied(users: str, logging: str, impressions: int, logs: int) -> Tally:
    """So many logs, each of a world of its own, and four targets on each."""
    tally = Tally()
    for number in range(logs):
        world = make(users, number, **SHAPES[number % len(SHAPES)])
        log = world.log(impressions, 1000 + number)
        for target in TARGETS:
            tally.add(world, log, target, world.known if logging == "known" else "log")
    return tally


@pytest.mark.slow
@pytest.mark.parametrize("impressions", [300, 3_000, 30_000])
@pytest.mark.parametrize(("users", "logging"), CELLS)
def test_trusted_and_wrong(users: str, logging: str, impressions: int) -> None:
    found = tallied(users, logging, impressions, 48)
    shares = found.trusted / found.logs, found.wrong / found.logs
    print(f"{users}, {logging}, {impressions}: trusted {shares[0]:.3f}, trusted and wrong {shares[1]:.3f}")
    assert found.wrong / found.logs < 0.1
    if users == "position" and impressions == 30_000:
        assert found.trusted / found.logs >= 0.6


@pytest.mark.parametrize("users", seeds(list(WORLDS), 3))
def test_trusted_and_wrong_in_short(users: str) -> None:
    """Before these findings the verdict was trusted and wrong in 28 to 88 % of such logs."""
    found = tallied(users, "shares", 3_000, 8)
    assert found.wrong / found.logs <= 0.1
    if users == "position":
        assert found.trusted / found.logs >= 0.6
