"""How lists are chosen from a log, many at once: by a bound on attraction, and by the baselines of section 8.2."""

from __future__ import annotations

import numpy as np

from counterrank.lab.cief2024.pages import PATTERNS, Floats, Integers, K, Pages
from counterrank.lab.cief2024.truth import Clicked, arrange
from counterrank.posterior import BOUNDS
from counterrank.posterior.likelihood import on_grid
from counterrank.posterior.priors import Groups
from counterrank.records import dataclass

DELTAS: Floats = np.asarray(np.arange(1, 21) * 0.05, dtype=np.float64)
CLIPS: Floats = np.array([1, 5, 10, 50, *range(100, 1600, 100), np.inf])  # drawn in the place of the deltas
GRID = 10  # powers of two from 1
TIES = 1e-12  # random, below any difference of two bounds that is one


@dataclass(frozen=True)
class Logs:
    """Drawn logs of one query, (R, L, 2^K), and what they say under a click model."""

    pages: Pages
    seen: Integers
    evidence: Clicked
    ties: Floats  # (R, P)

    @property
    def size(self) -> Floats:
        return np.asarray(self.seen.sum(axis=(-1, -2)), dtype=np.float64)


def by_bound(logs: Logs, bound: str, deltas: Floats, prior: tuple[Floats, Floats] | None = None) -> list[Integers]:
    """(R, K) for each delta: the best lists by lower bounds.

    What was never shown is no candidate; what has no bound ranks last.
    """
    found = logs.evidence
    shape = found.clicks.shape
    alpha, beta = (np.broadcast_to(part, shape).ravel() for part in prior or (np.ones(1), np.ones(1)))
    once, again = _distinct(found.clicks.ravel(), found.looks.ravel(), alpha, beta)
    clicks, looks, alpha, beta = (part[once] for part in (found.clicks.ravel(), found.looks.ravel(), alpha, beta))
    out = []
    for delta in deltas:
        lower = BOUNDS[bound].lower(clicks, looks, float(delta), alpha, beta)[again].reshape(shape)
        out.append(arrange(np.where(found.shown & ~np.isnan(lower), lower + logs.ties, -np.inf), found.position))
    return out


def _distinct(clicks: Floats, looks: Floats, alpha: Floats, beta: Floats) -> tuple[Integers, Integers]:
    """Which rows to bound, and which of those each row is: whole counts come again and again."""
    if (clicks != np.floor(clicks)).any() or looks.max(initial=0.0) >= 2**20:
        every = np.arange(len(clicks))
        return every, every
    powers = np.log2(alpha).astype(np.int64) * 32 + np.log2(beta).astype(np.int64)
    key = (clicks.astype(np.int64) * 2**20 + looks.astype(np.int64)) * 1024 + powers
    _, once, again = np.unique(key, return_index=True, return_inverse=True)
    return once, again


def fitted(logs: Logs, grid: int = GRID) -> tuple[Floats, Floats]:
    """Empirical Bayes: each log's most likely prior, (R, 1) each, with both numbers among 1, 2, …, 2^(grid − 1)."""
    found = logs.evidence
    runs, items = found.clicks.shape
    starts = np.arange(runs + 1) * items
    groups = Groups.of(found.clicks.ravel(), found.looks.ravel(), starts, shared=False)
    steps = np.asarray(2.0 ** np.arange(grid), dtype=np.float64)
    likelihood = on_grid(groups.hits, groups.misses, groups.count, groups.starts, steps).reshape(runs, -1)
    best = likelihood.argmax(axis=1)[:, None]
    return steps[best // grid], steps[best % grid]


def by_ips(logs: Logs, clip: float) -> Integers:
    """Eq. 10: the logged list with the most clicks, each list weighed by how rare it is."""
    shown = logs.seen.sum(axis=-1)
    clicks = (logs.seen @ PATTERNS).sum(axis=-1)
    value = np.minimum(clip, logs.size[:, None] / np.maximum(shown, 1)) * clicks
    return np.asarray(logs.pages.lists[value.argmax(axis=1)])


def by_item_position(logs: Logs, clips: Floats) -> list[Integers]:
    """Eq. 11 for each clip: the best assignment of items to positions (an item can stand at one place only)."""
    from scipy.optimize import linear_sum_assignment  # slow to import

    places = logs.pages.places
    shown = np.einsum("rl,lpk->rpk", logs.seen.sum(axis=-1), places)
    clicks = np.einsum("rlk,lpk->rpk", logs.seen @ PATTERNS, places)
    out = []
    for clip in clips:
        value = np.minimum(clip, logs.size[:, None, None] / np.maximum(shown, 1)) * clicks
        chosen = np.empty((len(value), K), dtype=np.int64)
        for run, each in enumerate(value):
            items, positions = linear_sum_assignment(each, maximize=True)
            chosen[run, positions] = items
        out.append(chosen)
    return out


def by_pseudoinverse(logs: Logs) -> Integers:
    """Eq. 12: weights of (item, position) from the clicks of whole lists; then the best item for each position."""
    places = logs.pages.places
    used = np.flatnonzero(places.reshape(len(places), -1).any(axis=0))
    lists = places.reshape(len(places), -1)[:, used]
    out = np.empty((len(logs.seen), K), dtype=np.int64)
    for run, seen in enumerate(logs.seen):
        shown = seen.sum(axis=1)
        there = shown > 0
        clicks = (seen @ PATTERNS).sum(axis=1)[there] / shown[there]
        root = np.sqrt(shown[there])
        weights = np.zeros(logs.pages.items * K)
        weights[used] = np.linalg.lstsq(lists[there] * root[:, None], clicks * root, rcond=1e-10)[0]
        table = weights.reshape(-1, K)
        table[~logs.evidence.shown[run]] = -np.inf
        for k in range(K):
            out[run, k] = table[:, k].argmax()
            table[out[run, k]] = -np.inf
    return out
