"""GENSPEC row by row: every permutation, every page, every term. Independent of the product, and slow."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from typing import Any

import numpy as np

Row = dict[str, Any]


def dcg(k: int) -> float:
    return 1 / math.log2(2 + k)


class SlowLearn:
    """The gate of special policies (tabular) against `general` where it is active, else against logging."""

    def __init__(self, train: list[Row], selection: list[Row], general: dict[str, list[str]] | None = None) -> None:
        self.train, self.selection, self.rows = train, selection, train + selection
        self.general = general or {}
        self.k = max(len(row["items"]) for row in self.rows)
        self.queries = sorted({row["query"] for row in self.rows})
        self.items = {q: sorted({i for r in self.of(self.rows, q) for i in r["items"]}) for q in self.queries}
        self.length = {q: max(len(r["items"]) for r in self.of(self.rows, q)) for q in self.queries}

    @staticmethod
    def of(rows: list[Row], query: str) -> list[Row]:
        return [row for row in rows if row["query"] == query]

    def propensity(self, query: str, item: str) -> float:
        rows = self.of(self.rows, query)
        looked = sum(1 / (1 + row["items"].index(item)) for row in rows if item in row["items"])
        return looked / len(rows)

    def logged(self, query: str) -> dict[str, float]:
        rows, out = self.of(self.rows, query), defaultdict(float)
        for row in rows:
            for place, item in enumerate(row["items"]):
                out[item] += dcg(place) / len(rows)
        return out

    def special(self, query: str, rows: list[Row]) -> dict[str, float]:
        score = dict.fromkeys(self.items[query], 0.0)
        for row in self.of(rows, query):
            for item, click in zip(row["items"], row["clicks"], strict=True):
                score[item] += click / self.propensity(query, item)
        valid = [
            order
            for order in itertools.permutations(self.items[query])
            if all(score[a] >= score[b] - 1e-9 for a, b in itertools.pairwise(order))
        ]
        out: dict[str, float] = defaultdict(float)
        for order in valid:
            for place, item in enumerate(order[: self.length[query]]):
                out[item] += dcg(place) / len(valid)
        return out

    def ranked(self, query: str) -> dict[str, float]:
        if query not in self.general:
            return self.logged(query)
        return {item: dcg(k) for k, item in enumerate(self.general[query][: self.length[query]])}

    def worth(self, query: str, one: dict[str, float], other: dict[str, float]) -> dict[str, float]:
        return {
            item: (one.get(item, 0.0) - other.get(item, 0.0)) / self.propensity(query, item)
            for item in self.items[query]
        }

    def terms(self, query: str, worth: dict[str, float]) -> list[list[float]]:
        """R of each shown item of each impression of the selection part."""
        return [
            [worth[item] * click for item, click in zip(row["items"], row["clicks"], strict=True)]
            for row in self.of(self.selection, query)
        ]

    def bernstein(self, terms: list[list[float]], b: float, confidence: float) -> tuple[float, float]:
        flat = [self.k * r for page in terms for r in [*page, *[0.0] * (self.k - len(page))]]
        size, log = len(flat), math.log(2 / (1 - confidence))
        value = sum(flat) / size
        nu = 2 * size * log / (size - 1) * sum((x - value) ** 2 for x in flat)
        return value, 7 * self.k * b * log / (3 * (size - 1)) + math.sqrt(nu) / size

    def least(self, query: str, worth: dict[str, float]) -> float:
        pages = itertools.combinations(self.items[query], min(self.length[query], len(self.items[query])))
        return min(sum(min(worth[item], 0.0) for item in page) for page in pages)

    def b(self, query: str) -> float:
        return 1 / min(self.propensity(query, item) for item in self.items[query])


def bet(terms: list[float], sizes: list[float], least: float, confidence: float, tiny: float) -> float:
    """The lower bound by the mixture of bets, by halving: capital Π(1 + λ(T − m·n))."""
    from counterrank.interval.mixture import BETS, WEIGHTS

    used = tiny <= BETS
    y, n = np.array(terms) - least * np.array(sizes), np.array(sizes)
    bets = BETS[used] / n.max()

    def capital(t: float) -> float:
        logs = WEIGHTS[used] + np.log1p(bets * (y / t - n)[:, None]).sum(axis=0)
        return float(np.logaddexp.reduce(logs))

    low, high = 0.0, float(y.sum() / n.sum())
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if capital(middle) >= -math.log((1 - confidence) / 2) else (low, middle)
    return low + least
