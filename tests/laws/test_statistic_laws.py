"""Every statistic adds: parts of a log give the whole, in any order, and stay what they were."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
import pytest

import counterrank as cr
from counterrank.engine import Embedded, Plan
from counterrank.ids import Ids
from counterrank.setting.options import position_weights
from counterrank.statistics import STATISTICS, DaySums, Histogram, Patterns, Rankings, Spreads

RNG = np.random.default_rng(0)
N, QUERIES, PAIRS = 90, 3, 12
OF = RNG.integers(0, QUERIES, N)
ROWS = np.array([RNG.permutation(4)[:3] + 4 * q for q in OF])
ROWS[::4, 2] = -1
CODED = np.where(ROWS >= 0, 2 * ROWS + RNG.integers(0, 2, ROWS.shape), -1).astype(np.int32)
CHANCE = 1 - RNG.random(ROWS.shape)
REWARD, DAY = RNG.normal(size=N), RNG.integers(0, 4, N)
ONES = np.ones(N)


def patterns(rows: Any) -> Patterns:
    return Patterns(OF[rows], CODED[rows], np.ones(len(OF[rows]), np.int64), DAY[rows]).merged()


def counts(rows: Any) -> Any:
    shown = [[f"i{row % 4}" for row in of if row >= 0] for of in ROWS[rows]]
    clicks = [[int(v & 1) for v in of if v >= 0] for of in CODED[rows]]
    chances = [CHANCE[i, : len(of)].tolist() for i, of in zip(np.arange(N)[rows], shown, strict=True)]
    log = {"query": [f"q{q}" for q in OF[rows]], "items": shown, "clicks": clicks, "day": DAY[rows].tolist()}
    log["item_propensities"] = chances
    plan = Plan(
        metric="clicks", weights=position_weights("dcg"), rankings="all", days=True, looks=True, patterns=True,
        by_item=True,
    )  # fmt: skip
    return Embedded().count(cr.read_log(log), plan).counts


def rankings(rows: Any) -> Rankings:
    return Rankings(
        queries=OF[rows], rows=ROWS[rows], impressions=ONES[rows], reward=REWARD[rows], reward2=REWARD[rows] ** 2
    ).merged()


def histogram(rows: Any) -> Histogram:
    return Histogram.of(REWARD[rows])


MADE: dict[str, Callable[[Any], Any]] = {
    "counts": counts,
    "rankings": rankings,
    "patterns": patterns,
    "looks": lambda rows: patterns(rows).counts(PAIRS, QUERIES)[2],
    "days": lambda rows: DaySums.gathered(DAY[rows], ONES[rows].astype(np.int64), REWARD[rows], REWARD[rows] ** 2),
    "histogram": histogram,
    "spreads": lambda rows: Spreads(*(histogram(rows) for _ in range(3))),
}


def alike(one: Any, two: Any) -> None:
    if isinstance(one, Ids):
        assert one.texts.to_pylist() == two.texts.to_pylist()
    elif is_dataclass(one):
        assert type(one) is type(two)
        for each in fields(one):
            alike(getattr(one, each.name), getattr(two, each.name))
    elif isinstance(one, np.ndarray):
        np.testing.assert_allclose(one, two, rtol=1e-9, atol=1e-9)
    else:
        assert one == pytest.approx(two, rel=1e-9) if isinstance(one, float) else one == two


@pytest.mark.parametrize("name", STATISTICS)
def test_parts_add_up_to_the_whole(name: str) -> None:
    make = MADE[name]
    whole, parts = make(slice(None)), [make(slice(*ends)) for ends in ((0, 20), (20, 65), (65, N))]
    assert isinstance(whole, STATISTICS[name])
    before = copy.deepcopy(parts)
    one, two, three = parts
    for added in ((one + two) + three, one + (two + three), three + one + two):
        alike(added, whole)
    for part, was in zip(parts, before, strict=True):
        alike(part, was)
    with pytest.raises((AttributeError, TypeError)):
        setattr(whole, fields(whole)[0].name, None)
