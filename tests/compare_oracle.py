"""A slow, plain reading of the specification of `compare`: loops over rows, terms and rankings.

Nothing here is imported from the package. Policies and logs are those of `oracle`. The bound is eqs. 8, 21 to 25 and 41
to 43 of Oosterhuis and de Rijke (2021), "Robust Generalization and Safe Query-Specialization in Counterfactual Learning
to Rank".
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import fsum
from typing import Any

import oracle
from oracle import Policy, Row


@dataclass
class Case:
    """What is compared, cut and fixed."""

    rows: list[Row]  # of queries that both policies have, cut to K
    covered: float
    K: int
    weights: list[float]
    propensity: dict[tuple[str, str], float]  # (query, item) -> ρ
    target: Policy
    baseline: Policy

    def rank_weight(self, policy: Policy, query: str, item: str) -> float:
        """Σ_y π(y|q)·λ(rank(d|y)), eq. 21's and eq. 41's sum."""
        found = []
        for ranking, chance in policy[query].items():
            if item in ranking:
                rank = ranking.index(item) + 1
                found.append(chance * (self.weights[rank - 1] if rank <= self.K else 0.0))
        return fsum(found)


def ask(
    rows: Sequence[Row],
    target: Policy | str,
    baseline: Policy | str,
    *,
    top: int | None = None,
    weights: str | Sequence[float] = "dcg",
    examination: str | Sequence[float] = "reciprocal",
    logging: Policy | str = "log",
    candidates: Mapping[str, Iterable[str]] | None = None,
) -> Case:
    every = sum(row.get("impressions", 1) for row in rows)
    for policy in (target, baseline):
        rows = [row for row in rows if isinstance(policy, str) or row["query"] in policy]
    covered = sum(row.get("impressions", 1) for row in rows) / every
    K = top if top is not None else max(len(row["items"]) for row in rows)
    pool: dict[str, set[str]] = defaultdict(set)
    for policy in (target, baseline):
        for query, items in oracle.default_candidates(rows, policy).items():
            pool[query] |= items
    if candidates is not None:
        pool = {query: set(items) for query, items in candidates.items()}
    rows = [{**row, "items": tuple(row["items"][:K]), "clicks": list(row["clicks"][:K])} for row in rows]
    length: dict[str, int] = defaultdict(int)
    for row in rows:
        length[row["query"]] = max(length[row["query"]], len(row["items"]))

    def made(policy: Policy | str) -> Policy:
        if policy == "logging":
            return made(logging)
        if policy in ("log", "propensity"):
            return oracle.log_shares(rows)
        if policy == "uniform":
            return oracle.uniform({query: pool[query] for query in length}, length)
        return {query: oracle.cut(policy.get(query, {}), length[query]) for query in length}

    lam = [1 / math.log2(1 + k) for k in range(1, K + 1)]
    if not isinstance(weights, str):
        lam = list(weights)[:K]
    elif weights == "clicks":
        lam = [1.0] * K
    look = [1 / k for k in range(1, K + 1)] if examination == "reciprocal" else list(examination)[:K]
    logged = made(logging)
    propensity: dict[tuple[str, str], float] = {}
    for query in length:
        chance = oracle.marginals(logged.get(query, {}))
        for item in {a for a, _ in chance}:
            propensity[query, item] = fsum(look[k - 1] * p for (a, k), p in chance.items() if a == item)
    return Case(rows, covered, K, lam, propensity, made(target), made(baseline))


def terms(case: Case, policies: Sequence[tuple[int, Policy]], rows: Sequence[Row]) -> list[float]:
    """R of every impression and each of its K positions: N·K numbers, most of them 0."""
    found = []
    for row in rows:
        query = row["query"]
        of_row = [0.0] * case.K
        for k, (item, click) in enumerate(zip(row["items"], row["clicks"], strict=True)):
            rho = case.propensity.get((query, item), 0.0)
            if click and rho > 0:
                worth = fsum(sign * case.rank_weight(policy, query, item) for sign, policy in policies)
                of_row[k] = worth / rho
        found += of_row * row.get("impressions", 1)
    return found


def half_width(case: Case, R: Sequence[float], rows: Sequence[Row], confidence: float) -> float | None:
    """CB of eqs. 23 and 24; None where a bound is not defined."""
    N, K = sum(row.get("impressions", 1) for row in rows), case.K
    if sum(sum(row["clicks"]) * row.get("impressions", 1) for row in rows) < 2:
        return None
    seen = [case.propensity.get((row["query"], item), 0.0) for row in rows for item in row["items"]]
    seen = [rho for rho in seen if rho > 0]
    if not seen:
        return None
    b = max(case.weights) / min(seen)
    delta = fsum(R) / N
    assert len(R) == N * K
    nu = 2 * N * K * math.log(2 / (1 - confidence)) / (N * K - 1) * fsum((K * r - delta) ** 2 for r in R)
    return 7 * K * b * math.log(2 / (1 - confidence)) / (3 * (N * K - 1)) + math.sqrt(nu) / (N * K)


def bound(case: Case, policies: Sequence[tuple[int, Policy]], rows: Sequence[Row], confidence: float) -> dict[str, Any]:
    R = terms(case, policies, rows)
    N = sum(row.get("impressions", 1) for row in rows)
    value, half = fsum(R) / N, half_width(case, R, rows, confidence)
    ends = {"lower": None, "upper": None} if half is None else {"lower": value - half, "upper": value + half}
    return {"value": value, **ends}


def verdict(lower: float | None, upper: float | None) -> str:
    if lower is None or upper is None:
        return "undecided"
    return "target" if lower > 0 else "baseline" if upper < 0 else "undecided"


def unsupported(case: Case, policy: Policy) -> float:
    """The share of the rank weights that falls on items which the log never has looked at."""
    lost, times = [], []
    for row in case.rows:
        query = row["query"]
        items = {item for ranking in policy[query] for item in ranking}
        never = [item for item in items if case.propensity.get((query, item), 0.0) == 0]
        lost.append(fsum(case.rank_weight(policy, query, item) for item in never) * row.get("impressions", 1))
        times.append(row.get("impressions", 1))
    return fsum(lost) / fsum(case.weights) / fsum(times)


def compare(rows: Sequence[Row], target: Any, baseline: Any, confidence: float = 0.95, **options: Any) -> dict:
    case = ask(rows, target, baseline, **options)
    both = [(1, case.target), (-1, case.baseline)]
    found = bound(case, both, case.rows, confidence)
    per_query = {}
    for query in {row["query"] for row in case.rows}:
        own = [row for row in case.rows if row["query"] == query]
        per_query[query] = bound(case, both, own, confidence)
        per_query[query]["impressions"] = sum(row.get("impressions", 1) for row in own)
        per_query[query]["clicks"] = sum(sum(row["clicks"]) * row.get("impressions", 1) for row in own)
    return {
        "difference": found["value"],
        "lower": found["lower"],
        "upper": found["upper"],
        "verdict": verdict(found["lower"], found["upper"]),
        "covered": case.covered,
        "positions": case.K,
        "separate": {
            "target": bound(case, [(1, case.target)], case.rows, confidence),
            "baseline": bound(case, [(1, case.baseline)], case.rows, confidence),
        },
        "unsupported": {
            "target": unsupported(case, case.target),
            "baseline": unsupported(case, case.baseline),
        },
        "per_query": per_query,
    }


def decides(case: Case, times: float, confidence: float) -> bool:
    """Whether the bound would decide if the log were `times` as long, all else in proportion."""
    R = terms(case, [(1, case.target), (-1, case.baseline)], case.rows)
    n, K = sum(row.get("impressions", 1) for row in case.rows), case.K
    seen = [case.propensity.get((row["query"], item), 0.0) for row in case.rows for item in row["items"]]
    b = max(case.weights) / min(rho for rho in seen if rho > 0)
    delta, N = fsum(R) / n, n * times
    log = math.log(2 / (1 - confidence))
    nu = 2 * N * K * log / (N * K - 1) * times * fsum((K * r - delta) ** 2 for r in R)
    return 7 * K * b * log / (3 * (N * K - 1)) + math.sqrt(nu) / (N * K) < abs(delta)
