"""The oracle against numbers worked out by hand."""

from __future__ import annotations

import math

import pytest

import oracle

# Query q, four impressions of two positions; shares: ab 1/2, ba 1/4, ac 1/4.
ROWS = [
    {"query": "q", "items": ["a", "b"], "clicks": [1, 0]},
    {"query": "q", "items": ["a", "b"], "clicks": [1, 1]},
    {"query": "q", "items": ["b", "a"], "clicks": [0, 1]},
    {"query": "q", "items": ["a", "c"], "clicks": [0, 1]},
]
TARGET = {"q": {("b", "a"): 0.5, ("a", "b"): 0.25, ("c", "b"): 0.25}}


def test_list_by_hand():
    # weights: ab 0.25/0.5 = 0.5, ba 0.5/0.25 = 2, ac 0; rewards 1, 2, 1, 1
    got = oracle.evaluate(ROWS, TARGET)
    assert got["list"]["value"] == pytest.approx((0.5 * 1 + 0.5 * 2 + 2 * 1) / 4)
    assert got["wlist"]["value"] == pytest.approx((0.5 * 1 + 0.5 * 2 + 2 * 1) / 3)
    assert got["list"]["unsupported"] == pytest.approx(0.25)  # cb
    assert got["list"]["effective_sample_size"] == pytest.approx(3**2 / (0.25 + 0.25 + 4))
    assert got["rctr"] == {"value": 5 / 4, "clipped": 0, "unsupported": 0, "effective_sample_size": 4}


def test_list_clipped_by_hand():
    got = oracle.evaluate(ROWS, TARGET, clip=1.5)
    assert got["list"]["value"] == pytest.approx((0.5 * 1 + 0.5 * 2 + 1.5 * 1) / 4)
    assert got["wlist"]["value"] == pytest.approx(3 / 2.5)
    assert got["list"]["clipped"] == got["wlist"]["clipped"] == 1 / 4


def test_item_position_by_hand():
    # π: a1 3/4, b1 1/4; b2 1/2, a2 1/4, c2 1/4.  h: b1 1/2, a1 1/4, c1 1/4; a2 1/2, b2 1/2.
    # weights: a1 1/3, b1 2, b2 1, a2 2, c2 0
    got = oracle.evaluate(ROWS, TARGET)
    assert got["ip"]["value"] == pytest.approx((1 / 3 + (1 / 3 + 1) + 2 + 0) / 4)
    assert got["ip"]["unsupported"] == pytest.approx(0.25 / 2)  # c1, of two positions
    means = [(1 / 3 + 1) / 2, (1 / 3 + 1) / 2, 2, 1 / 6]
    assert got["ip"]["effective_sample_size"] == pytest.approx(sum(means) ** 2 / sum(x * x for x in means))
    first, second = (2 / 3) / (3 * (1 / 3) + 2), (1 * 1 + 2) / (1 + 1 + 2)
    assert got["wip"]["value"] == pytest.approx(first + second)
    clipped = oracle.evaluate(ROWS, TARGET, clip=1.5, weights=[1, 0.5])
    assert clipped["ip"]["value"] == pytest.approx((1 / 3 + (1 / 3 + 0.5) + 0.5 * 1.5) / 4)
    assert clipped["ip"]["clipped"] == 2 / 8


def test_items_by_hand():
    # item: π a 1, b 3/4, c 1/4; h a 3/4, b 1, c 1/4: weights 3/4, 4/3, 1
    got = oracle.evaluate(ROWS, TARGET)
    assert got["item"]["value"] == pytest.approx((3 / 4 + (3 / 4 + 4 / 3) + 3 / 4 + 1) / 4)
    assert got["item"]["unsupported"] == 0
    # pbm with p = 1, 1/2: π a 7/8, b 1/2, c 1/8; h a 1/2, b 3/4, c 1/4: weights 4/7, 3/2, 2
    assert got["pbm"]["value"] == pytest.approx((4 / 7 + (4 / 7 + 3 / 2) + 4 / 7 + 2) / 4)
    # p = 1, 0: π a 3/4, b 1/4, c 0; the click on the second position adds 0; c's mass 1/4 of 1
    got = oracle.evaluate(ROWS, TARGET, examination=[1, 0])["pbm"]
    assert got["value"] == pytest.approx((1 / 3 + 1 / 3) / 4)
    assert got["unsupported"] == pytest.approx(1 / 4)


def test_ragged_lists_and_counts():
    rows = [
        {"query": "q", "items": ["a", "b"], "clicks": [0, 1], "impressions": 3},
        {"query": "q", "items": ["a"], "clicks": [1]},
        {"query": "r", "items": ["a"], "clicks": [1], "impressions": 4},
    ]
    # The ranking a of q is shorter than q's cut, two: it stays a list of its own.  r's target is cut to one item.
    target = {"q": {("a",): 0.5, ("a", "b", "c"): 0.5}, "r": {("a", "b"): 0.5, ("b", "a"): 0.5}}
    got = oracle.evaluate(rows, target)
    assert got["list"]["value"] == pytest.approx((3 * (0.5 / 0.75) + 1 * (0.5 / 0.25) + 4 * 0.5) / 8)
    assert got["list"]["unsupported"] == pytest.approx(0.5 * 0.5)
    # π(b, 2) = 3/4 of all impressions of q, h(b, 2) = 1/2
    assert got["ip"]["value"] == pytest.approx((3 * (0.5 / 0.75) + 1 * 1 + 4 * 0.5) / 8)
    # position 2: only the three impressions that have it
    assert got["wip"]["value"] == pytest.approx((1 * 1 + 4 * 0.5) / (3 + 1 + 4 * 0.5) + 1 * 3 / 8)
    assert got["ip"]["unsupported"] == pytest.approx(4 * (0.5 / 2) / 8)  # b first in r, K = 2
    assert oracle.evaluate(rows[:2], target, logging="uniform", candidates={"q": "ab"})["list"]["value"] == 3.0 * 1 / 4


def test_a_cut_merges_lists_and_sets_the_column_aside():
    rows = [{**row, "propensity": 0.1} for row in ROWS]
    got = oracle.evaluate(rows, TARGET, top=1)["list"]
    assert got["value"] == pytest.approx((2 * (0.25 / 0.75)) / 4)
    assert got["unsupported"] == pytest.approx(0.25)
    whole = oracle.evaluate(rows, TARGET)
    assert whole["list"]["value"] == pytest.approx((2.5 * 1 + 2.5 * 2 + 5 * 1) / 4)
    assert whole["ip"] == oracle.evaluate(ROWS, TARGET)["ip"]


def test_queries_of_the_target_only():
    rows = [*ROWS, {"query": "other", "items": ["z"] * 1, "clicks": [1]}]
    assert oracle.evaluate(rows, TARGET) == oracle.evaluate(ROWS, TARGET)
    assert oracle.ask(rows, TARGET).covered == 4 / 5


def test_nothing_in_common_is_null():
    got = oracle.evaluate(ROWS, {"q": {("x", "y"): 1.0}})
    assert got["wlist"]["value"] is None
    assert got["wip"]["value"] is None
    assert got["list"] == {"value": 0, "clipped": 0, "unsupported": 1, "effective_sample_size": None}
    assert got["item"]["unsupported"] == got["pbm"]["unsupported"] == got["ip"]["unsupported"] == 1


def test_the_logging_policy_gives_the_mean():
    for options in [{}, {"weights": "dcg"}, {"top": 1}, {"logging": "uniform"}]:
        got = oracle.evaluate(ROWS, "logging", **options)
        for name, each in got.items():
            assert each["value"] == pytest.approx(got["rctr"]["value"]), name
        shares = oracle.log_shares(ROWS)
        if "logging" not in options:
            for each in oracle.evaluate(ROWS, shares, **options).values():
                assert each["value"] == pytest.approx(got["rctr"]["value"])


def test_policies_sum_to_one():
    rows = [{"query": "q", "item": item, "score": score} for item, score in zip("abcd", [2, 1, 1, 0], strict=True)]
    tied = oracle.scores(rows)["q"]
    assert tied == {("a", "b", "c", "d"): 0.5, ("a", "c", "b", "d"): 0.5}
    drawn = oracle.scores(rows, 0.7)["q"]
    assert math.fsum(drawn.values()) == pytest.approx(1)
    assert oracle.cut(drawn, 1)[("a",)] == pytest.approx(1 / sum(math.exp((s - 2) / 0.7) for s in [2, 1, 1, 0]))
    assert len(oracle.uniform({"q": "abcd"})["q"]) == 24
    mixed = oracle.mixture([(0.25, {"q": tied}), (0.75, {"q": drawn})])["q"]
    assert math.fsum(mixed.values()) == pytest.approx(1)


def test_standard_errors_with_a_closed_form():
    # The mean: the textbook standard error.
    rewards = [1, 2, 1, 1]
    mean = 5 / 4
    textbook = math.sqrt(sum((r - mean) ** 2 for r in rewards) / (4 * 3))
    assert oracle.standard_error(ROWS, TARGET, estimators=["rctr"])["rctr"] == pytest.approx(textbook, rel=1e-6)
    # Known propensities: that of the products.
    rows = [{**row, "propensity": 0.25} for row in ROWS]
    products = [1 * 1, 1 * 2, 2 * 1, 0]
    mean = sum(products) / 4
    textbook = math.sqrt(sum((x - mean) ** 2 for x in products) / (4 * 3))
    assert oracle.standard_error(rows, TARGET, estimators=["list"])["list"] == pytest.approx(textbook, rel=1e-6)
    # Estimated shares, one query: V = Σ_A h(A) · mean(f | A), so ψ = w(A) · (f − mean(f | A)): only ab varies, w = 1/2.
    psi = [0.5 * (1 - 1.5), 0.5 * (2 - 1.5), 0, 0]
    expected = math.sqrt(sum(x * x for x in psi) / (4 * 3))
    assert oracle.standard_error(ROWS, TARGET, estimators=["list"])["list"] == pytest.approx(expected, rel=1e-6)


def test_a_row_of_many_is_many_rows():
    rows = [{**row, "impressions": 3} for row in ROWS]
    many = [dict(row) for row in ROWS for _ in range(3)]
    for name, each in oracle.evaluate(rows, TARGET, clip=1.7).items():
        assert each == pytest.approx(oracle.evaluate(many, TARGET, clip=1.7)[name])
    assert oracle.standard_error(rows, TARGET) == pytest.approx(oracle.standard_error(many, TARGET), rel=1e-5)


def test_per_query_values_average_to_the_whole():
    rows = [*ROWS, {"query": "r", "items": ["a"], "clicks": [1], "impressions": 2}]
    target = {**TARGET, "r": {("a",): 0.5, ("b",): 0.5}}
    whole, parts = oracle.evaluate(rows, target), oracle.per_query(rows, target)
    for name in ["list", "ip", "pbm", "item", "rctr"]:
        assert whole[name]["value"] == pytest.approx((4 * parts["q"][name] + 2 * parts["r"][name]) / 6)
