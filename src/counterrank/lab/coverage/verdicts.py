"""How often the verdict of an evaluation says that its numbers can be trusted."""

from __future__ import annotations

from collections import Counter

import numpy as np

from counterrank.findings.diagnosis import LEVELS
from counterrank.judging.evaluate import evaluate
from counterrank.lab.coverage.cells import WorldCells
from counterrank.lab.coverage.worlds import CoverageWorld
from counterrank.records import dataclass


@dataclass(frozen=True, kw_only=True)
class Verdicts:
    """The share of logs for each verdict, and what was found most often where it is not trust.

    `right`: of the logs with the verdict trust, the share in which the interval of the estimator that it is about held
    the truth; None where no log was trusted.
    """

    world: str
    logging: str
    impressions: int
    shares: dict[str, float]
    right: float | None
    about: str  # the estimator that the verdict is about most often
    why: str


def judge(world: CoverageWorld, logging: str, impressions: int, logs: int) -> Verdicts:
    """Evaluates so many logs as a user would, from their rows, with the estimators that need no features."""
    rng = np.random.default_rng([impressions, 1, *map(ord, world.name)])
    given = world.policy(world.logging) if logging == "known" else "log"
    said: Counter[str] = Counter()
    why: Counter[str] = Counter()
    about: Counter[str] = Counter()
    right = 0
    for _ in range(logs):
        log = world.log(WorldCells.drawn(world, impressions, rng).numbers)
        result = evaluate(log, world.policy(world.target), logging=given)
        found = result.diagnosis
        assert found is not None  # noqa: S101 - every evaluation has one
        said[found.verdict] += 1
        about[found.estimator or ""] += 1
        if found.verdict == "trust":
            row = result[found.estimator] if found.estimator else result.rows[0]
            right += row.lower is not None and row.upper is not None and row.lower <= world.truth <= row.upper
        else:
            why[next((f.key for f in found.findings if f.level == found.verdict), "")] += 1
    shares: dict[str, float] = {level: said[level] / logs for level in LEVELS}
    most = why.most_common(1)[0][0] if why else ""
    held = right / said["trust"] if said["trust"] else None
    return Verdicts(
        world=world.name,
        logging=logging,
        impressions=impressions,
        shares=shares,
        right=held,
        about=about.most_common(1)[0][0],
        why=most,
    )
