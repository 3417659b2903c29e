"""A data set with a level of noise: all runs of figures 2, 3 and 4, and what is read off them."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import field
from typing import Any

import numpy as np

from counterrank.lab.genspec2021.gates import CONFIDENCES, NONE, Gated
from counterrank.lab.genspec2021.runs import Run, RunPlan, Simulation
from counterrank.lab.progress import counted
from counterrank.online.bandits import BANDITS
from counterrank.records import dataclass
from counterrank.simulate.labelled import Split, Vector
from counterrank.simulate.play import play

THREADS = 2
NO_BOUND: Gated = (NONE, 0.0)
Method = str | Gated


@dataclass(frozen=True, kw_only=True)
class PanelPlan:
    """How much of it to simulate."""

    runs: int
    clicks: tuple[int, ...]
    online: tuple[int, ...] = ()  # clicks at which bandits are judged
    general: bool = True  # whether models of features are trained


@dataclass(frozen=True, kw_only=True)
class Panel:
    """What the runs gave. Means and standard deviations are over runs."""

    name: str
    alpha: float
    queries: int  # to train on
    clicks: tuple[int, ...]
    runs: list[Run]
    online_clicks: tuple[int, ...] = ()
    online: dict[str, Vector] = field(default_factory=dict)  # (R, C) train NDCG by bandit

    @property
    def title(self) -> str:
        return f"{self.name}, α = {self.alpha:g}"

    @property
    def methods(self) -> list[Method]:
        return list(self.runs[0].train)

    def values(self, part: str, method: Method) -> Vector:
        """(R, C) NDCG on `train` or `test` queries."""
        return np.stack([getattr(run, part)[method] for run in self.runs])

    def gap(self, part: str, method: Method) -> Vector:
        """(R, C) above logging."""
        return np.asarray(self.values(part, method) - self.values(part, "logging"))

    def opened(self, gated: Gated) -> Vector:
        """(C,) the share of training queries on their special policy, on average over runs."""
        return np.asarray(np.mean([run.special[gated].mean(axis=1) for run in self.runs], axis=0))

    def half(self, gated: Gated, of: float = 1.0) -> float:
        """Clicks at which half of the queries, or of a share of them, are on their special policy."""
        return crossing(self.clicks, self.opened(gated), of / 2)

    def half_of_ever(self, gated: Gated) -> float:
        """Clicks at which half of the queries that ever open are open."""
        ever = np.mean([run.special[gated].any(axis=0).mean() for run in self.runs])
        return self.half(gated, float(ever)) if ever > 0 else np.inf

    def to_dict(self) -> dict[str, Any]:
        def numbers(part: str) -> dict[str, Any]:
            return {name_of(m): self.values(part, m).tolist() for m in getattr(self.runs[0], part)}

        gates = list(self.runs[0].special)
        return {
            "title": self.title,
            "queries": self.queries,
            "clicks": list(self.clicks),
            "train": numbers("train"),
            "test": numbers("test"),
            "special": {name_of(each): self.opened(each).tolist() for each in gates},
            "general": {
                name_of(each): np.mean([run.general[each] for run in self.runs], axis=0).tolist() for each in gates
            },
            "online_clicks": list(self.online_clicks),
            "online": {name: found.tolist() for name, found in self.online.items()},
        }


def name_of(method: Method) -> str:
    """A method in words.

    >>> name_of("special"), name_of(("sea", 0.5)), name_of(("none", 0.0))
    ('special', 'sea, ε = 0.5', 'no bound')
    """
    if isinstance(method, str):
        return method
    return "no bound" if method[0] == NONE else f"{method[0]}, ε = {method[1]:g}"


def crossing(clicks: Sequence[int], share: Vector, level: float) -> float:
    """Where a curve rises above a level for good, by a line over log clicks between two points; infinite if nowhere.

    >>> round(crossing([100, 10_000, 1_000_000], np.array([0.0, 0.25, 0.75]), 0.5))
    100000
    """
    below = np.flatnonzero(share < level)
    if not len(below):
        return float(clicks[0])
    at = int(below[-1])
    if at == len(clicks) - 1:
        return np.inf
    part = (level - share[at]) / (share[at + 1] - share[at])
    low, high = np.log(clicks[at]), np.log(clicks[at + 1])
    return float(np.exp(low + part * (high - low)))


def gates(*names: str) -> tuple[Gated, ...]:
    """These gates at all confidences, and no bound."""
    return (NO_BOUND, *((name, confidence) for name in names for confidence in CONFIDENCES))


def make_panel(name: str, split: Split, alpha: float, plan: PanelPlan, asked: tuple[Gated, ...]) -> Panel:
    """All runs, two at a time; a run has its own logging ranker and its own clicks."""
    of_runs = RunPlan(alpha=alpha, clicks=plan.clicks, gates=asked, general=plan.general)

    def one(seed: int) -> tuple[Run, dict[str, list[float]]]:
        simulation = Simulation(split, of_runs, seed)
        return simulation.play(), online(simulation, plan.online)

    with ThreadPoolExecutor(THREADS) as pool:
        told = f"{name}, α = {alpha:g}, {len(split.train)} queries to train on, {len(asked)} gates"
        found = list(counted(told, pool.map(one, range(plan.runs)), plan.runs))
    return Panel(
        name=name,
        alpha=alpha,
        queries=len(split.train),
        clicks=plan.clicks,
        runs=[run for run, _ in found],
        online_clicks=plan.online,
        online={name: np.array([played[name] for _, played in found]) for name in BANDITS} if plan.online else {},
    )


def online(simulation: Simulation, clicks: Sequence[int]) -> dict[str, list[float]]:
    """Train NDCG of the ranking that each bandit would produce; all its clicks are learnt from."""
    out: dict[str, list[float]] = {}
    for at, (name, bandit) in enumerate(BANDITS.items()) if clicks else ():
        rng = np.random.default_rng([simulation.seed, 3, at])
        out[name] = [simulation.on_train.of_scores(scores) for scores in play(simulation.world, bandit, clicks, rng)]
    return out
