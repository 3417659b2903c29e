"""`pi` and `wpi` by enumeration: Γ written out, `numpy.linalg.pinv`, sums over rows. Nothing from the package."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

Ranking = tuple[str, ...]
Policy = Mapping[str, Mapping[Ranking, float]]


def cut(rankings: Mapping[Ranking, float], length: int) -> dict[Ranking, float]:
    out: dict[Ranking, float] = defaultdict(float)
    for ranking, chance in rankings.items():
        out[ranking[:length]] += chance
    return dict(out)


def indicator(ranking: Sequence[str], items: list[str], length: int) -> np.ndarray:
    out = np.zeros((len(items), length))
    for k, item in enumerate(ranking):
        out[items.index(item), k] = 1
    return out.ravel()


def shares(rows: Sequence[dict[str, Any]]) -> dict[str, dict[Ranking, float]]:
    count: dict[str, dict[Ranking, float]] = defaultdict(lambda: defaultdict(float))
    for row in rows:
        count[row["query"]][tuple(row["items"])] += row.get("impressions", 1)
    return {q: {r: c / sum(of.values()) for r, c in of.items()} for q, of in count.items()}


def reward(row: dict[str, Any]) -> float:
    return row["reward"] if "reward" in row else float(sum(row["clicks"]))


def answer(rows: Sequence[dict[str, Any]], target: Policy, logging: Policy | None = None) -> dict[str, Any]:
    """All numbers of `pi`, and `wpi`; `logging` None: shares of the log."""
    rows = [row for row in rows if row["query"] in target]
    length = {q: max(len(r["items"]) for r in rows if r["query"] == q) for q in {row["query"] for row in rows}}
    known = shares(rows) if logging is None else logging
    w, f, times, y, leverage, queries = [], [], [], [], [], []
    of_query: dict[str, dict[str, Any]] = {}
    for q, size in length.items():
        mu, h = cut(known[q], size), cut(target[q], size)
        mine = [row for row in rows if row["query"] == q]
        items = sorted({a for r in [*mu, *h, *(row["items"] for row in mine)] for a in r})
        gamma = sum(p * np.outer(x, x) for r, p in mu.items() for x in [indicator(r, items, size)])
        pinv = np.linalg.pinv(gamma, rcond=1e-12, hermitian=True)
        shown = sum(p * indicator(r, items, size) for r, p in h.items())
        n = sum(row.get("impressions", 1) for row in mine)
        theta = sum(row.get("impressions", 1) * reward(row) * indicator(row["items"], items, size) for row in mine) / n
        left = shown - gamma @ pinv @ shown
        m = len(items)
        pairs = gamma.reshape(m, size, m, size)
        least = [
            pairs[a, j, b, k] * m * (m - 1)
            for a in range(m) for b in range(m) for j in range(size) for k in range(size) if a != b and j != k
        ] or [pairs[a, j, a, j] * m for a in range(m) for j in range(size)]  # fmt: skip
        of_query[q] = {
            "n": n, "sigma2": shown @ pinv @ shown, "unsupported": left @ left / (shown @ shown), "kappa": min(least),
            "rho": max(abs(shown @ pinv @ indicator(r, items, size)) for r, p in mu.items() if p > 0),
        }  # fmt: skip
        for row in mine:
            x = indicator(row["items"], items, size)
            w.append(shown @ pinv @ x)
            f.append(reward(row))
            queries.append(q)
            times.append(row.get("impressions", 1))
            y.append(x @ pinv @ theta)
            leverage.append(x @ pinv @ x / n)
    w, f, t = np.array(w), np.array(f), np.array(times, dtype=float)
    n = t.sum()
    mean = {k: sum(of["n"] * of[k] for of in of_query.values()) / n for k in ("sigma2", "unsupported", "rho")}
    return {
        "pi": (w * f * t).sum() / n,
        "wpi": (w * f * t).sum() / (w * t).sum() if abs((w * t).sum()) > 1e-9 else None,
        "effective_sample_size": (w * t).sum() ** 2 / (w * w * t).sum() if (abs(w) > 1e-9).any() else None,
        "unsupported": mean["unsupported"], "sigma2": mean["sigma2"], "rho_bar": mean["rho"],
        "rho": max(of["rho"] for of in of_query.values()), "kappa": min(of["kappa"] for of in of_query.values()),
        "queries": queries, "rows": (w, f, t, np.array(y), np.array(leverage)),
    }  # fmt: skip
