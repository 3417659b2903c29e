"""How often intervals hold the truth: one world, one log size, many logs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from counterrank.estimate import ESTIMATORS, Estimate
from counterrank.estimate.estimator import needs_of
from counterrank.interval import INTERVALS, NoInterval, Spread
from counterrank.interval.bootstrap import bootstrap
from counterrank.judging.distance import add_distance
from counterrank.judging.evaluate import finished, spread_of
from counterrank.lab.coverage.cells import WorldCells
from counterrank.lab.coverage.worlds import CoverageWorld
from counterrank.log import read_log
from counterrank.log.features import Features, read_features
from counterrank.records import dataclass
from counterrank.setting.evidence import Evidence
from counterrank.setting.need import Need
from counterrank.setting.question import Question

CONFIDENCE = 0.95
REPLICATES = 500  # of the bootstrap; more take longer and add a tenth of a point of coverage
ENDLESS = 10**12  # impressions that stand for a log without end
CLOSE = 1e-3  # relative: an estimator whose limit is as near to the truth is taken to aim at it
LOST = 0.01  # what the logs may lack of the target on average for the assumption to hold
LOGGINGS = ("known", "shares")


@dataclass(frozen=True, kw_only=True)
class Measured:
    """One estimator in one setting, over all its logs."""

    world: str
    logging: str
    impressions: int
    estimator: str
    holds: bool  # its assumption is true in this world, and the logs show what the target shows
    bias: float  # its limit less the truth
    unsupported: float  # mean
    effective: float  # median effective sample size
    coverage: dict[str, float | None]  # by interval; None where there never was one
    width: dict[str, float | None]  # median, as a multiple of the normal interval's
    missing: dict[str, float]  # the share of logs without an interval
    why: dict[str, str]
    stderr: float  # median
    error: float  # standard deviation of the value


class WorldSetting:
    """A question to a world, asked of one log after the other."""

    def __init__(self, world: CoverageWorld, logging: str, names: Iterable[str]) -> None:
        self.world, self.logging = world, logging
        log = read_log(world.log((world.chances > 0).astype(np.int64)))
        given = world.policy(world.logging) if logging == "known" else "log"
        self.question = Question.ask(
            log, world.policy(world.target), metric=world.metric, logging=given, examination="reciprocal"
        )
        self.names = [name for name in names if ESTIMATORS[name].gives(world.metric) and not ESTIMATORS[name].asked_for]
        needed = Need.FEATURES in needs_of(ESTIMATORS[name] for name in self.names)
        self.features: Features | None = read_features(world.feature_table()) if needed else None
        endless = WorldCells.of(world, np.rint(world.chances * ENDLESS).astype(np.int64))
        self.limit = {name: e.value for name, e in self.estimates(endless)[1].items()}

    def estimates(self, run: WorldCells) -> tuple[Evidence, dict[str, Estimate]]:
        [evidence] = self.question.evidences(run, frozenset(Need))
        if self.features is not None:
            table, featureless = self.features.on(evidence.counts.pairs)
            evidence = replace(evidence, features=table, featureless=featureless)
        with np.errstate(over="ignore", invalid="ignore"):
            drafts = {name: ESTIMATORS[name].estimate(evidence) for name in self.names}
        return evidence, finished(drafts, evidence, run)[0]

    def aims_at_truth(self, name: str) -> bool:
        """Whether the estimator's limit is the truth."""
        limit, truth = self.limit[name], self.world.truth
        return limit is not None and abs(limit - truth) <= CLOSE * abs(truth)

    def spreads(self, run: WorldCells, influence: bool = True) -> dict[str, tuple[Spread | None, float]]:
        """What intervals are made from, of one log, and what the log lacks; `influence`: for the bootstrap."""
        evidence, estimates = self.estimates(run)
        limits = (float(self.world.reward.min()), float(self.world.reward.max()))
        out = {}
        for name, estimate in estimates.items():
            distance, _ = add_distance(estimate, name, evidence, limits, CONFIDENCE)
            spread = spread_of(estimate, evidence.counts.total, distance.deviation if distance is not None else None)
            if spread is not None and influence and estimate.spreads is not None:
                spread = replace(spread, influence=estimate.spreads().influence)
            out[name] = spread, estimate.unsupported
        return out


def measure(
    setting: WorldSetting, impressions: int, logs: int, kinds: Iterable[str] = tuple(INTERVALS)
) -> list[Measured]:
    """Draws so many logs, and counts how often each interval of each estimator holds the truth."""
    world, names, kinds = setting.world, setting.names, list(kinds)
    ends = np.full((logs, len(names), len(kinds), 2), np.nan)
    seen = np.full((logs, len(names), 4), np.nan)  # unsupported, value, stderr, effective sample size
    wanted = {name: kinds if setting.aims_at_truth(name) else ["normal"] for name in names}
    why: dict[tuple[str, str], str] = {}
    rng = np.random.default_rng([impressions, *map(ord, world.name)])
    for log in range(logs):
        spreads = setting.spreads(WorldCells.drawn(world, impressions, rng))
        for i, name in enumerate(names):
            spread, seen[log, i, 0] = spreads[name]
            if spread is None:
                why.update(((name, kind), "no impression has weight") for kind in kinds)
                continue
            seen[log, i, 1:] = spread.value, spread.stderr, spread.effective or np.nan
            for kind in wanted[name]:
                try:
                    ends[log, i, kinds.index(kind)] = _interval(kind, spread)
                except NoInterval as reason:
                    why[name, kind] = str(reason)
    return [_summed(setting, impressions, name, kinds, ends[:, i], seen[:, i], why=why) for i, name in enumerate(names)]


def _interval(kind: str, spread: Spread) -> tuple[float, float]:
    if kind == "bootstrap":
        return bootstrap(spread, CONFIDENCE, REPLICATES)
    return INTERVALS[kind](spread, CONFIDENCE)


def _summed(
    setting: WorldSetting, impressions: int, name: str, kinds: list[str], ends: NDArray[np.float64],
    seen: NDArray[np.float64], *, why: dict[tuple[str, str], str],
) -> Measured:  # fmt: skip
    truth, limit = setting.world.truth, setting.limit[name]
    inside = (ends[:, :, 0] <= truth) & (truth <= ends[:, :, 1])
    width = np.nanmedian(np.where(np.isnan(ends[:, :, 0]).all(axis=0), 0.0, ends[:, :, 1] - ends[:, :, 0]), axis=0)
    there = ~np.isnan(ends[:, :, 0])
    found = np.atleast_1d(there.any(axis=0))
    usual = width[kinds.index("normal")] if "normal" in kinds else np.nan
    bias = (limit - truth) if limit is not None else np.nan
    return Measured(
        world=setting.world.name,
        logging=setting.logging,
        impressions=impressions,
        estimator=name,
        holds=setting.aims_at_truth(name) and float(seen[:, 0].mean()) <= LOST,
        bias=float(bias),
        unsupported=float(seen[:, 0].mean()),
        effective=float(np.nanmedian(seen[:, 3])) if found.any() else 0.0,
        coverage={k: float(inside[there[:, j], j].mean()) if found[j] else None for j, k in enumerate(kinds)},
        width={k: float(width[j] / usual) if found[j] and usual > 0 else None for j, k in enumerate(kinds)},
        missing={k: float(1 - there[:, j].mean()) for j, k in enumerate(kinds)},
        why={kind: reason for (of, kind), reason in why.items() if of == name},
        stderr=float(np.nanmedian(seen[:, 2])) if found.any() else float("nan"),
        error=float(np.nanstd(seen[:, 1])) if found.any() else float("nan"),
    )
