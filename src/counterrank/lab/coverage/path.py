"""Confidence sequences: looked at after every day of a growing log, do they hold the truth on all days at once?"""

from __future__ import annotations

import numpy as np

from counterrank.interval import INTERVALS
from counterrank.lab.coverage.cells import WorldCells
from counterrank.lab.coverage.runs import CONFIDENCE, WorldSetting
from counterrank.records import dataclass

KINDS = ("sequence", "normal")
ESTIMATORS = ("list", "ip", "pbm", "pi")
DAILY = 200  # impressions


@dataclass(frozen=True)
class Path:
    """The share of growing logs on which the interval held the truth every day; `at_end`: on the last."""

    world: str
    logging: str
    estimator: str
    days: int
    throughout: dict[str, float]  # by interval
    at_end: dict[str, float]


def follow(setting: WorldSetting, days: int, logs: int) -> list[Path]:
    """Logs that grow by a day's impressions and are judged anew each time, from the second day on."""
    world, names = setting.world, [name for name in setting.names if name in ESTIMATORS]
    rng = np.random.default_rng([days, *map(ord, world.name)])
    chances = world.chances
    held = np.ones((logs, len(names), len(KINDS), 2), dtype=bool)
    for log in range(logs):
        daily = rng.multinomial(DAILY, chances.ravel(), size=days).reshape(days, *chances.shape)
        for numbers in np.cumsum(daily, axis=0)[1:]:
            spreads = setting.spreads(WorldCells.of(world, numbers), influence=False)
            for i, name in enumerate(names):
                spread, _ = spreads[name]
                for j, kind in enumerate(KINDS):
                    low, high = INTERVALS[kind](spread, CONFIDENCE) if spread is not None else (-np.inf, np.inf)
                    held[log, i, j, 1] = low <= world.truth <= high
            held[log, :, :, 0] &= held[log, :, :, 1]
    share = held.mean(axis=0)
    return [
        Path(
            world.name, setting.logging, name, days,
            {kind: float(share[i, j, 0]) for j, kind in enumerate(KINDS)},
            {kind: float(share[i, j, 1]) for j, kind in enumerate(KINDS)},
        )
        for i, name in enumerate(names)
    ]  # fmt: skip
