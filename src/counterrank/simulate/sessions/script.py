"""What happens in one trial whoever ranks: the split, who asks what when, which documents arrive, and the users' luck.

All of it is drawn by number from one key, so that every ranker meets the same queries, arrivals and moods, and a run
that was stopped goes on as if it had not been.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from counterrank.compiled import njit
from counterrank.simulate.sessions.corpus import Corpus
from counterrank.statistics.hashing import mix, uniform

PARTS = ("train", "validation", "test")
SPLIT, ORDER, START, ASKED, ARRIVES, USER, RANKER = range(1, 8)  # what a key is drawn for


class Plan(NamedTuple):
    """The settings of a script."""

    sessions: int
    arrival: float = 1.0
    start: tuple[int, int] = (5, 10)
    split: tuple[float, float, float] = (0.6, 0.2, 0.2)


class Script(NamedTuple):
    """One trial. Documents are in the order of arrival: row r of the script is row `document[r]` of the corpus."""

    key: Any  # of the users' clicks
    ranker_key: Any  # of what rankers draw
    part: NDArray[np.int8]  # (Q,)
    document: NDArray[np.int64]  # (P,)
    start: NDArray[np.int64]  # (Q,) documents there at the beginning
    query: NDArray[np.int64]  # (T,) who is asked
    arrives: NDArray[np.bool_]  # (T,) whether a document comes then
    candidates: NDArray[np.int64]  # (T,) how many there are once it has come


def script_of(corpus: Corpus, plan: Plan, seed: int, trial: int) -> Script:
    """The script of a trial: another seed or trial, another script."""
    root = key_of(key_of(seed, trial + 1), 0x5E55)
    keys = [np.uint64(key_of(root, what)) for what in range(8)]
    size = len(corpus.queries)
    place = np.empty(size, dtype=np.int64)
    place[np.argsort(_draws(keys[SPLIT], size), kind="stable")] = np.arange(size)
    edges = np.round(np.cumsum(plan.split[:2]) / sum(plan.split) * size)
    part = np.searchsorted(edges, place, side="right").astype(np.int8)
    owner = np.repeat(np.arange(size), corpus.sizes)
    document = np.lexsort((_draws(keys[ORDER], len(corpus.items)), owner))
    low, high = plan.start
    start = np.minimum(low + np.floor(_draws(keys[START], size) * (high - low + 1)).astype(np.int64), corpus.sizes)
    query = np.minimum((_draws(keys[ASKED], plan.sessions) * size).astype(np.int64), size - 1)
    arrives = _draws(keys[ARRIVES], plan.sessions) < plan.arrival
    candidates = np.empty(plan.sessions, dtype=np.int64)
    _grow(query, arrives, corpus.sizes, start.copy(), candidates)
    return Script(keys[USER], keys[RANKER], part, document, start, query, arrives, candidates)


def key_of(key: int, what: int) -> int:
    """Another key, for something of its own."""
    return int(_key(np.uint64(key), np.uint64(what)))


@njit()
def _key(key, what):  # type: ignore[no-untyped-def]
    return mix(key ^ mix(what))


def _draws(key: Any, count: int) -> NDArray[np.float64]:
    out = np.empty(count)
    _draw(key, out)
    return out


@njit()
def _draw(key, out):  # type: ignore[no-untyped-def]
    for i in range(len(out)):
        out[i] = uniform(key, i)


@njit()
def _grow(query, arrives, most, size, candidates):  # type: ignore[no-untyped-def]
    """Arrivals that really happen: none is left at some point."""
    for t in range(len(query)):
        q = query[t]
        arrives[t] = arrives[t] and size[q] < most[q]
        size[q] += arrives[t]
        candidates[t] = size[q]
