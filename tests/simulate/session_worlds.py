"""A small world of documents, and a trace replayed by hand."""

from __future__ import annotations

from typing import Any

import numpy as np

CURVE = 1 / np.log2(np.arange(2, 7))


def documents(queries: int = 25, size: int = 14, seed: int = 0) -> dict[str, list[Any]]:
    """Documents whose first feature tells something of their grade; the second lacks values."""
    rng = np.random.default_rng(seed)
    grade = rng.choice([0, 0, 0, 1, 2], queries * size)
    noise = rng.random(queries * size)
    return {
        "query": [f"q{i // size}" for i in range(queries * size)],
        "item": [f"d{i}" for i in range(queries * size)],
        "x": (grade + rng.normal(size=queries * size)).tolist(),
        "y": [None if v < 0.1 else float(v) for v in noise],
        "grade": grade.tolist(),
    }


class Replay:
    """What a trace says happened, counted anew: impressions and clicks by (query, item, place)."""

    def __init__(self, table: dict[str, list[Any]], curve: np.ndarray = CURVE) -> None:
        self.curve = curve
        top = 2.0 ** max(table["grade"]) - 1
        self.relevance = {
            (q, i): 0.1 + 0.9 * (2.0**y - 1) / top
            for q, i, y in zip(table["query"], table["item"], table["grade"], strict=True)
        }
        self.shown: dict[tuple[str, str], np.ndarray] = {}
        self.clicked: dict[tuple[str, str], np.ndarray] = {}

    def sums(self, query: str, item: str) -> tuple[float, float, float, float]:
        """n, clicks, C and E."""
        shown = self.shown.get((query, item), np.zeros(len(self.curve)))
        clicked = self.clicked.get((query, item), np.zeros(len(self.curve)))
        return shown.sum(), clicked.sum(), (clicked / self.curve).sum(), (shown * self.curve).sum()

    def count(self, row: dict[str, Any]) -> None:
        for k, (item, click) in enumerate(zip(row["items"], row["clicks"], strict=True)):
            key = (row["query"], item)
            self.shown.setdefault(key, np.zeros(len(self.curve)))[k] += 1
            self.clicked.setdefault(key, np.zeros(len(self.curve)))[k] += click

    def ndcg(self, row: dict[str, Any]) -> float:
        every = sorted((r for (q, _), r in self.relevance.items() if q == row["query"]), reverse=True)
        ideal = sum(r * w for r, w in zip(every, self.curve, strict=False))
        return sum(self.relevance[row["query"], i] * w for i, w in zip(row["items"], self.curve, strict=False)) / ideal
