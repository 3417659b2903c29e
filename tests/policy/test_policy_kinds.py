"""Each kind of policy: its own formulas, its refusals, and its look at one query."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from itertools import permutations
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from policy_worlds import HOSTILE, ITEMS, make_pairs, scores, table

from counterrank.errors import InputError
from counterrank.policy import POLICIES, Logged, LoggedShares, Mixture, PlackettLuce, Policy, Scores, Table, Uniform
from counterrank.policy._race import steps


def refused(make, *words: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(InputError) as caught:
        make()
    message = str(caught.value)
    assert "\n" not in message
    for word in words:
        assert word in message


def test_table_refusals() -> None:
    refused(lambda: Table([], []), "no rows")
    refused(lambda: Table(["q"], [[]]), "'q'", "empty ranking")
    refused(lambda: Table(["q"], [None]), "'q'", "empty ranking")
    refused(lambda: Table(["q"], [["a", "b", "a"]]), "'q'", "'a'", "twice")
    refused(lambda: Table(["q", "q"], [["a"], ["b"]], [0.5, 0.4]), "'q'", "0.9", "divide")
    refused(lambda: Table(["q", "q"], [["a"], ["b"]]), "'q'", "sum to 2")
    refused(lambda: Table(["q", "q"], [["a"], ["b"]], [1.5, -0.5]), "'q'", "-0.5")
    refused(lambda: Table(["q"], [["a"]], [math.nan]), "'q'", "nan")
    refused(lambda: Table(["q"], [["a"]], [math.inf]), "'q'", "inf")
    refused(lambda: Table(["q"], [["a"]], [None]), "'q'", "nan")
    refused(lambda: Table([None], [["a"]]), "query", "null")
    refused(lambda: Table(["q"], [["a", None]]), "item", "null")
    refused(lambda: Table(["q"], [["a"], ["b"]]), "1 queries", "2 rankings")
    refused(lambda: Table(["q"], [["a"]], [0.5, 0.5]), "2 probabilities")
    refused(lambda: Table(["q"], pa.array(["a"])), "list")
    refused(lambda: Table(["line\nbreak"], [["a"]], [0.5]), "sum to 0.5")


def test_table_forgives_rounding() -> None:
    policy = Table(["q"] * 3, [["a"], ["b"], ["c"]], [0.333333] * 3)
    assert policy.probability("q", ["a"]) == 0.333333


def test_table_adds_up_identical_rankings_and_merges_cut_ones() -> None:
    policy = Table(["q"] * 3, [["a", "b"], ["a", "b"], ["a", "c"]], [0.25, 0.25, 0.5])
    assert policy.probability("q", ["a", "b"]) == 0.5
    assert policy.probability("q", ["a"], length=1) == 1.0
    assert policy.rank("q", length=1) == ["a"]
    assert policy.marginals("q", 1)["a"].tolist() == [1.0]
    assert {item: p.tolist() for item, p in policy.marginals("q").items()} == {
        "a": [1, 0],
        "b": [0, 0.5],
        "c": [0, 0.5],
    }


def test_a_shorter_ranking_stays_as_it_is() -> None:
    policy = Table(["q", "q"], [["a", "b", "c"], ["c"]], [0.5, 0.5])
    assert policy.probability("q", ["c"], length=2) == 0.5
    assert policy.probability("q", ["a", "b"], length=2) == 0.5
    assert policy.probability("q", ["a", "b"]) == 0


def test_ids_are_compared_as_text() -> None:
    policy = Table(pa.array([7, 8]), pa.array([[1, 2], [3]]))
    assert policy.rank(7) == policy.rank("7") == ["1", "2"]
    assert policy.probability("7", [1, "2"]) == policy.probability(7, ["1", 2]) == 1
    assert policy.probability(7, ["01", "2"]) == 0
    assert Scores([1.0, 1.0], [5, 6], [0, 1]).rank(1) == ["6", "5"]
    assert Table(["q"], [[1, "a"]]).rank("q") == ["1", "a"]


def test_hostile_ids_come_back_as_they_are() -> None:
    rng = np.random.default_rng(0)
    for policy in (Table(HOSTILE, [HOSTILE[::-1]] * 5), Scores(HOSTILE, HOSTILE, range(5))):
        for query in HOSTILE:
            assert set(policy.rank(query)) <= set(HOSTILE)
            assert policy.probability(query, policy.sample(query, rng)) == 1
            assert list(policy.marginals(query)) == sorted(policy.rank(query))


def test_scores_refusals() -> None:
    refused(lambda: Scores([], [], []), "no rows")
    refused(lambda: Scores(["q", "q"], ["a", "a"], [1, 2]), "'q'", "'a'", "once")
    refused(lambda: Scores(["q", "q"], ["7", 7], [1, 2]), "'7'", "once")
    for bad in (math.nan, math.inf, -math.inf, None):
        refused(lambda bad=bad: Scores(["q"], ["a"], [bad]), "'q'", "'a'", "finite")
    refused(lambda: Scores(["q"], ["a", "b"], [1]), "as many")
    refused(lambda: Scores(["q"], [None], [1.0]), "item", "null")


def test_scores_ties_share_their_block() -> None:
    policy = Scores.from_dict({"q": {"top": 3, "b": 1, "a": 1, "c": 1, "last": 0}})
    assert policy.rank("q") == ["top", "a", "b", "c", "last"]
    assert policy.marginals("q")["b"].tolist() == [0, 1 / 3, 1 / 3, 1 / 3, 0]
    assert policy.probability("q", ["top", "c", "a", "b", "last"]) == pytest.approx(1 / 6)
    assert policy.probability("q", ["b", "top", "a", "c", "last"]) == 0
    assert policy.probability("q", ["top", "c"], length=2) == pytest.approx(1 / 3)
    assert policy.probability("q", ["top", "c"]) == 0


def subsets(logs: list[float], positions: int) -> np.ndarray:
    """Plackett–Luce marginals by recursion over the sets already shown."""
    size, weight = len(logs), np.exp(np.array(logs) - max(logs))
    reach, out = np.zeros(1 << size), np.zeros((size, positions))
    reach[0] = 1
    for shown in range(1 << size):
        k = shown.bit_count()
        left = [a for a in range(size) if not shown >> a & 1]
        if k >= positions or not left:
            continue
        total = weight[left].sum()
        for a in left:
            chance = reach[shown] * weight[a] / total
            out[a, k] += chance
            reach[shown | 1 << a] += chance
    return out


def race(logs: list[float], positions: int) -> np.ndarray:
    names = [f"{n:03}" for n in range(len(logs))]
    found = PlackettLuce({"q": dict(zip(names, logs, strict=True))}).marginals("q", positions)
    return np.array([found[name] for name in names])


@pytest.mark.parametrize("spread", [0, 0.01, 1, 5, 30])
@pytest.mark.parametrize("positions", [1, 2, 5, 12])
def test_marginals_by_quadrature_agree_with_recursion(spread: float, positions: int) -> None:
    logs = (spread * np.random.default_rng(5).normal(size=12)).tolist()
    np.testing.assert_allclose(race(logs, positions), subsets(logs, positions), rtol=0, atol=1e-13)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats(-25, 25), min_size=1, max_size=7), st.integers(1, 7))
def test_marginals_of_any_scores(logs: list[float], positions: int) -> None:
    positions = min(positions, len(logs))
    np.testing.assert_allclose(race(logs, positions), subsets(logs, positions), rtol=0, atol=1e-13)


def test_marginals_of_many_items_sum_to_one() -> None:
    shown = race(np.random.default_rng(0).normal(size=200).tolist(), 20)
    np.testing.assert_allclose(shown.sum(axis=0), 1, atol=1e-12)
    shown = race((100 * np.random.default_rng(0).normal(size=30)).tolist(), 30)
    np.testing.assert_allclose(shown.sum(axis=0), 1, atol=1e-12)
    np.testing.assert_allclose(shown.sum(axis=1), 1, atol=1e-12)


def test_the_step_keeps_the_promised_error() -> None:
    step = steps(50)
    omega, k = 2 * np.pi / step[1:], np.arange(1, 51)
    bound = np.exp(-omega * np.arctan(omega / k)) * (1 + (omega / k) ** 2) ** (k / 2)
    assert (2 * bound <= 1.01e-15).all()
    assert (np.diff(step[1:]) < 0).all()


@pytest.mark.parametrize("order", list(permutations(range(4)))[::5])
def test_plackett_luce_probability_is_exact_where_scores_are_far_apart(order: tuple[int, ...]) -> None:
    values = [300.0, 0.0, -0.5, 99.25]
    policy = PlackettLuce({"q": dict(zip("abcd", values, strict=True))}, 1.0)
    with localcontext() as context:
        context.prec = 400
        left, exact = [Decimal(v).exp() for v in values], Decimal(1)
        for place, item in enumerate(order):
            exact *= left[item] / sum(left[rest] for rest in order[place:])
    found = policy.probability("q", ["abcd"[item] for item in order])
    assert found == pytest.approx(float(exact), rel=1e-12, abs=1e-323)


def test_plackett_luce_between_its_limits() -> None:
    values = {"q": {"a": 3.0, "b": 1.0, "c": 0.0}}
    hot, cold = PlackettLuce(values, 1e12), PlackettLuce(values, 1e-3)
    for item in "abc":
        np.testing.assert_allclose(hot.marginals("q")[item], 1 / 3, atol=1e-11)
        np.testing.assert_allclose(cold.marginals("q")[item], Scores.from_dict(values).marginals("q")[item], atol=1e-12)
    assert hot.rank("q") == ["a", "b", "c"]


def test_plackett_luce_refusals() -> None:
    for bad in (0, -1, math.nan, math.inf):
        refused(lambda bad=bad: PlackettLuce({"q": {"a": 1}}, bad), "temperature", "positive")
    refused(lambda: PlackettLuce({"q": {"a": 1e300, "b": -1e300}}, 1e-9).rank("q"), "temperature 0")


def test_uniform() -> None:
    policy = Uniform({"q": ["a", "b", "c", "b"], 7: [1]})
    assert policy.rank("q") == ["a", "b", "c"]
    assert policy.probability("q", ["c", "b", "a"]) == pytest.approx(1 / 6)
    assert policy.probability("q", ["c", "b"]) == 0
    assert policy.marginals(7)["1"].tolist() == [1]
    assert Uniform(pa.table({"query": [7], "item": [3]})).rank("7") == ["3"]
    refused(lambda: policy.bind(make_pairs({"q": ["a", "b", "c"], "other": ["x"]})), "'other'", "candidates")
    refused(lambda: Uniform().rank("q"), "candidates")
    refused(lambda: Uniform({}), "no rows")
    refused(lambda: Uniform(pa.table({"query": [7], "doc": [3]})), "'item'", "query, doc")


def test_mixture() -> None:
    base = Table.from_dict({"q": ["a", "b"], "r": ["a"]})
    policy = Mixture(base, 0.2, Table.from_dict({"q": ["b", "c"]}))
    assert policy.queries().to_pylist() == ["q"]
    assert policy.rank("q") == ["a", "b"]
    assert policy.marginals("q")["b"].tolist() == [0.2, 0.8]
    refused(lambda: policy.rank("r"), "'r'")
    assert Mixture(base, 0).probability("q", ["a", "b"]) == 1
    assert Mixture(base, 1).probability("q", ["a", "b"]) == 0.5
    assert Mixture(Uniform(), 0.5).queries() is None
    for bad in (-0.1, 1.1, math.nan):
        refused(lambda bad=bad: Mixture(base, bad), "share", "0 to 1")


def test_logged() -> None:
    pairs = make_pairs()
    assert Logged().queries() is None
    assert [len(side) for side in Logged().items()] == [0, 0]
    refused(lambda: Logged().bind(pairs), "log")
    shown, per_query = np.zeros((len(pairs), 4), np.int64), np.zeros(len(ITEMS), np.int64)
    shares = LoggedShares(pairs, shown, per_query)
    assert not shares.marginals().any()
    refused(lambda: shares.probability(np.zeros(1, np.int64), np.full((1, 4), -1)), "rankings")


def test_pairs_must_hold_what_the_policy_names() -> None:
    for policy in (table(), scores()):
        with pytest.raises(ValueError, match="pairs lack item"):
            policy.bind(make_pairs({"q1": ["a", "b"]}))


def test_a_run_may_leave_out_queries() -> None:
    pairs = make_pairs({"q1": ITEMS["q1"]})
    for policy in (table(), scores(), PlackettLuce(scores()), Mixture(table(), 0.5)):
        np.testing.assert_allclose(policy.bind(pairs).marginals()[:, 0].sum(), 1)


def test_refusals_of_the_look_at_one_query() -> None:
    refused(lambda: table().rank("nowhere"), "'nowhere'")
    refused(lambda: table().rank("q1", 0), "length")
    refused(lambda: table().rank(None), "id")


@pytest.mark.parametrize(
    "policy", [table(), scores(), PlackettLuce(scores(), 2), Uniform(ITEMS), Mixture(table(), 0.1)]
)
def test_reprs_are_short_and_say_the_kind(policy: Policy) -> None:
    assert repr(policy).startswith(type(policy).__name__ + "(")
    assert len(repr(policy)) < 120
    assert type(policy) in POLICIES.values()


def test_tables_of_arrow_fixed_lists() -> None:
    size, rng = 20_000, np.random.default_rng(0)
    flat = rng.permuted(np.tile(np.arange(5), (size, 1)), axis=1).ravel()
    policy = Table(pa.array(np.arange(size)), pa.FixedSizeListArray.from_arrays(pa.array(flat), 5))
    assert len(policy.items()[0]) == 5 * size
    assert policy.bind(make_pairs({"1": ["0", "1", "2", "3", "4"]})).marginals().sum() == 4
    assert policy.rank(19_999) == flat[-5:].astype(str).tolist()


def test_plackett_luce_of_whatever_holds_scores(tmp_path: Path) -> None:
    rows = pa.table({"query": ["q", "q"], "item": ["a", "b"], "score": [0.5, 0.0]})
    pq.write_table(rows, tmp_path / "scores.parquet")
    sources = [{"q": {"a": 0.5, "b": 0.0}}, rows, rows.to_pydict(), str(tmp_path / "scores.parquet")]
    chances = {PlackettLuce(source).probability("q", ["a", "b"]) for source in sources}
    assert chances == {next(iter(chances))}
    assert next(iter(chances)) == pytest.approx(1 / (1 + math.exp(-0.5)), abs=1e-15)
    with pytest.raises(InputError, match="needs scores"):
        PlackettLuce({"q": ["a", "b"]})
