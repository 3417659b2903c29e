"""Tiny worlds where every ranking can be listed: the oracle for every kind of policy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from counterrank.checks.policy import every_ranking
from counterrank.ids import Ids
from counterrank.log.features import read_features
from counterrank.policy import (
    Choice,
    GenSpec,
    LightGBM,
    Linear,
    LoggedShares,
    Mixture,
    PlackettLuce,
    Policy,
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


FEATURES = {
    "query": [q for q, _ in _flat],
    "item": [i for _, i in _flat],
    "length": [float(len(i)) for _, i in _flat],
    "other": _scores.tolist(),
}
LINEAR = Linear(["other", "length"], [1.0, -0.5], [0.1, 2.0], [2.0, 3.0])
TREES = """tree
version=v4
num_class=1
num_tree_per_iteration=1
max_feature_idx=1
objective=lambdarank
feature_names=other length

Tree=0
num_leaves=3
num_cat=0
split_feature=0 1
threshold=0.25 1.0000000180025095e-35
decision_type=2 2
left_child=1 -1
right_child=-2 -3
leaf_value=0.5 1.5 -0.25
is_linear=0
shrinkage=1

Tree=1
num_leaves=1
num_cat=0
leaf_value=0.125
is_linear=0
shrinkage=1

end of trees
"""


def gate(acts: dict[str, str]) -> pa.Table:
    """A gate's table with these decisions."""
    size = len(acts)
    numbers = {name: [0.5] * size for name in ("difference", "lower", "upper")}
    counts = {"impressions": list(range(size)), "clicks": [1] * size}
    return pa.table(
        {"query": list(acts), **counts, **numbers, "acts": list(acts.values()), "reason": ["as it is"] * size}
    )


def few_features() -> dict[str, list[Any]]:
    """Those of all queries but one."""
    some = [row for row, (query, _) in enumerate(_flat) if query != "7"]
    return {name: [column[row] for row in some] for name, column in FEATURES.items()}


def genspec(**more: Any) -> GenSpec:
    """Special for one query, the general policy for one, and the logging policy where that has no ranking."""
    acts = {"q1": "special", "00123": "general", "o'quote": "posterior"}
    special = {"query": ["q1", "q1", "o'quote"], "item": ["d", "b", "3"], "score": [1.0, 1.0, 0.5]}
    general = Linear(LINEAR.features, LINEAR.weights, given=few_features())
    return GenSpec(gate(acts), pa.table(special), general=general, logging=table(), **more)


MADE: dict[str, Policy] = {
    "table": table(),
    "scores": scores(),
    "scores with ties": scores(_tied),
    "scores all tied": scores(0 * _tied),
    "plackett_luce": PlackettLuce(scores(), 0.7),
    "plackett_luce with ties": PlackettLuce(scores(_tied), 2.0),
    "plackett_luce steep": PlackettLuce(scores(), 0.01),
    "uniform": Uniform(),
    "uniform on candidates": Uniform({**HAD, "q1": ["a", "c", "d"], MISSING: ["z"]}),
    "mixture with uniform": Mixture(table(), 0.3),
    "mixture of two": Mixture(scores(), 0.6, PlackettLuce(scores(_tied), 1.0)),
    "slots": slots(),
    "slots of equal chances": Slots.from_dict(THREE),
    "uniform on slots": Uniform({**THREE, MISSING: [["z"], ["a"]]}),
    "mixture with slots": Mixture(slots(), 0.3, scores(_tied)),
    "linear": LINEAR.scoring(read_features(FEATURES)),
    "lightgbm": LightGBM(TREES, given=FEATURES),
    "choice": Choice(
        {"a": table(), "b": PlackettLuce(scores(), 0.7), "c": slots()},
        {"q1": "b", "7": "c", "never asked": "b"},
        ["a"],
    ),
    "choice for every query": Choice({"a": table(), "b": Uniform()}, {"q1": "a", "7": "b"}, ["b"]),
    "genspec": genspec(),
}
