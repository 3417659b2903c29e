"""Worlds of users who click in several ways, small enough that every policy's true value is a sum over all rankings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import permutations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

import counterrank as cr
from counterrank.policy import Policy
from counterrank.policy.mixture import Mixture
from counterrank.policy.plackett_luce import PlackettLuce
from counterrank.policy.scores import Scores
from counterrank.policy.uniform import Uniform

Floats = NDArray[np.float64]
USERS = ("position", "cascade", "dependent", "neighbours", "drift")
TARGETS = ("mild", "greedy", "uniform", "reversed")
DAYS = 10


@dataclass(frozen=True, kw_only=True)
class UserWorld:
    """`attraction` is by day; `logging` and `targets` are chances of every ranking, with the policies."""

    users: str
    rankings: NDArray[np.int64]  # (R, K)
    attraction: Floats  # (D, Q, m)
    logging: Floats  # (D, Q, R)
    known: Policy
    targets: dict[str, tuple[Policy, Floats]]  # (Q, R)
    settings: dict[str, float]

    def truth(self, target: str) -> float:
        """The mean over days and queries of the expected clicks."""
        chance = self.targets[target][1]
        values = [(chance * expected_clicks(self, a)).sum(axis=1).mean() for a in self.attraction]
        return float(np.mean(values))

    def log(self, impressions: int, seed: int, propensity: bool = False) -> pa.Table:
        rng = np.random.default_rng(seed)
        days, queries = len(self.attraction), self.attraction.shape[1]
        day = np.sort(rng.integers(0, days, impressions))
        query = rng.integers(0, queries, impressions)
        edges = np.cumsum(self.logging, axis=2)
        drawn = np.empty(impressions, dtype=np.int64)
        for d in range(days):
            for q in range(queries):
                some = (day == d) & (query == q)
                drawn[some] = np.searchsorted(edges[d, q], rng.random(some.sum()) * edges[d, q, -1])
        shown = self.rankings[drawn]
        clicks = sampled_clicks(self, self.attraction[day[:, None], query[:, None], shown], rng)
        columns = {
            "query": [f"q{q}" for q in query],
            "items": [[f"i{i}" for i in row] for row in shown.tolist()],
            "clicks": clicks.astype(np.int8).tolist(),
            "day": day,
        }
        if propensity:
            columns["propensity"] = self.logging[day, query, drawn]
        return pa.table(columns)


def chances_of(attraction: Floats, users: str, settings: dict[str, float]) -> Floats:
    """(…, K) of a click at each position of pages whose items have these attractions, one page a row; not of users
    whose clicks hang on each other."""
    places = np.arange(1, attraction.shape[-1] + 1)
    base = attraction * places ** -settings.get("eta", 1.0)
    if users != "neighbours":
        return base
    beside = np.zeros_like(attraction)
    beside[..., 1:] += attraction[..., :-1]
    beside[..., :-1] += attraction[..., 1:]
    strength = settings.get("strength", 0.8)
    return np.clip(base * (1 + strength * (0.5 - beside)), 0.0, 1.0)


def sampled_clicks(world: UserWorld, attraction: Floats, rng: np.random.Generator) -> Floats:
    draws = rng.random(attraction.shape)
    if world.users in ("cascade", "dependent"):
        clicks = draws < attraction
        going = np.ones(len(clicks), dtype=bool)
        for k in range(clicks.shape[1]):
            clicks[:, k] &= going
            stay = 0.0 if world.users == "cascade" else world.settings.get("stay", 0.6) * 0.9**k
            going &= ~clicks[:, k] | (rng.random(len(clicks)) < stay)
        return clicks
    return draws < chances_of(attraction, world.users, world.settings)


def expected_clicks(world: UserWorld, attraction: Floats) -> Floats:
    """(Q, R)."""
    pages = attraction[:, world.rankings]
    if world.users in ("cascade", "dependent"):
        going, total = np.ones(pages.shape[:2]), np.zeros(pages.shape[:2])
        for k in range(pages.shape[2]):
            total += going * pages[:, :, k]
            stay = 0.0 if world.users == "cascade" else world.settings.get("stay", 0.6) * 0.9**k
            going *= 1 - pages[:, :, k] * (1 - stay)
        return total
    return chances_of(pages, world.users, world.settings).sum(axis=2)


def plackett_luce(scores: Floats, rankings: NDArray[np.int64], uniform: float = 0.0) -> Floats:
    """(Q, R)."""
    worth = np.exp(scores - scores.max(axis=1, keepdims=True))
    chance, left = np.ones((len(scores), len(rankings))), worth.sum(axis=1, keepdims=True)
    for column in rankings.T:
        chance *= worth[:, column] / np.maximum(left, 1e-300)
        left = left - worth[:, column]
    return (1 - uniform) * chance + uniform / len(rankings)


def sorted_first(scores: Floats, rankings: NDArray[np.int64], uniform: float = 0.0) -> Floats:
    """(Q, R) the one ranking by score."""
    best = np.argsort(-scores, axis=1, kind="stable")[:, : rankings.shape[1]]
    chance = (rankings[None] == best[:, None]).all(axis=2).astype(float)
    return (1 - uniform) * chance + uniform / len(rankings)


def _scores(scores: Floats) -> Scores:
    queries, items = scores.shape
    return Scores(
        [f"q{q}" for q in range(queries) for _ in range(items)],
        [f"i{i}" for _ in range(queries) for i in range(items)],
        scores.ravel(),
    )


def make(
    users: str, seed: int, *, queries: int = 10, items: int = 6, places: int = 4, logger: str = "pl", **settings: float
) -> UserWorld:
    rng = np.random.default_rng(seed)
    rankings = np.array(list(permutations(range(items), places)))
    attraction = rng.beta(settings.get("a", 1.5), settings.get("b", 3.0), (queries, items))
    days = [attraction]
    if users == "drift":
        taste = np.log(attraction / (1 - attraction))
        days = []
        for _ in range(DAYS):
            taste = taste + settings.get("step", 0.5) * rng.standard_normal(taste.shape)
            days.append(1 / (1 + np.exp(-taste)))
    opinion = rng.standard_normal((queries, items))
    sharp, noise, epsilon = settings.get("sharp", 0.7), settings.get("noise", 0.7), settings.get("epsilon", 0.3)

    def logs(a: Floats) -> tuple[Floats, Policy]:
        scores = sharp * (np.log(a / (1 - a)) + noise * opinion)
        if logger == "pl":
            return plackett_luce(scores, rankings), PlackettLuce(_scores(scores))
        return sorted_first(scores, rankings, epsilon), Mixture(_scores(scores), epsilon)

    mean = np.mean(days, axis=0)
    logit = np.log(mean / (1 - mean))
    mild = 0.7 * sharp * (logit + noise * opinion) + 0.3 * logit
    names = {f"q{q}": [f"i{i}" for i in range(items)] for q in range(queries)}
    everything = np.full((queries, len(rankings)), 1 / len(rankings))
    back = -0.5 * sharp * logit
    best = _scores(logit)
    table = {"query": list(names), "items": [best.rank(q)[:places] for q in names]}
    return UserWorld(
        users=users,
        rankings=rankings,
        attraction=np.stack(days),
        logging=np.stack([logs(a)[0] for a in days]),
        known=logs(days[0])[1],
        targets={
            "mild": (PlackettLuce(_scores(mild)), plackett_luce(mild, rankings)),
            "greedy": (cr.policy.read_policy(table), sorted_first(logit, rankings)),
            "uniform": (Uniform(names), everything),
            "reversed": (PlackettLuce(_scores(back)), plackett_luce(back, rankings)),
        },
        settings=settings,
    )


@dataclass
class Tally:
    """Of so many logs: how many were trusted, and how many of those were wrong."""

    logs: int = 0
    trusted: int = 0
    wrong: int = 0

    def add(self, world: UserWorld, log: pa.Table, target: str, logging: object = None) -> object:
        result = cr.evaluate(log, world.targets[target][0], logging=logging)
        found = result.diagnosis
        self.logs += 1
        if found.verdict == "trust":
            self.trusted += 1
            row = result[found.estimator]
            self.wrong += not row.lower <= world.truth(target) <= row.upper
        return result


Make = Callable[[int], UserWorld]
