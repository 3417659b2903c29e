"""A slow, plain reading of the specification: what `evaluate` must answer, by enumeration.

Nothing here is imported from the package. A policy is a dict `query -> {ranking: probability}` with rankings as tuples
of text ids, full and uncut. A log is a list of dicts `{query, items, clicks?, reward?, propensity?, impressions?}`.

The estimators are those of table 2 of Li et al. (2018), "Offline Evaluation of Ranking Policies with Click Models":
f = Σ_k θ_k · click_k, a weight min(h/π, M) per list, per (item, position) or per item, and a mean over impressions.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise, permutations
from math import fsum
from typing import Any

Ranking = tuple[str, ...]
Policy = dict[str, dict[Ranking, float]]
Row = dict[str, Any]

ESTIMATORS = ("list", "wlist", "ip", "wip", "pbm", "item", "rctr")
OF_A_REWARD = ("list", "wlist", "rctr")


# ---------------------------------------------------------------------------------------------------------------------
# Policies, by enumeration


def table(rows: Iterable[Mapping[str, Any]]) -> Policy:
    """Rows `query`, `items`, `probability` (default 1)."""
    policy: Policy = {}
    for row in rows:
        rankings = policy.setdefault(row["query"], {})
        ranking = tuple(row["items"])
        rankings[ranking] = rankings.get(ranking, 0.0) + row.get("probability", 1.0)
    return policy


def scores(rows: Iterable[Mapping[str, Any]], temperature: float = 0.0) -> Policy:
    """Rows `query`, `item`, `score`: sorted with ties uniform over all orders, or Plackett–Luce."""
    by_query: dict[str, dict[str, float]] = defaultdict(dict)
    for row in rows:
        by_query[row["query"]][row["item"]] = row["score"]
    make = _sorted_with_ties if temperature == 0 else lambda of: _plackett_luce(of, temperature)
    return {query: make(of) for query, of in by_query.items()}


def _sorted_with_ties(score: Mapping[str, float]) -> dict[Ranking, float]:
    orders = [order for order in permutations(score) if all(score[a] >= score[b] for a, b in pairwise(order))]
    return {order: 1 / len(orders) for order in orders}


def _plackett_luce(score: Mapping[str, float], temperature: float) -> dict[Ranking, float]:
    top = max(score.values())
    strength = {item: math.exp((s - top) / temperature) for item, s in score.items()}
    policy = {}
    for order in permutations(score):
        chance = 1.0
        for k, item in enumerate(order):
            chance *= strength[item] / fsum(strength[other] for other in order[k:])
        policy[order] = chance
    return policy


def uniform(candidates: Mapping[str, Iterable[str]], length: Mapping[str, int] | None = None) -> Policy:
    """Every ranking of the candidates alike. `length` spares the enumeration what would be cut anyway."""
    policy = {}
    for query, items in candidates.items():
        items = sorted(set(items))
        orders = list(permutations(items, min(len(items), length[query] if length else len(items))))
        policy[query] = {order: 1 / len(orders) for order in orders}
    return policy


def default_candidates(rows: Sequence[Row], target: Policy | str) -> dict[str, set[str]]:
    """The items logged for the query, or shown by the target, before anything is cut."""
    found: dict[str, set[str]] = defaultdict(set)
    for row in rows:
        found[row["query"]].update(row["items"])
    if not isinstance(target, str):
        for query in found:
            for ranking, chance in target.get(query, {}).items():
                if chance > 0:
                    found[query].update(ranking)
    return dict(found)


def log_shares(rows: Sequence[Row]) -> Policy:
    """The share of each list among its query's impressions."""
    count: dict[str, dict[Ranking, float]] = defaultdict(lambda: defaultdict(float))
    for row in rows:
        count[row["query"]][tuple(row["items"])] += row.get("impressions", 1)
    return {q: {r: c / fsum(of.values()) for r, c in of.items()} for q, of in count.items()}


def mixture(parts: Iterable[tuple[float, Policy]]) -> Policy:
    """Σ share · policy, on the queries that all of them have."""
    parts = list(parts)
    policy: Policy = {}
    for query in set.intersection(*(set(p) for _, p in parts)):
        mixed: dict[Ranking, float] = defaultdict(float)
        for share, part in parts:
            for ranking, chance in part[query].items():
                mixed[ranking] += share * chance
        policy[query] = dict(mixed)
    return policy


def cut(rankings: Mapping[Ranking, float], length: int) -> dict[Ranking, float]:
    """Each ranking becomes its first items, equal ones merge."""
    chances: dict[Ranking, list[float]] = defaultdict(list)
    for ranking, chance in rankings.items():
        if chance > 0:
            chances[ranking[:length]].append(chance)
    return {ranking: fsum(each) for ranking, each in chances.items()}


def marginals(rankings: Mapping[Ranking, float]) -> dict[tuple[str, int], float]:
    """(item, position from 1) -> the chance that the item is shown there."""
    chances: dict[tuple[str, int], list[float]] = defaultdict(list)
    for ranking, chance in rankings.items():
        for k, item in enumerate(ranking, 1):
            chances[item, k].append(chance)
    return {at: fsum(each) for at, each in chances.items()}


# ---------------------------------------------------------------------------------------------------------------------
# The log and the question, cut and fixed


@dataclass
class Question:
    """All that does not depend on how often each row occurs."""

    rows: list[Row]  # of the target's queries, cut to K
    covered: float
    K: int
    theta: list[float]
    examination: list[float]
    clip: float
    metric: str
    target: dict[str, dict[Ranking, float]] | None  # cut; None: the logging policy itself
    lists: str | dict[str, dict[Ranking, float]]  # "log", "propensity", or a known policy, cut
    pairs: str | dict[str, dict[Ranking, float]]  # "log" or a known policy, cut

    def reward(self, row: Row) -> float:
        if self.metric == "reward":
            return row["reward"]
        return fsum(t * c for t, c in zip(self.theta, row["clicks"], strict=False))


def ask(
    rows: Sequence[Row],
    target: Policy | str,
    *,
    metric: str | None = None,
    top: int | None = None,
    weights: str | Sequence[float] = "clicks",
    examination: str | Sequence[float] = "reciprocal",
    clip: float | None = None,
    logging: str | Policy | None = None,
    candidates: Mapping[str, Iterable[str]] | None = None,
) -> Question:
    all_impressions = sum(row.get("impressions", 1) for row in rows)
    rows = [row for row in rows if isinstance(target, str) or row["query"] in target]
    if metric is None:
        metric = "reward" if "reward" in rows[0] else "clicks"
    if logging is None:
        logging = "propensity" if "propensity" in rows[0] else "log"
    K = top if top is not None else max(len(row["items"]) for row in rows)
    shortened = any(len(row["items"]) > K for row in rows)
    pool = candidates if candidates is not None else default_candidates(rows, target)
    rows = [
        {**row, "items": tuple(row["items"][:K]), "clicks": list(row["clicks"][:K]) if "clicks" in row else None}
        for row in rows
    ]
    length: dict[str, int] = defaultdict(int)
    for row in rows:
        length[row["query"]] = max(length[row["query"]], len(row["items"]))

    def fit(policy: Policy) -> Policy:
        return {query: cut(policy.get(query, {}), length[query]) for query in length}

    def everything() -> Policy:
        return uniform({query: pool[query] for query in length}, length)

    if target == "logging":
        h = None
    elif target == "uniform":
        h = everything()
    else:
        h = fit(target)
    if logging == "uniform":
        lists = pairs = everything()
    elif logging == "log":
        lists = pairs = "log"
    elif logging == "propensity":
        lists, pairs = ("log" if shortened else "propensity"), "log"
    else:
        lists = pairs = fit(logging)
    if weights == "clicks":
        theta = [1.0] * K
    elif weights == "dcg":
        theta = [1 / math.log2(1 + k) for k in range(1, K + 1)]
    else:
        theta = list(weights)[:K]
    look = [1 / k for k in range(1, K + 1)] if examination == "reciprocal" else list(examination)[:K]
    covered = sum(row.get("impressions", 1) for row in rows) / all_impressions
    limit = math.inf if clip is None else clip
    return Question(rows, covered, K, theta, look, limit, metric, h, lists, pairs)


# ---------------------------------------------------------------------------------------------------------------------
# The estimators, as functions of how often each row occurs (real numbers, so that they can be differentiated)


def ratio(h: float, pi: float) -> float:
    return h / pi if pi > 0 else 0.0


def multiplicities(question: Question) -> list[float]:
    return [float(row.get("impressions", 1)) for row in question.rows]


def _shares(question: Question, m: Sequence[float]) -> dict[str, dict[Ranking, float]]:
    counts: dict[str, dict[Ranking, list[float]]] = defaultdict(lambda: defaultdict(list))
    for row, times in zip(question.rows, m, strict=True):
        if times > 0:
            counts[row["query"]][row["items"]].append(times)
    result = {}
    for query, of in counts.items():
        total = fsum(times for each in of.values() for times in each)
        result[query] = {ranking: fsum(each) / total for ranking, each in of.items()}
    return result


def _list_weights(question: Question, m: Sequence[float]) -> list[float]:
    """The raw weight of each row."""
    if question.target is None:
        return [1.0 for _ in question.rows]
    if question.lists == "propensity":
        return [ratio(question.target[row["query"]].get(row["items"], 0.0), row["propensity"]) for row in question.rows]
    pi = _shares(question, m) if question.lists == "log" else question.lists
    return [
        ratio(question.target[row["query"]].get(row["items"], 0.0), pi.get(row["query"], {}).get(row["items"], 0.0))
        for row in question.rows
    ]


def _position_importance(question: Question, estimator: str) -> list[float]:
    """θ for `item`, θ∘p for `pbm`."""
    if estimator == "item":
        return question.theta
    return [t * p for t, p in zip(question.theta, question.examination, strict=True)]


def _exposure(chance: Mapping[tuple[str, int], float], importance: Sequence[float]) -> dict[str, float]:
    """item -> Σ_k importance_k · chance(item, k)."""
    parts: dict[str, list[float]] = defaultdict(list)
    for (item, k), p in chance.items():
        parts[item].append(importance[k - 1] * p)
    return {item: fsum(each) for item, each in parts.items()}


def _pair_tables(question: Question, m: Sequence[float]) -> tuple[dict, dict]:
    """query -> (item, position) -> chance, of the target and of the logging policy."""
    pi = _shares(question, m) if question.pairs == "log" else question.pairs
    h = question.target
    return {q: marginals(h[q]) for q in h}, {q: marginals(pi.get(q, {})) for q in h}


def _position_weights(question: Question, m: Sequence[float], estimator: str) -> list[list[float]]:
    """The raw weight of each row's positions."""
    if question.target is None:
        return [[1.0] * len(row["items"]) for row in question.rows]
    h, pi = _pair_tables(question, m)
    result = []
    if estimator in ("ip", "wip"):
        for row in question.rows:
            of_h, of_pi = h[row["query"]], pi[row["query"]]
            result.append([ratio(of_h.get((a, k), 0.0), of_pi.get((a, k), 0.0)) for k, a in enumerate(row["items"], 1)])
        return result
    importance = _position_importance(question, estimator)
    up = {q: _exposure(h[q], importance) for q in h}
    down = {q: _exposure(pi[q], importance) for q in pi}
    for row in question.rows:
        of_h, of_pi = up[row["query"]], down[row["query"]]
        result.append([ratio(of_h.get(a, 0.0), of_pi.get(a, 0.0)) for a in row["items"]])
    return result


def _unsupported(question: Question, m: Sequence[float], estimator: str) -> dict[str, float]:
    """query -> the target's mass where the logging policy has none."""
    if question.target is None or estimator == "rctr":
        return {row["query"]: 0.0 for row in question.rows}
    h = question.target
    if estimator in ("list", "wlist"):
        pi = _shares(question, m) if question.lists in ("log", "propensity") else question.lists
        return {q: 1 - fsum(p for r, p in h[q].items() if pi.get(q, {}).get(r, 0.0) > 0) for q in h}
    of_h, of_pi = _pair_tables(question, m)
    if estimator in ("ip", "wip"):
        return {q: fsum(p for at, p in of_h[q].items() if of_pi[q].get(at, 0.0) == 0) / question.K for q in h}
    importance = _position_importance(question, estimator)
    result = {}
    for q in h:
        up, down = _exposure(of_h[q], importance), _exposure(of_pi[q], importance)
        result[q] = fsum(mass for a, mass in up.items() if down.get(a, 0.0) == 0) / fsum(importance)
    return result


def _mean(values: Sequence[float], m: Sequence[float]) -> float:
    return fsum(v * times for v, times in zip(values, m, strict=True)) / fsum(m)


def _effective(weights: Sequence[float], m: Sequence[float]) -> float | None:
    squares = fsum(w * w * times for w, times in zip(weights, m, strict=True))
    return fsum(w * times for w, times in zip(weights, m, strict=True)) ** 2 / squares if squares > 0 else None


def answer(question: Question, m: Sequence[float], estimator: str) -> dict[str, float | None]:
    """value, clipped, unsupported and effective_sample_size when row i occurs m[i] times."""
    rows, clip = question.rows, question.clip
    rewards = [question.reward(row) for row in rows]
    missing = _unsupported(question, m, estimator)
    unsupported = _mean([missing[row["query"]] for row in rows], m)
    if estimator == "rctr":
        ones = [1.0] * len(rows)
        return _as_dict(_mean(rewards, m), 0.0, unsupported, _effective(ones, m))
    if estimator in ("list", "wlist"):
        raw = _list_weights(question, m)
        w = [min(x, clip) for x in raw]
        clipped = _mean([float(x > clip) for x in raw], m)
        value: float | None = _mean([x * f for x, f in zip(w, rewards, strict=True)], m)
        if estimator == "wlist":
            mean_weight = _mean(w, m)
            value = value / mean_weight if mean_weight > 0 else None
        return _as_dict(value, clipped, unsupported, _effective(w, m))

    table_of_raw = _position_weights(question, m, estimator)
    table_of_w = [[min(x, clip) for x in raw] for raw in table_of_raw]
    pairs = fsum(times * len(raw) for raw, times in zip(table_of_raw, m, strict=True))
    beyond = fsum(times * sum(x > clip for x in raw) for raw, times in zip(table_of_raw, m, strict=True))
    per_row = [fsum(w) / len(w) for w in table_of_w]
    if estimator == "wip":
        value = _self_normalised(question, m, table_of_w)
    else:
        gains = []
        for row, w in zip(rows, table_of_w, strict=True):
            terms = []
            for k, (click, weight) in enumerate(zip(row["clicks"], w, strict=True)):
                if estimator == "pbm" and question.examination[k] == 0:
                    continue  # a position of examination 0 adds 0
                terms.append(question.theta[k] * click * weight)
            gains.append(fsum(terms))
        value = _mean(gains, m)
    return _as_dict(value, beyond / pairs, unsupported, _effective(per_row, m))


def _self_normalised(question: Question, m: Sequence[float], weights: Sequence[Sequence[float]]) -> float | None:
    n, parts = fsum(m), []
    for k in range(question.K):
        here = [
            (times, w[k], row["clicks"][k])
            for row, w, times in zip(question.rows, weights, m, strict=True)
            if len(w) > k and times > 0
        ]
        if not here or question.theta[k] == 0:
            continue
        total = fsum(times * w for times, w, _ in here)
        if total == 0:
            return None
        rate = fsum(times * w * click for times, w, click in here) / total
        parts.append(question.theta[k] * rate * fsum(times for times, _, _ in here) / n)
    return fsum(parts)


def _as_dict(value: float | None, clipped: float, unsupported: float, effective: float | None) -> dict:
    return {"value": value, "clipped": clipped, "unsupported": unsupported, "effective_sample_size": effective}


# ---------------------------------------------------------------------------------------------------------------------
# What tests call


def default_estimators(question: Question, estimators: Sequence[str] | None) -> Sequence[str]:
    if estimators is not None:
        return estimators
    return OF_A_REWARD if question.metric == "reward" else ESTIMATORS


def evaluate(
    rows: Sequence[Row], target: Policy | str, *, estimators: Sequence[str] | None = None, **options: Any
) -> dict[str, dict[str, float | None]]:
    """estimator -> value, clipped, unsupported, effective_sample_size."""
    question = ask(rows, target, **options)
    m = multiplicities(question)
    return {name: answer(question, m, name) for name in default_estimators(question, estimators)}


def per_query(
    rows: Sequence[Row], target: Policy | str, *, estimators: Sequence[str] | None = None, **options: Any
) -> dict[str, dict[str, float | None]]:
    """query -> estimator -> value over that query's impressions, with the K and the clip of the whole log."""
    question = ask(rows, target, **options)
    m = multiplicities(question)
    result: dict[str, dict[str, float | None]] = {}
    for query in dict.fromkeys(row["query"] for row in question.rows):
        only = [times if row["query"] == query else 0.0 for row, times in zip(question.rows, m, strict=True)]
        names = default_estimators(question, estimators)
        result[query] = {name: answer(question, only, name)["value"] for name in names}
    return result


def standard_error(
    rows: Sequence[Row], target: Policy | str, *, estimators: Sequence[str] | None = None, **options: Any
) -> dict[str, float | None]:
    """The infinitesimal jackknife: ψ_i = n · ∂V/∂m_i, stderr = √(Σ m_i ψ_i² / (n (n − 1))).

    Shares counted from the log move with m; a logging policy given by the user does not.
    """
    question = ask(rows, target, **options)
    m = multiplicities(question)
    n = fsum(m)
    result: dict[str, float | None] = {}
    for name in default_estimators(question, estimators):
        if n <= 1 or answer(question, m, name)["value"] is None:
            result[name] = None
            continue
        squares = []
        for i, times in enumerate(m):
            step = 1e-4 * times
            up, down = (answer(question, [*m[:i], times + s, *m[i + 1 :]], name)["value"] for s in (step, -step))
            squares.append(times * (n * (up - down) / (2 * step)) ** 2)
        result[name] = math.sqrt(fsum(squares) / (n * (n - 1)))
    return result
