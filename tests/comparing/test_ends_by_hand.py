"""The ends of `compare` against a bet placed in plain Python, row by row."""

from __future__ import annotations

import math
from itertools import permutations

import numpy as np
import pyarrow as pa
import pytest

import counterrank as cr

PLACES, ITEMS = 2, 4
PAGES = list(permutations(range(ITEMS), PLACES))
LOGITS = [-16 + 0.5 * step for step in range(43)]
BETS = [1 / (1 + math.exp(-s)) for s in LOGITS]
SHARES = [math.exp(0.3 * min(s + 5.5, 0) - max(s - 1, 0)) for s in LOGITS]
CURVES = {"ip": None, "item": [1.0, 1.0], "pbm": [1.0, 0.5]}
Chances = dict[tuple[int, ...], float]


def bet(terms: np.ndarray, least: float, delta: float = 0.025) -> float:
    """The largest m whose mixture of capitals reaches 1/δ, by bisection."""
    low, high = least, float(terms.mean())
    for _ in range(60):
        m = (low + high) / 2
        logs = [
            np.log1p(u / (m - least) * (terms - m)).sum() + math.log(s / sum(SHARES))
            for u, s in zip(BETS, SHARES, strict=True)
        ]
        best = max(logs)
        reached = best + math.log(sum(math.exp(each - best) for each in logs)) >= -math.log(delta)
        low, high = (m, high) if reached else (low, m)
    return low


def luce(scores: np.ndarray) -> Chances:
    worth, out = np.exp(scores), {}
    for page in PAGES:
        left, chance = worth.sum(), 1.0
        for i in page:
            chance *= worth[i] / left
            left -= worth[i]
        out[page] = float(chance)
    return out


def marginals(policy: Chances) -> np.ndarray:
    table = np.zeros((ITEMS, PLACES))
    for page, chance in policy.items():
        table[page, range(PLACES)] += chance
    return table


def weights(name: str, policy: Chances, logging: Chances) -> tuple[np.ndarray, float]:
    """(items, places) weights of a click, and the share of the policy that the logging policy never shows."""
    own, logged, curve = marginals(policy), marginals(logging), CURVES[name]
    if curve is not None:
        own, logged = (np.repeat((each @ curve)[:, None], PLACES, 1) for each in (own, logged))
    seen = logged > 0
    return np.divide(own, logged, out=np.zeros_like(own), where=seen), float(own[~seen].sum() / own.sum())


def as_table(policies: list[Chances]) -> cr.policy.Policy:
    rows = [(f"q{q}", page, chance) for q, policy in enumerate(policies) for page, chance in policy.items() if chance]
    queries, pages, chances = zip(*rows, strict=True)
    items = [[f"i{i}" for i in page] for page in pages]
    return cr.read_policy(pa.table({"query": queries, "items": items, "probability": chances}))


def a_log(rng: np.random.Generator, logging: list[Chances], n: int) -> tuple[pa.Table, np.ndarray, np.ndarray, list]:
    query = rng.integers(0, len(logging), n)
    pages = [PAGES[rng.choice(len(PAGES), p=list(logging[q].values()))] for q in query]
    rates = rng.uniform(0.1, 0.6, (len(logging), ITEMS))
    clicks = (
        rng.random((n, PLACES)) < [rates[q, list(page)] / (1, 2) for q, page in zip(query, pages, strict=True)]
    ).astype(int)
    items = [[f"i{i}" for i in page] for page in pages]
    return (
        pa.table({"query": [f"q{q}" for q in query], "items": items, "clicks": clicks.tolist()}),
        query,
        clicks,
        pages,
    )


@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize("name", CURVES)
@pytest.mark.parametrize("baseline", ["logging", "reversed"])
def test_ends_are_those_of_a_bet(name: str, known: bool, baseline: str) -> None:
    """Terms can be as low as weights and policies let them be: an item that this log never shows at a place counts."""
    rng = np.random.default_rng([1, len(name), known, len(baseline)])
    scores = 2.0 * rng.standard_normal((2, ITEMS))
    logging, target = [luce(s) for s in scores], [luce(1.2 * s) for s in scores]
    log, query, clicks, pages = a_log(rng, logging, 80)
    other = logging if baseline == "logging" else [luce(-0.3 * s) for s in scores]
    if not known:
        shown = [[page for page, q in zip(pages, query, strict=True) if q == each] for each in (0, 1)]
        logging = [{page: own.count(page) / len(own) for page in PAGES} for own in shown]
        other = logging if baseline == "logging" else other
    given = {"logging": as_table(logging)} if known else {"logging": "log"}
    sides = as_table(target), "logging" if baseline == "logging" else as_table(other)
    if CURVES[name] is not None:
        given["examination"] = [1.0, 0.5]
    found = cr.compare(log, *sides, estimator=name, **given)
    ends = []
    for sign in (1, -1):  # lower: the baseline's unseen part is worth its seen one; upper: the target's
        least, terms = 0.0, np.zeros(len(query))
        for q in range(2):
            (one, lost), (two, gone) = (weights(name, each[q], logging[q]) for each in (target, other))
            if other is logging and (known or CURVES[name] is not None):
                two = np.ones_like(two)  # whatever the logging policy shows, it is that which logged
            table = sign * (one / (1 - lost * (sign < 0)) - two / (1 - gone * (sign > 0)))
            least = min(least, float(np.minimum(table.min(axis=0), 0).sum()))
            for i in np.flatnonzero(query == q):
                terms[i] = clicks[i] @ table[pages[i], range(PLACES)]
        ends.append(sign * bet(terms, least))
    assert found.interval == "betting"
    width = ends[1] - ends[0]
    assert ends[0] - 0.01 * width <= found.lower <= ends[0] + 1e-9
    assert ends[1] - 1e-9 <= found.upper <= ends[1] + 0.01 * width


def test_list_has_a_bet_where_policies_are_few_rankings_wide() -> None:
    rng = np.random.default_rng(5)
    scores = rng.standard_normal((2, ITEMS))
    log = a_log(rng, [luce(s) for s in scores], 300)[0]
    items = {"query": [f"q{q}" for q in range(2) for _ in range(ITEMS)], "item": [f"i{i}" for i in range(ITEMS)] * 2}
    policies = [
        cr.read_policy(pa.table({**items, "score": by * scores.ravel()}), temperature=1.0) for by in (1.0, 0.2, -0.2)
    ]
    found = cr.compare(log, policies[1], policies[2], estimator="list", logging=policies[0])
    assert found.interval == "betting"
    assert None not in (found.lower, found.upper)


@pytest.mark.parametrize("unseen", ["target", "baseline"])
def test_no_bound_where_the_log_shows_nothing_of_a_policy(unseen: str) -> None:
    rows = {"query": ["p", "q"] * 100, "items": [["a", "b"]] * 200, "clicks": [[1, 0], [0, 1]] * 100}
    seen = {"p": ["a", "b"], "q": ["a", "b"]}
    sides = {"target": seen, "baseline": seen, unseen: {"p": ["a", "b"], "q": ["b", "a"]}}
    found = cr.compare(rows, sides["target"], sides["baseline"], estimator="ip")
    assert (found.lower, found.upper, found.verdict, found.impressions_needed) == (None, None, "undecided", None)
    assert found.unsupported[unseen] == 0.5
    lower = found.per_query.column("lower").to_pylist()
    assert lower[0] is not None
    assert lower[1] is None
    assert not found.improves(-100)
