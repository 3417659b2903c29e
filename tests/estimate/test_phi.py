"""φ̂ = Γ†θ̂ against NumPy's pseudoinverse of Γ written out, for each way in which the logging policy is known."""

from itertools import permutations

import numpy as np
import pytest
from page_oracle import indicator, reward, shares

import counterrank as cr
from counterrank.engine import open_engine
from counterrank.estimate import Pseudoinverse
from counterrank.estimate.pseudoinverse.phi import Phi, page_credits
from counterrank.policy import PlackettLuce, Slots, Table
from counterrank.setting.plan import plan_for
from counterrank.setting.question import Question
from counterrank.statistics.pairs import Pairs

ITEMS = {"q": ["a", "b", "c", "d"], "r": ["a", "x", "y"]}
SCORES = {"q": {"a": 0.3, "b": -1.0, "c": 0.0, "d": 1.2}, "r": {"a": 0.0, "x": 2.0, "y": -0.5}}
LENGTH = 2


def plackett_luce(scores: dict[str, float]) -> dict[tuple[str, ...], float]:
    out = {}
    for ranking in permutations(scores, LENGTH):
        left, chance = dict(scores), 1.0
        for item in ranking:
            chance *= np.exp(left[item]) / sum(np.exp(s) for s in left.values())
            del left[item]
        out[ranking] = chance
    return out


def table_of(rng: np.random.Generator, items: list[str]) -> dict[tuple[str, ...], float]:
    some = [r for r in permutations(items, LENGTH) if rng.random() < 0.7]
    return dict(zip(some, rng.dirichlet(np.ones(len(some))), strict=True))


def logged(policy: dict, rng: np.random.Generator, n: int = 60, shift: float = 0.0) -> list[dict]:
    """Rows drawn from the policy, with rewards that are no sum over pairs."""
    rows = []
    for query, rankings in policy.items():
        drawn = rng.choice(len(rankings), n, p=list(rankings.values()))
        for d in drawn:
            ranking = list(rankings)[d]
            worth = shift + len(set(ranking) & {"a", "x"}) * rng.random() + (ranking[0] == "b")
            rows.append({"query": query, "items": list(ranking), "reward": float(worth)})
    return rows


def credits_of(rows: list[dict], logging: object, **options: object) -> tuple[Phi, Pairs]:
    log = cr.read_log({key: [row[key] for row in rows] for key in ("query", "items", "reward")})
    question = Question.ask(log, "logging", logging=logging, **options)
    needs = Pseudoinverse.needs
    evidence = question.evidence(open_engine("duckdb").count(log, plan_for(needs, question)), needs)
    return page_credits(evidence), evidence.counts.pairs


def check(rows: list[dict], chances: dict, found: Phi, pairs: Pairs) -> None:
    for q, query in enumerate(pairs.query_ids.texts.to_pylist()):
        mine = slice(pairs.starts[q], pairs.starts[q + 1])
        items = [pairs.item_ids.texts[int(i)].as_py() for i in pairs.items[mine]]
        length = int(pairs.lengths[q])
        gamma = sum(p * np.outer(x, x) for r, p in chances[query].items() for x in [indicator(r, items, length)])
        own = [row for row in rows if row["query"] == query]
        theta = sum(reward(row) * indicator(row["items"], items, length) for row in own) / len(own)
        theta = np.where(np.diag(gamma) > 0, theta, 0.0)
        expected = np.linalg.pinv(gamma, rcond=1e-12, hermitian=True) @ theta
        assert np.allclose(found.values[mine, :length].ravel(), expected, atol=1e-9)
        assert np.allclose(found.shown[mine, :length].ravel(), np.diag(gamma), atol=1e-12)


@pytest.mark.parametrize("n", [2, 5, 60])  # with fewer impressions than pairs the matrix of rankings is solved
@pytest.mark.parametrize("shift", [0.0, 1e3])
def test_from_the_shares_of_the_log(shift: float, n: int) -> None:
    rng = np.random.default_rng(0)
    rows = logged({q: table_of(rng, items) for q, items in ITEMS.items()}, rng, n, shift)
    rows += [{"query": "r", "items": ["y"], "reward": shift}]  # a shorter page
    found, pairs = credits_of(rows, "log")
    check(rows, shares(rows), found, pairs)


def test_of_uniform_logging() -> None:
    rng = np.random.default_rng(1)
    uniform = {
        q: {r: 1 / len(list(permutations(i, LENGTH))) for r in permutations(i, LENGTH)} for q, i in ITEMS.items()
    }
    rows = logged(uniform, rng, shift=5.0)
    check(rows, uniform, *credits_of(rows, "uniform"))


def test_of_a_table_as_given() -> None:
    rng = np.random.default_rng(2)
    chances = {q: table_of(rng, items) for q, items in ITEMS.items()}
    rows = logged(chances, rng)
    flat = [(q, list(r), p) for q, of in chances.items() for r, p in of.items()]
    check(rows, chances, *credits_of(rows, Table(*map(list, zip(*flat, strict=True)))))


def test_of_plackett_luce() -> None:
    rng = np.random.default_rng(3)
    chances = {q: plackett_luce(scores) for q, scores in SCORES.items()}
    rows = logged(chances, rng, shift=-2.0)
    check(rows, chances, *credits_of(rows, PlackettLuce(SCORES)))


def test_of_slots() -> None:
    rng = np.random.default_rng(4)
    slots = {"q": [{"a": 0.9, "b": 0.1}, {"c": 0.4, "d": 0.6}]}
    chances = {"q": {(x, y): p * r for x, p in slots["q"][0].items() for y, r in slots["q"][1].items()}}
    rows = logged(chances, rng)
    check(rows, chances, *credits_of(rows, Slots.from_dict(slots)))


def test_a_rankings_credits_sum_to_what_pi_says() -> None:
    rng = np.random.default_rng(5)
    rows = logged({"q": plackett_luce(SCORES["q"])}, rng, n=300)
    found, pairs = credits_of(rows, "log")
    names = pairs.item_ids.texts.to_pylist()
    table = {"query": [row["query"] for row in rows], "items": [row["items"] for row in rows]}
    table["reward"] = [row["reward"] for row in rows]
    for ranking in permutations(ITEMS["q"], LENGTH):
        total = sum(found.values[list(pairs.items).index(names.index(a)), j] for j, a in enumerate(ranking))
        assert cr.evaluate(table, {"q": list(ranking)}, estimators="pi").value("pi") == pytest.approx(total, abs=1e-9)


def test_a_logging_policy_that_cannot_show_the_log_is_said() -> None:
    rows = [{"query": "q", "items": ["a", "b"], "reward": 1.0}] * 3 + [
        {"query": "q", "items": ["b", "a"], "reward": 0.0}
    ]
    found, _ = credits_of(rows, Table(["q"], [["a", "b"]]))
    assert found.notes == [
        "25.0% of what the log shows is never shown by the given logging policy: is it the right one?"
    ]
