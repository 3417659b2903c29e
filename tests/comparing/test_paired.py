"""Comparisons by paired differences: values against two evaluations, standard errors against a jackknife."""

from __future__ import annotations

import math
import random
from math import fsum

import numpy as np
import pytest
from test_genspec import make_pair

import counterrank as cr
import oracle
import worlds
from counterrank.estimate import ESTIMATORS
from counterrank.setting.need import Need
from counterrank.simulate import make_world, simulate, truth
from seeds import seeds
from test_evaluate_oracle import a_larger_log, gathered

PAIRED = [name for name, estimator in ESTIMATORS.items() if Need.FEATURES not in estimator.needs]


def both_cut(pair) -> list[dict]:
    """The log's rows of queries that both policies have."""
    rows = pair.rows
    for policy in (pair.target, pair.baseline):
        rows = [row for row in rows if isinstance(policy, str) or row["query"] in policy]
    return rows


@pytest.mark.parametrize("seed", seeds(range(600, 640), 4))
def test_the_difference_is_that_of_two_evaluations(seed):
    pair = make_pair(seed)
    rng = random.Random(seed)
    log = cr.read_log(worlds.to_arrow(both_cut(pair), pair.integer_ids))
    clip = rng.choice([None, None, 0.613, 1.237])
    items: dict[str, list[str]] = {}
    for policy in (pair.target, pair.baseline):
        for query, found in oracle.default_candidates(both_cut(pair), policy).items():
            items.setdefault(query, []).extend(a for a in sorted(found) if a not in items.get(query, []))
    for name in PAIRED:
        limit = clip if ESTIMATORS[name].clips else None
        options = {**pair.options, "metric": "clicks", "candidates": items}
        found = cr.compare(log, *pair.mine, estimator=name, clip=limit, **options)
        alone = [cr.evaluate(log, side, estimators=name, clip=limit, **options)[name] for side in pair.mine]
        assert found.estimator == name
        for side, row in zip(("target", "baseline"), alone, strict=True):
            for field in ("value", "lower", "upper"):
                came, wanted = getattr(found.separate[side], field), getattr(row, field)
                assert came == (pytest.approx(wanted, rel=1e-9, abs=1e-9) if wanted is not None else None), name
            assert found.unsupported[side] == pytest.approx(row.unsupported, abs=1e-9)
        if any(row.value is None for row in alone):
            assert found.difference is None
            assert found.verdict == "undecided"
        else:
            assert found.difference == pytest.approx(alone[0].value - alone[1].value, rel=1e-9, abs=1e-9), name
            if found.lower is not None:
                assert found.stderr <= sum(row.stderr for row in alone) * 1.01 + 1e-6, name


@pytest.mark.parametrize("seed", seeds(range(640, 660), 3))
def test_a_policy_does_not_differ_from_itself(seed):
    pair = make_pair(seed)
    log = worlds.to_arrow(pair.rows, pair.integer_ids)
    for name in PAIRED:
        found = cr.compare(log, pair.mine[0], pair.mine[0], estimator=name, **pair.options, metric="clicks")
        assert found.difference in (0, None)
        assert found.stderr is None or found.stderr == pytest.approx(0, abs=1e-7), name
        assert found.impressions_needed is None


def jackknife(sides, name: str) -> float | None:
    """√(Σ m·ψ² / (n(n−1))) with ψ = n·∂(V₁ − V₂)/∂m, shares moving with the log."""
    m = oracle.multiplicities(sides[0])
    n = fsum(m)

    def value(times):
        one, other = (oracle.answer(side, times, name)["value"] for side in sides)
        return None if one is None or other is None else one - other

    if value(m) is None:
        return None
    squares = []
    for i, times in enumerate(m):
        step = 1e-4 * times
        up, down = (value([*m[:i], times + s, *m[i + 1 :]]) for s in (step, -step))
        squares.append(times * (n * (up - down) / (2 * step)) ** 2)
    return math.sqrt(fsum(squares) / (n * (n - 1)))


def two_policies(seed: int, target: list[dict]) -> tuple:
    """A second policy on the same queries, or the logging policy; for the oracle and the package."""
    rng = random.Random(seed)
    if rng.random() < 0.4:
        return "logging", "logging"
    rankings = {}
    for row in target:
        rankings.setdefault(row["query"], []).append(row["items"])
    other = []
    for query, known in rankings.items():
        some = rng.sample(known, rng.randint(1, len(known)))
        other += [{"query": query, "items": items, "probability": 1 / len(some)} for items in some]
    return oracle.table(other), cr.read_policy(worlds.to_arrow(other))


@pytest.mark.parametrize("seed", seeds(range(20), 5))
def test_standard_errors_are_those_of_the_jackknife(seed):
    rows, target_rows, options = a_larger_log(seed)
    together = gathered(rows)
    target, baseline = oracle.table(target_rows), two_policies(seed, target_rows)
    options["candidates"] = {q: sorted(items) for q, items in oracle.default_candidates(rows, target).items()}
    sides = [oracle.ask(together, side, **options) for side in (target, baseline[0])]
    given = {name: value for name, value in options.items() if value is not None}
    log = cr.read_log(worlds.to_arrow(rows if seed % 2 else together))
    for name in oracle.ESTIMATORS:
        if name == "rctr":
            continue
        found = cr.compare(log, worlds.to_arrow(target_rows), baseline[1], estimator=name, **given)
        wanted = jackknife(sides, name)
        if wanted is None:
            assert found.stderr is None
        else:
            assert found.stderr == pytest.approx(wanted, rel=0.035, abs=1e-7), name  # few repeats put back


class PagesOfQuery:
    """A query's pages, and the two policies' difference by the pseudoinverse, Γ from shares, by NumPy.

    Of the logging policy, which is None, marginals are shares.
    """

    def __init__(self, rows: list[dict], policies: list[dict | None], theta: np.ndarray) -> None:
        self.items = sorted(
            {a for row in rows for a in row["items"]} | {a for p in policies for r in p or () for a in r}
        )
        self.depth = max(len(row["items"]) for row in rows)
        self.pages = np.array([self.mark(row["items"]) for row in rows])
        self.rewards = np.array([float(theta[: len(row["clicks"])] @ row["clicks"]) for row in rows])
        self.shown = [None if p is None else sum(times * self.mark(r) for r, times in p.items()) for p in policies]

    def mark(self, ranking) -> np.ndarray:
        out = np.zeros(len(self.items) * self.depth)
        for k, item in enumerate(ranking):
            out[self.items.index(item) * self.depth + k] = 1
        return out

    def difference(self, m: np.ndarray) -> float:
        share = m / m.sum()
        gamma = self.pages.T @ (share[:, None] * self.pages)
        one, two = (share @ self.pages if shown is None else shown for shown in self.shown)
        return float(
            (one - two) @ np.linalg.pinv(gamma, rcond=1e-10, hermitian=True) @ (self.pages.T @ (share * self.rewards))
        )


@pytest.mark.parametrize("seed", seeds(range(2), 1))
@pytest.mark.parametrize("against", ["policy", "logging", "from logging"])
def test_pi_s_standard_error_is_that_of_the_jackknife(seed, against):
    rng = random.Random(seed)
    rows = []
    for query in ("p", "q"):
        worth = {a: rng.random() for a in "abcd"}
        for _ in range(3000):
            items = rng.sample("abcd", 3)
            if rng.random() < 0.5:
                items = sorted(items)
            page = sum((3 - k) * worth[a] for k, a in enumerate(items)) / 6 * (1.3 if items[0] == "a" else 1.0)
            rows.append({"query": query, "items": items, "clicks": [int(rng.random() < page * 0.9) for _ in items]})
    rows = gathered(rows)
    one = {q: {("a", "b", "c"): 0.5, ("d", "c", "b"): 0.5} for q in "pq"}
    two = {q: {("b", "d", "a"): 1.0} for q in "pq"}
    if against == "logging":
        two = None
    if against == "from logging":
        one = None
    theta = 1 / np.log2(np.arange(2, 5))
    of = {q: [row for row in rows if row["query"] == q] for q in "pq"}
    pages = {q: PagesOfQuery(own, [p and p[q] for p in (one, two)], theta) for q, own in of.items()}
    m = {q: np.array([float(row["impressions"]) for row in own]) for q, own in of.items()}
    known = {q: pages[q].difference(times) for q, times in m.items()}
    n = sum(times.sum() for times in m.values())

    def value(query=None, i=0, step=0.0):
        """With so many more impressions of one row; other queries change by their share alone."""
        sums = {q: times.sum() for q, times in m.items()}
        found = dict(known)
        if query is not None:
            more = m[query].copy()
            more[i] += step
            sums[query], found[query] = more.sum(), pages[query].difference(more)
        return sum(sums[q] * found[q] for q in found) / sum(sums.values())

    def mine(policy):
        if policy is None:
            return "logging"
        made = [{"query": q, "items": list(r), "probability": p} for q, of in policy.items() for r, p in of.items()]
        return cr.read_policy(worlds.to_arrow(made))

    squares = []
    for query, counts in m.items():
        for i, times in enumerate(counts):
            up, down = (value(query, i, step) for step in (0.01 * times, -0.01 * times))
            squares.append(times * (n * (up - down) / (0.02 * times)) ** 2)
    wanted = math.sqrt(fsum(squares) / (n * (n - 1)))
    found = cr.compare(worlds.to_arrow(rows), mine(one), mine(two), estimator="pi", weights="dcg")
    assert found.difference == pytest.approx(value(), rel=1e-7)
    assert found.stderr == pytest.approx(wanted, rel=0.03)


@pytest.mark.parametrize("seed", range(4))
def test_a_reward_is_compared_by_page_level_estimators(seed):
    rng = random.Random(seed)
    rows = [
        {"query": "q", "items": rng.sample("abc", 2), "clicks": [0, 1], "reward": rng.gauss(1000, 1)}
        for _ in range(300)
    ]
    log = worlds.to_arrow(rows)
    for name in ("list", "wlist", "pi"):
        found = cr.compare(log, {"q": ["a", "b"]}, {"q": ["b", "c"]}, estimator=name)
        assert found.metric == "reward"
        if name != "list":  # 6 rankings and a spread of 1: the origin of rewards must not matter
            assert found.stderr < 1
    assert cr.compare(log, {"q": ["a", "b"]}, estimator="ip").metric == "clicks"
    with pytest.raises(cr.InputError, match="ip credits single clicks"):
        cr.compare(log, {"q": ["a", "b"]}, estimator="ip", metric="reward")
    with pytest.raises(cr.InputError, match="`top` and `weights` weigh clicks"):
        cr.compare(log, {"q": ["a", "b"]}, estimator="pi", weights="dcg")


def test_what_cannot_be_paired_is_an_error():
    rows = {"query": ["q"], "items": [["a"]], "clicks": [[1]]}
    with pytest.raises(cr.InputError, match="unknown estimator 'pq'"):
        cr.compare(rows, {"q": ["a"]}, estimator="pq")
    with pytest.raises(cr.InputError, match="unknown interval 'narrow'"):
        cr.compare(rows, {"q": ["a"]}, estimator="ip", interval="narrow")
    with pytest.raises(cr.InputError, match="dr needs features of items: add `features=FILE`"):
        cr.compare(rows, {"q": ["a"]}, estimator="dr")
    for option in ({"clip": 2}, {"interval": "t"}, {"features": rows}, {"model": "ridge"}, {"reward_range": "0,1"}):
        name = next(iter(option))
        with pytest.raises(cr.InputError, match=f"`{name}` is for `estimator`"):
            cr.compare(rows, {"q": ["a"]}, estimator="genspec", **option)


def test_as_many_more_impressions_would_decide():
    """Item a is clicked twice of three times at the top; how many more pages decide is drawn from the log itself."""
    clicks = [[1, 0], [0, 0], [1, 0], [0, 1], [0, 0], [1, 0]]
    rows = {"query": ["q"] * 24, "items": [["a", "b"], ["b", "a"]] * 12, "clicks": clicks * 4}
    sides, given = ({"q": ["a", "b"]}, {"q": ["b", "a"]}), {"weights": [1.0, 0.2], "estimator": "ip"}
    found = cr.compare(rows, *sides, **given)
    assert (found.verdict, found.interval) == ("undecided", "betting")
    assert found.impressions_needed > 0
    times = math.ceil((24 + 2 * found.impressions_needed) / 24)
    longer = cr.compare({name: values * times for name, values in rows.items()}, *sides, **given)
    assert longer.lower > 0


@pytest.mark.slow
@pytest.mark.parametrize("baseline", ["logging", "worse"])
def test_intervals_of_the_difference_cover(baseline):
    """Estimated shares, users as all these estimators assume; 95 % within sampling error of 400 runs."""
    world = make_world(queries=3, items=4, k=2, users="pbm", seed=3, zipf=0, uniform_share=0.3)
    sides = (world.better(), "logging" if baseline == "logging" else world.worse())
    true = float(truth(world, world.better())) - float(
        truth(world, world.logging_policy() if baseline == "logging" else world.worse())
    )
    covered = dict.fromkeys(PAIRED, 0)
    for run in range(400):
        rows = simulate(world, 3000, np.random.default_rng(run))
        for name in PAIRED:
            found = cr.compare(rows, *sides, estimator=name, interval="normal", logging="log")
            covered[name] += found.lower <= true <= found.upper
    covered.pop("item")  # biased: position matters here
    covered.pop("rctr")  # always 0
    for name, times in covered.items():
        assert 0.92 <= times / 400 <= 0.98, name
