"""Tiny worlds where every ranking can be listed: the oracle for every kind of policy."""

from __future__ import annotations

from collections.abc import Callable
from itertools import permutations

import numpy as np
import pyarrow as pa

from counterrank.ids import Ids
from counterrank.policy import (
    BoundPolicy,
    LoggedShares,
    Mixture,
    PlackettLuce,
    Scores,
    Slots,
    Table,
    Uniform,
)
from counterrank.statistics.pairs import Pairs

HOSTILE = ["'; DROP TABLE x; --", '"', "<script>alert(1)</script>", "00123", "naïve 😀\nline"]
ITEMS = {
    "q1": ["a", "b", "c", "d"],
    "00123": HOSTILE[:4],
    "7": ["7"],
    "o'quote": ["a", HOSTILE[4], "3"],
    "only in the log": ["a", "z"],
}
MISSING = "only in the log"


def make_pairs(items: dict[str, list[str]] = ITEMS, length: int = 4, positions: int = 4) -> Pairs:
    """A run over these queries; codes are in no particular order."""
    names = sorted({item for of in items.values() for item in of}, key=lambda name: (len(name), name), reverse=True)
    query_ids, item_ids = Ids(pa.array(list(items))), Ids(pa.array(names))
    queries = np.repeat(np.arange(len(items)), [len(of) for of in items.values()])
    flat = item_ids.codes(pa.array([item for of in items.values() for item in of]))
    longest = np.array([min(length, len(of)) for of in items.values()])
    return Pairs.build(query_ids, item_ids, queries, flat, longest, positions)


def every_ranking(pairs: Pairs, query: int) -> np.ndarray:
    """All rankings of all lengths of one query's pairs, padded with -1."""
    rows = range(int(pairs.starts[query]), int(pairs.starts[query + 1]))
    found = [r for n in range(pairs.positions + 1) for r in permutations(rows, n)]
    return np.array([list(r) + [-1] * (pairs.positions - len(r)) for r in found], dtype=np.int64)


def marginals_by_hand(bound: BoundPolicy) -> np.ndarray:
    """Sum over all rankings of their probabilities."""
    out = np.zeros((len(bound.pairs), bound.pairs.positions))
    for query in range(len(bound.pairs.query_ids)):
        rankings = every_ranking(bound.pairs, query)
        chances = bound.probability(np.full(len(rankings), query), rankings)
        for ranking, chance in zip(rankings, chances, strict=True):
            for k, row in enumerate(ranking[ranking >= 0]):
                out[row, k] += chance
    return out


HAD = {query: of for query, of in ITEMS.items() if query != MISSING}
_flat = [(query, item) for query, of in HAD.items() for item in of]
_scores = np.random.default_rng(1).normal(size=len(_flat)).round(1)
_tied = (np.arange(len(_flat)) % 2).astype(float)


def scores(values: np.ndarray = _scores) -> Scores:
    return Scores([q for q, _ in _flat], [i for _, i in _flat], values)


def table() -> Table:
    """Several rankings per query, of several lengths, one of them twice and one with probability 0."""
    queries, rankings, chances = [], [], []
    for query, of in HAD.items():
        if len(of) == 1:
            queries, rankings, chances = [*queries, query], [*rankings, of], [*chances, 1.0]
            continue
        queries += [query] * 5
        rankings += [of, of[::-1], of[:2], of, of[1:]]
        chances += [0.25, 0.25, 0.3, 0.2, 0.0]
    return Table(queries, rankings, chances)


def slots() -> Slots:
    """Slots of several sizes, with unequal chances, one of them 0."""
    rows: list[tuple[str, int, str, float]] = []
    for query, of in HAD.items():
        for k, some in enumerate([of] if len(of) == 1 else [of[:2], of[2:]]):
            chances = [1.0] if len(some) == 1 else [0.3, 0.7] if k == 0 else [1.0, 0.0]
            rows += [(query, k + 1, item, chance) for item, chance in zip(some, chances, strict=True)]
    return Slots(*(list(column) for column in zip(*rows, strict=True)))


THREE = {
    "q1": [["b"], ["a", "d"], ["c"]],
    "00123": [HOSTILE[1:4], HOSTILE[:1]],
    "7": [["7"]],
    "o'quote": [["3"], ["a"]],
}


def logged(pairs: Pairs) -> LoggedShares:
    """The table's rankings as counts of impressions, cut like the run."""
    bound = table().bind(pairs)
    queries, rankings = [], []
    for query in range(len(pairs.query_ids)):
        every = every_ranking(pairs, query)
        counts = np.rint(20 * bound.probability(np.full(len(every), query), every)).astype(int)
        queries += [query] * int(counts.sum())
        rankings += list(np.repeat(every, counts, axis=0))
    q, r = np.array(queries), np.array(rankings)
    shown = np.zeros((len(pairs), pairs.positions), dtype=np.int64)
    g, k = np.nonzero(r >= 0)
    np.add.at(shown, (r[g, k], k), 1)
    return LoggedShares(pairs, shown, np.bincount(q, minlength=len(pairs.query_ids)), q, r, np.ones(len(q), np.int64))


KINDS: dict[str, Callable[[Pairs], BoundPolicy]] = {
    "table": lambda pairs: table().bind(pairs),
    "scores": lambda pairs: scores().bind(pairs),
    "scores with ties": lambda pairs: scores(_tied).bind(pairs),
    "scores all tied": lambda pairs: scores(0 * _tied).bind(pairs),
    "plackett_luce": lambda pairs: PlackettLuce(scores(), 0.7).bind(pairs),
    "plackett_luce with ties": lambda pairs: PlackettLuce(scores(_tied), 2.0).bind(pairs),
    "plackett_luce steep": lambda pairs: PlackettLuce(scores(), 0.01).bind(pairs),
    "uniform": lambda pairs: Uniform().bind(pairs),
    "uniform on candidates": lambda pairs: Uniform({**HAD, "q1": ["a", "c", "d"], MISSING: ["z"]}).bind(pairs),
    "mixture with uniform": lambda pairs: Mixture(table(), 0.3).bind(pairs),
    "mixture of two": lambda pairs: Mixture(scores(), 0.6, PlackettLuce(scores(_tied), 1.0)).bind(pairs),
    "slots": lambda pairs: slots().bind(pairs),
    "slots of equal chances": lambda pairs: Slots.from_dict(THREE).bind(pairs),
    "uniform on slots": lambda pairs: Uniform({**THREE, MISSING: [["z"], ["a"]]}).bind(pairs),
    "mixture with slots": lambda pairs: Mixture(slots(), 0.3, scores(_tied)).bind(pairs),
    "logged": logged,
}
ANSWERS_ALL = {"uniform", "uniform on candidates", "uniform on slots"}
