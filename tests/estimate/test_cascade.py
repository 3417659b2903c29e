"""`rips` and `cdr`: against loops over rows, against sums over all logs of a tiny world, and in a cascade world."""

from __future__ import annotations

from collections import Counter
from functools import cache
from itertools import combinations_with_replacement, permutations, product
from math import factorial, prod
from typing import Any

import numpy as np
import pytest

import counterrank as cr
from counterrank.policy import PlackettLuce, Table

STRENGTH = 10.0


def _random_log(rng: np.random.Generator, rows: int = 60) -> dict[str, list[Any]]:
    """Lists of two or three of four items, two queries."""
    log: dict[str, list[Any]] = {"query": [], "items": [], "clicks": []}
    for _ in range(rows):
        items = [f"i{i}" for i in rng.permutation(4)[: rng.integers(2, 4)]]
        log["query"].append(f"q{rng.integers(2)}")
        log["items"].append(items)
        log["clicks"].append((rng.random(len(items)) < 0.4).astype(int).tolist())
    return log


def _prefix_chance(policy: dict[tuple[str, ...], float], prefix: list[str], longest: int) -> float:
    return sum(p for r, p in policy.items() if list(r[:longest][: len(prefix)]) == prefix)


def _by_loops(
    log: dict[str, list[Any]],
    target: dict[str, dict[tuple[str, ...], float]],
    logging: dict[str, dict[tuple[str, ...], float]] | None,
    theta: list[float],
    clip: float = np.inf,
) -> tuple[float, float]:
    """The values of `rips` and `cdr`, one row at a time."""
    rows = list(zip(log["query"], log["items"], log["clicks"], strict=True))
    longest = {q: max(len(r[1]) for r in rows if r[0] == q) for q in log["query"]}

    def rate(query: str, item: str, k: int, above: bool) -> float:
        like = [r for r in rows if len(r[1]) > k and any(r[2][:k]) == above]
        mean = sum(r[2][k] for r in like) / len(like) if like else 0.0
        mine = [r[2][k] for r in like if r[0] == query and r[1][k] == item]
        return (sum(mine) + STRENGTH * mean) / (len(mine) + STRENGTH)

    def shown(query: str, item: str, k: int) -> float:
        return sum(p for r, p in target[query].items() if k < longest[query] and len(r) > k and r[k] == item)

    @cache
    def after(query: str, k: int, above: bool) -> float:
        """What all positions from k on bring, by marginals."""
        if k >= longest[query]:
            return 0.0
        return sum(shown(query, f"i{i}", k) * worth(query, f"i{i}", k, above) for i in range(4))

    def worth(query: str, item: str, k: int, above: bool) -> float:
        p = rate(query, item, k, above)
        return theta[k] * p + p * after(query, k + 1, True) + (1 - p) * after(query, k + 1, above)

    def ahead(query: str, prefix: list[str], above: bool) -> float:
        """What the target's next item brings, and all below it."""
        k, of = len(prefix), longest[query]
        whole = _prefix_chance(target[query], prefix, of)
        if k >= of or whole == 0:
            return 0.0
        chances = {i: _prefix_chance(target[query], [*prefix, i], of) / whole for i in ("i0", "i1", "i2", "i3")}
        return sum(chance * worth(query, i, k, above) for i, chance in chances.items())

    rips = cdr = 0.0
    for query, items, clicks in rows:
        own = [r for r in rows if r[0] == query]
        cdr += ahead(query, [], False)
        for k in range(len(items)):
            prefix = items[: k + 1]
            h = _prefix_chance(target[query], prefix, longest[query])
            if logging is None:
                pi = sum(r[1][: k + 1] == prefix for r in own) / len(own)
            else:
                pi = _prefix_chance(logging[query], prefix, longest[query])
            w = min(h / pi, clip)
            rips += w * theta[k] * clicks[k]
            left = theta[k] * clicks[k] - worth(query, items[k], k, any(clicks[:k]))
            cdr += w * (left + ahead(query, prefix, any(clicks[: k + 1])))
    return rips / len(rows), cdr / len(rows)


def _as_table(policy: dict[str, dict[tuple[str, ...], float]]) -> Table:
    rows = [(q, list(r), p) for q, of in policy.items() for r, p in of.items()]
    return Table([r[0] for r in rows], [r[1] for r in rows], [r[2] for r in rows])


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("known", [False, True])
def test_values_equal_loops_over_rows(seed: int, known: bool) -> None:
    rng = np.random.default_rng(seed)
    log, names = _random_log(rng), [f"i{i}" for i in range(4)]

    def drawn(most: int) -> dict[tuple[str, ...], float]:
        rankings = [r for n in (2, 3) for r in permutations(names, n)]
        some = rng.choice(len(rankings), size=most, replace=False)
        return dict(zip([rankings[i] for i in some], rng.dirichlet(np.ones(most)), strict=True))

    target = {q: drawn(5) for q in ("q0", "q1")}
    logging = {q: drawn(36) for q in ("q0", "q1")} if known else None
    theta, clip = rng.random(3).tolist(), [np.inf, 2.0][seed % 2]
    found = cr.evaluate(
        log, _as_table(target), estimators="rips,cdr", weights=theta, clip=None if clip == np.inf else clip,
        logging=_as_table(logging) if logging is not None else "log",
    )  # fmt: skip
    rips, cdr = _by_loops(log, target, logging, theta, clip)
    assert found.value("rips") == pytest.approx(rips, rel=1e-9, abs=1e-12)
    assert found.value("cdr") == pytest.approx(cdr, rel=1e-9, abs=1e-12)


ITEMS, DEPTH = ("a", "b", "c"), 2
LOGGING = dict(zip(permutations(ITEMS, DEPTH), (0.1, 0.3, 0.2, 0.15, 0.05, 0.2), strict=True))
TARGET = dict(zip(permutations(ITEMS, DEPTH), (0.4, 0.0, 0.25, 0.05, 0.3, 0.0), strict=True))


def _click_chance(ranking: tuple[str, ...], clicks: tuple[int, ...]) -> float:
    """Users read from the top: a click above, and which item was above, move the click below."""
    attraction = {"a": 0.7, "b": 0.4, "c": 0.2}
    first = attraction[ranking[0]]
    second = attraction[ranking[1]] * (0.2 if clicks[0] else 0.9) * (0.5 if ranking[0] == "b" else 1.0)
    return prod(p if c else 1 - p for p, c in zip((first, second), clicks, strict=True))


def test_their_mean_over_all_logs_is_the_truth() -> None:
    """All logs of two impressions of a known logging policy, weighed by how likely each is."""
    outcomes = {(r, c): p * _click_chance(r, c) for r, p in LOGGING.items() for c in product((0, 1), repeat=DEPTH)}
    logging, target = _as_table({"q": LOGGING}), _as_table({"q": TARGET})
    mean, n = 0.0, 2
    for chosen in combinations_with_replacement(outcomes, n):
        ways = factorial(n) / prod(factorial(m) for m in Counter(chosen).values())
        log = {"query": ["q"] * n, "items": [list(r) for r, _ in chosen], "clicks": [list(c) for _, c in chosen]}
        value = cr.evaluate(log, target, estimators="rips", logging=logging).value("rips")
        mean += ways * prod(outcomes[o] for o in chosen) * (value or 0.0)
    assert mean == pytest.approx(_truth(), rel=1e-9)


def _truth() -> float:
    return sum(p * sum(c) * _click_chance(r, c) for r, p in TARGET.items() for c in product((0, 1), repeat=DEPTH))


@pytest.mark.parametrize("logging", ["log", "known"])
@pytest.mark.parametrize("name", ["rips", "cdr"])
def test_where_all_came_as_often_as_it_should_the_value_is_the_truth(name: str, logging: str) -> None:
    """Every ranking with every clicks, in millions of impressions; with shares and with the known policy."""
    outcomes = [(r, c, p * _click_chance(r, c)) for r, p in LOGGING.items() for c in product((0, 1), repeat=DEPTH)]
    log = {
        "query": ["q"] * len(outcomes),
        "items": [list(r) for r, _, _ in outcomes],
        "clicks": [list(c) for _, c, _ in outcomes],
        "impressions": [round(p * 10**12) for _, _, p in outcomes],
    }
    known: Any = "log" if logging == "log" else _as_table({"q": LOGGING})
    found = cr.evaluate(log, _as_table({"q": TARGET}), estimators=name, logging=known)
    assert found.value(name) == pytest.approx(_truth(), rel=1e-9)
    assert cr.evaluate(log, _as_table({"q": TARGET}), estimators="ip", logging=known).value("ip") != pytest.approx(
        _truth(), rel=1e-2
    )


def test_by_hand() -> None:
    """b, a was shown once of four times, clicked at both positions; a above b never has a weight but by its first."""
    log = {"query": ["q"] * 4, "items": [["a", "b"]] * 3 + [["b", "a"]], "clicks": [[1, 0], [0, 0], [1, 1], [1, 1]]}
    row = cr.evaluate(log, {"q": ["b", "a"]}, estimators="rips")["rips"]
    assert row.value == pytest.approx(2.0)
    assert row.unsupported == 0
    lost = cr.evaluate(log, {"q": ["b", "c"]}, estimators="rips")["rips"]
    assert lost.value == pytest.approx(1.0)
    assert lost.unsupported == pytest.approx(0.5)


class CascadeWorld:
    """Five positions of eight items, three queries, users who stop at the first click; Plackett–Luce logging."""

    def __init__(self) -> None:
        rng = np.random.default_rng(11)
        self.names = [f"i{i}" for i in range(8)]
        self.attraction = rng.uniform(0.1, 0.9, size=(3, 8))
        self.scores = rng.normal(0.0, 1.0, size=(3, 8))
        self.logging = PlackettLuce(self._named(self.scores), 1.0)

    def _named(self, table: np.ndarray) -> dict[str, dict[str, float]]:
        return {f"q{q}": dict(zip(self.names, row.tolist(), strict=True)) for q, row in enumerate(table)}

    def log(self, rng: np.random.Generator, size: int) -> dict[str, list[Any]]:
        query = rng.integers(3, size=size)
        order = np.argsort(-(self.scores[query] + rng.gumbel(size=(size, 8))), axis=1)[:, :5]
        liked = rng.random((size, 5)) < np.take_along_axis(self.attraction[query], order, 1)
        clicks = liked & (np.cumsum(liked, axis=1) == 1)
        items = np.array(self.names)[order]
        return {"query": [f"q{q}" for q in query], "items": items.tolist(), "clicks": clicks.astype(int).tolist()}

    def target(self, kind: str) -> tuple[Any, np.ndarray]:
        """A policy, and what it is worth for each query."""
        if kind == "greedy":
            best = np.argsort(-self.attraction, axis=1)[:, :5]
            worth = 1 - np.prod(1 - np.take_along_axis(self.attraction, best, 1), axis=1)
            return {f"q{q}": [self.names[i] for i in row] for q, row in enumerate(best)}, worth
        every = np.array(list(permutations(range(8), 5)))
        worth = np.array([1 - np.prod(1 - row[every], axis=1).mean() for row in self.attraction])
        return PlackettLuce(self._named(np.zeros((3, 8))), 1.0), worth


def _errors(kind: str, logs: int, size: int) -> dict[str, float]:
    world = CascadeWorld()
    target, worth = world.target(kind)
    found: dict[str, list[float]] = {"list": [], "rips": [], "cdr": []}
    for seed in range(logs):
        log = world.log(np.random.default_rng(seed), size)
        rows = cr.evaluate(log, target, estimators=list(found), logging=world.logging)
        share = np.bincount([int(q[1]) for q in log["query"]], minlength=3) / size
        truth = float(share @ worth)
        for name, errors in found.items():
            errors.append((rows.value(name) or 0.0) - truth)
    return {name: float(np.sqrt(np.mean(np.square(errors)))) for name, errors in found.items()}


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["greedy", "uniform"])
def test_error_is_at_most_half_of_that_of_list(kind: str) -> None:
    errors = _errors(kind, logs=60, size=10_000)
    assert errors["rips"] <= errors["list"] / 2, errors
    assert errors["cdr"] <= errors["list"] / 2, errors


def test_error_is_below_that_of_list_on_a_few_logs() -> None:
    errors = _errors("greedy", logs=6, size=3_000)
    assert errors["rips"] < errors["list"]
    assert errors["cdr"] < errors["list"]


def _exact_spreads(attraction: np.ndarray, scores: np.ndarray, places: int) -> dict[str, float]:
    """The standard deviation of one impression's term for a uniform target, by enumeration; `cdr` with true rates."""
    worth, size = np.exp(scores), len(scores)
    list2 = rips2 = cdr2 = value = 0.0

    @cache
    def ahead(shown: frozenset[int], left: int) -> float:
        """What the target brings from here on, while the user reads."""
        rest = [i for i in range(size) if i not in shown] if left else []
        return sum(attraction[i] + (1 - attraction[i]) * ahead(shown | {i}, left - 1) for i in rest) / max(len(rest), 1)

    for page in permutations(range(size), places):
        chance = weight = reading = 1.0
        seen: frozenset[int] = frozenset()
        steps = []
        for k, i in enumerate(page):
            left = worth.sum() - worth[list(seen)].sum()
            chance *= worth[i] / left
            weight *= (1 / (size - k)) / (worth[i] / left)
            seen |= {i}
            steps.append((weight, reading, attraction[i], ahead(seen, places - k - 1)))
            reading *= 1 - attraction[i]
        list2 += chance * weight**2 * (1 - reading)
        value += chance * weight * (1 - reading)
        rips2 += chance * sum(w**2 * r * a for w, r, a, _ in steps)
        cdr2 += chance * sum(w**2 * r * a * (1 - a) * (1 - v) ** 2 for w, r, a, v in steps)
    return {"list": np.sqrt(list2 - value**2), "rips": np.sqrt(rips2 - value**2), "cdr": np.sqrt(cdr2)}


def test_how_much_can_be_taken_out_depends_on_the_logger() -> None:
    """As docs/estimators/cdr.md has it: next to a mild logger nothing halves the error of list."""
    rng = np.random.default_rng(0)
    attraction, scores = rng.uniform(0.05, 0.5, 6), rng.normal(size=6)
    mild, strong = (_exact_spreads(attraction, strength * scores, 4) for strength in (0.25, 2.0))
    assert mild["cdr"] > mild["list"] / 2
    assert strong["cdr"] < strong["list"] / 2
    for spreads in (mild, strong):
        assert spreads["cdr"] < spreads["rips"] < spreads["list"]
