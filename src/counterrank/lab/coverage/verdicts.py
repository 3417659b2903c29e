"""How often the verdict of an evaluation says that its numbers can be trusted."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np

from counterrank.evaluate import evaluate
from counterrank.evaluate.diagnosis import LEVELS
from counterrank.lab.coverage.cells import Cells
from counterrank.lab.coverage.worlds import World


@dataclass(frozen=True)
class Verdicts:
    """The share of logs for each verdict, and the reason that came most often."""

    world: str
    logging: str
    impressions: int
    shares: dict[str, float]
    why: str


def judge(world: World, logging: str, impressions: int, logs: int) -> Verdicts:
    """Evaluates so many logs as a user would, from their rows, with the estimators that need no features."""
    rng = np.random.default_rng([impressions, 1, *map(ord, world.name)])
    given = world.policy(world.logging) if logging == "known" else "log"
    said: Counter[str] = Counter()
    why: Counter[str] = Counter()
    for _ in range(logs):
        log = world.log(Cells.drawn(world, impressions, rng).numbers)
        found = evaluate(log, world.policy(world.target), logging=given).diagnosis
        assert found is not None  # noqa: S101 - every evaluation has one
        said[found.verdict] += 1
        why[next((f.key for f in found.findings if f.level == found.verdict), "")] += 1
    shares: dict[str, float] = {level: said[level] / logs for level in LEVELS}
    return Verdicts(world.name, logging, impressions, shares, why.most_common(1)[0][0])
