"""The error of every method, averaged over queries, for each delta (or clip): one panel of a figure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field

import numpy as np

from counterrank.lab.cief2024.methods import (
    CLIPS,
    DELTAS,
    TIES,
    Logs,
    by_bound,
    by_ips,
    by_item_position,
    by_pseudoinverse,
    fitted,
)
from counterrank.lab.cief2024.pages import Floats, Integers
from counterrank.lab.cief2024.truth import Truth, evidence
from counterrank.records import dataclass

BOUNDED = ("bayes", "empirical-bayes", "hoeffding")
BASELINES = ("ips", "ip-ips", "pi")
NAMES = {
    "bayes": "Bayes, Beta(1, 1)",
    "empirical-bayes": "empirical Bayes",
    "hoeffding": "Hoeffding",
    "mle": "MLE",
    "ips": "IPS",
    "ip-ips": "item-position IPS",
    "pi": "PI",
}
Draw = Callable[[Truth, int, int, np.random.Generator], Integers]


@dataclass
class Sweep:
    """Errors V(A*) − V(Â) of each method, (X, R): by delta or clip, and run; X = 1 where neither matters."""

    errors: dict[str, Floats] = field(default_factory=dict)
    logged: float = 0.0  # the error of the lists that the log shows
    random: float = 0.0  # and of lists drawn at random
    best: float = 0.0  # the value of the best lists
    queries: int = 0

    def mean(self, name: str) -> Floats:
        return np.asarray(self.errors[name].mean(axis=1))

    def stderr(self, name: str) -> Floats:
        found = self.errors[name]
        return np.asarray(found.std(axis=1, ddof=1) / np.sqrt(found.shape[1]))

    def less(self, name: str, other: str, at: int = 0) -> tuple[Floats, Floats]:
        """How much larger the error is than another's, over the same logs, with its standard error.

        `at`: which delta or clip of the other, where it has several.
        """
        gap = self.errors[name] - self.errors[other][min(at, len(self.errors[other]) - 1)]
        return np.asarray(gap.mean(axis=1)), np.asarray(gap.std(axis=1, ddof=1) / np.sqrt(gap.shape[1]))

    def lowest(self, name: str) -> int:
        """Where the error is lowest."""
        return int(self.mean(name).argmin())


def by_model(truth: Truth, size: int, runs: int, rng: np.random.Generator) -> Integers:
    return truth.draw(size, runs, rng)


def sweep(
    truths: Sequence[Truth],
    *,
    size: int,
    runs: int,
    seed: int,
    model: str | None = None,
    draw: Draw = by_model,
    methods: Sequence[str] = (*BOUNDED, *BASELINES),
    deltas: Floats = DELTAS,
    grid: int = 10,
) -> Sweep:
    """Logs of `size` pages of every query, drawn `runs` times; each method's lists against the best ones.

    `model`: which click model the methods assume, where it is not that of the truth.
    """
    rng = np.random.default_rng(seed)
    out = Sweep(queries=len(truths))
    for truth in truths:
        pages = truth.pages
        seen = draw(truth, size, runs, rng)
        logs = Logs(pages, seen, evidence(model or truth.model, pages, seen), TIES * rng.random((runs, pages.items)))
        best = truth.best()
        for name in ("mle", *methods):
            error = best - np.stack([truth.value(each) for each in _chosen(logs, name, deltas, grid)])
            out.errors[name] = out.errors.get(name, np.zeros_like(error)) + error / len(truths)
        out.logged += (best - truth.logged()) / len(truths)
        out.random += (best - truth.random(rng)) / len(truths)
        out.best += best / len(truths)
    return out


def _chosen(logs: Logs, name: str, deltas: Floats, grid: int) -> list[Integers]:
    if name == "mle":
        return by_bound(logs, "mle", np.ones(1))
    if name == "ips":
        return [by_ips(logs, clip) for clip in CLIPS]
    if name == "ip-ips":
        return by_item_position(logs, CLIPS)
    if name == "pi":
        return [by_pseudoinverse(logs)]
    prior = fitted(logs, grid) if name == "empirical-bayes" else None
    return by_bound(logs, "bayes" if name == "empirical-bayes" else name, deltas, prior)
