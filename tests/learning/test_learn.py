"""`learn` against a calculation row by row, and the same answer however a log is written."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import counterrank as cr
from learning.slow_learn import SlowLearn, bet

Row = dict[str, Any]
GENERAL = {"q": ["d", "c", "b", "a"], "r": ["y", "x"]}


def rows(seed: int, size: int = 60) -> list[Row]:
    """Three queries: random lists of four, lists of two or three of three items, and a single ranking."""
    rng, out = np.random.default_rng(seed), []
    for _ in range(size):
        query = str(rng.choice(["q", "q", "r", "s"]))
        items = list(map(str, rng.permutation(list("abcd")))) if query == "q" else ["u", "v", "w"]
        if query == "r":
            items = list(map(str, rng.permutation(list("xyz"))))[: int(rng.integers(2, 4))]
        taste = {"d": 0.9, "y": 0.8, "w": 0.9}
        clicks = [int(rng.random() < taste.get(item, 0.2) / (1 + k)) for k, item in enumerate(items)]
        out.append({"query": query, "items": items, "clicks": clicks})
    return out


def table(of: list[Row]) -> dict[str, list[Any]]:
    return {name: [row[name] for row in of] for name in of[0]}


def ends(slow: SlowLearn, query: str, gate: str, confidence: float, one: Any, other: Any) -> tuple[float, float, float]:
    """Difference, lower and upper by the slow way."""
    worth = slow.worth(query, one, other)
    terms = slow.terms(query, worth)
    value, half = slow.bernstein(terms, slow.b(query), confidence)
    if gate == "sea":
        both = [
            slow.bernstein(slow.terms(query, slow.worth(query, side, {})), slow.b(query), confidence)
            for side in (one, other)
        ]
        half = both[0][1] + both[1][1]
    if gate != "betting":
        return value, value - half, value + half
    pages, sizes = [sum(page) for page in terms], [1.0] * len(terms)
    flipped = {item: -r for item, r in worth.items()}
    low = bet(pages, sizes, slow.least(query, worth), confidence, 1e-4)
    high = -bet([-t for t in pages], sizes, slow.least(query, flipped), confidence, 1e-4)
    return value, low, high


@pytest.mark.parametrize("gate", ["betting", "genspec", "sea"])
@pytest.mark.parametrize("general", [None, GENERAL])
@pytest.mark.parametrize("seed", [0, 1])
def test_bounds_and_decisions_are_those_of_a_calculation_row_by_row(
    gate: str, general: dict[str, list[str]] | None, seed: int
) -> None:
    train, selection, confidence = rows(seed, 80), rows(seed + 100, 300), 0.5
    found = cr.learn(
        table(train), selection=table(selection), general=general, gate=gate, confidence=confidence, special="tabular"
    )
    slow = SlowLearn(train, selection, general if found.general is not None and found.general.active else None)
    close = {"rel": 1e-9, "abs": 1e-9}
    for row in found.gate.to_pylist():
        query = row["query"]
        value, lower, upper = ends(slow, query, gate, confidence, slow.special(query, train), slow.ranked(query))
        assert row["difference"] == pytest.approx(value, **close)
        assert row["lower"] == pytest.approx(lower, **close)
        assert row["upper"] == pytest.approx(upper, **close)
        assert (row["acts"] == "special") == (row["lower"] > 0)
        assert row["impressions"] == len(slow.of(selection, query))
        assert row["clicks"] == sum(sum(r["clicks"]) for r in slow.of(selection, query))
    acts = found.gate["acts"].to_pylist()
    assert set(acts) <= {"special", "logging", "general"}
    assert found.split["train"] == 80
    shares = Counter(row["query"] for row in train + selection)
    expected = {q: n / 380 for q, n in shares.items()}
    for name, share in found.served.items():
        assert share == pytest.approx(
            sum(expected[q] for q, who in zip(found.gate["query"].to_pylist(), acts, strict=True) if who == name)
        )


@pytest.mark.parametrize("gate", ["betting", "genspec", "sea"])
def test_the_general_policy_is_judged_over_all_queries(gate: str) -> None:
    train, selection = rows(5, 80), rows(6, 300)
    found = cr.learn(table(train), selection=table(selection), general=GENERAL, gate=gate, confidence=0.9)
    slow, terms, least, most, pages, alone = SlowLearn(train, selection, GENERAL), [], [], [], [], [[], []]
    for query in slow.queries:
        one, other = slow.ranked(query), slow.logged(query)
        worth = slow.worth(query, one, other)
        terms += slow.terms(query, worth)
        least.append(slow.least(query, worth))
        most.append(-slow.least(query, {item: -r for item, r in worth.items()}))
        for place, side in enumerate((one, other)):
            alone[place] += slow.terms(query, slow.worth(query, side, {}))
    b = max(map(slow.b, slow.queries))
    value, half = slow.bernstein(terms, b, 0.9)
    assert found.general is not None
    assert found.general.difference == pytest.approx(value, rel=1e-9)
    if gate == "betting":
        pages, sizes = [sum(page) for page in terms], [1.0] * len(terms)
        lower = bet(pages, sizes, min(least), 0.9, 0.0)
        upper = -bet([-t for t in pages], sizes, -max(most), 0.9, 0.0)
    else:
        half = sum(slow.bernstein(side, b, 0.9)[1] for side in alone) if gate == "sea" else half
        lower, upper = value - half, value + half
    assert found.general.lower == pytest.approx(lower, rel=1e-8)
    assert found.general.upper == pytest.approx(upper, rel=1e-8)
    assert found.general.active == (lower > 0)
    assert found.general.clicks == sum(sum(row["clicks"]) for row in selection)
    assert found.general.width_ratio is not None
    assert found.general.width_ratio < 1


def counted_rows(of: list[Row]) -> dict[str, list[Any]]:
    groups = Counter((row["query"], tuple(row["items"]), tuple(row["clicks"])) for row in of)
    return {
        "query": [q for q, _, _ in groups],
        "items": [list(items) for _, items, _ in groups],
        "clicks": [list(clicks) for _, _, clicks in groups],
        "impressions": list(groups.values()),
    }


OPTIONS: dict[str, Any] = {"general": GENERAL, "special": "both", "seed": 7, "confidence": 0.6}


def same(one: cr.Learning, other: cr.Learning) -> None:
    mine, theirs = one.to_dict(), other.to_dict()
    for name in ("impressions", "queries", "positions", "split", "served"):
        assert mine[name] == theirs[name]
    assert mine["general"]["lower"] == pytest.approx(theirs["general"]["lower"], rel=1e-9)
    for a, b in zip(one.gate.to_pylist(), other.gate.to_pylist(), strict=True):
        assert a["acts"] == b["acts"]
        for name in ("impressions", "clicks", "difference", "lower", "upper"):
            assert a[name] == pytest.approx(b[name], rel=1e-9, abs=1e-12)
    for query in one.gate["query"].to_pylist():
        assert one.policy.rank(query) == other.policy.rank(query)


def test_counted_shuffled_split_and_written_out_logs_give_the_same_answer(tmp_path: Any) -> None:
    log = rows(11, 400)
    found = cr.learn(table(log), **OPTIONS)
    assert found.split["train"] + found.split["selection"] == 400
    assert 150 < found.split["train"] < 250
    same(found, cr.learn(counted_rows(log), **OPTIONS))
    order = np.random.default_rng(0).permutation(400)
    shuffled = [log[i] for i in order]
    same(found, cr.learn(table(shuffled), **OPTIONS))
    for number, part in enumerate((shuffled[:130], shuffled[130:])):
        pq.write_table(pa.table(table(part)), tmp_path / f"{number}.parquet")
    same(found, cr.learn(str(tmp_path), **OPTIONS))
    same(found, cr.learn(table(log), engine="ibis", **OPTIONS))
    long = [
        {"impression": i, "query": row["query"], "position": k + 1, "item": item, "click": row["clicks"][k]}
        for i, row in enumerate(log)
        for k, item in enumerate(row["items"])
    ]
    same(found, cr.learn(table(long), **OPTIONS))
    other = cr.learn(table(log), **OPTIONS | {"seed": 8})
    assert other.gate["clicks"].to_pylist() != found.gate["clicks"].to_pylist()


@pytest.mark.spark
def test_spark_gives_the_same_answer() -> None:
    log = rows(11, 200)
    same(cr.learn(table(log), **OPTIONS), cr.learn(table(log), engine="local[2]", **OPTIONS))


def test_fewer_than_two_clicks_leave_logging_in_place() -> None:
    log = {"query": ["q"] * 6, "items": [["a", "b"]] * 6, "clicks": [[0, 1]] + [[0, 0]] * 5}
    found = cr.learn(log, selection=log, general={"q": ["b", "a"]})
    assert found.gate.to_pylist()[0] | {"difference": 0} == {
        "query": "q", "impressions": 6, "clicks": 1, "difference": 0, "lower": None, "upper": None, "acts": "logging",
        "reason": "1 click to judge by, at least 2 are needed",
    }  # fmt: skip
    assert found.general is not None
    assert not found.general.active
    assert found.general.lower is None
    free = cr.learn(log, selection=log, confidence="none", general={"q": ["b", "a"]})
    assert free.general is not None
    assert free.general.active
    assert free.confidence is None
    assert free.gate["acts"].to_pylist() == ["general"]  # the special policy ranks as the general one does


def test_a_query_without_clicks_is_uniform_over_all_orders() -> None:
    log = {"query": ["q", "r"], "items": [["a", "b", "c"], ["x"]], "clicks": [[0, 0, 0], [1]]}
    found = cr.learn(log)
    table_ = {(row["query"], row["item"]): row["score"] for row in found.policy.stored().policy()._special.to_pylist()}
    assert [table_["q", item] for item in "abc"] == [0.0, 0.0, 0.0]


def test_what_is_served_was_fitted_to_both_parts() -> None:
    log = rows(3, 300)
    found = cr.learn(table(log))
    slow = SlowLearn(log, [])
    rows_ = found.policy._special.to_pylist()
    for row in rows_:
        mine = slow.of(log, row["query"])
        clicks = sum(r["clicks"][r["items"].index(row["item"])] for r in mine if row["item"] in r["items"])
        assert row["score"] == pytest.approx(clicks / slow.propensity(row["query"], row["item"]) / len(mine), rel=1e-12)


def test_segments_have_special_policies_of_their_own(tmp_path: Any) -> None:
    rng, log = np.random.default_rng(0), []
    for i in range(3000):
        device = "phone" if i % 2 else "desk"
        items = list(map(str, rng.permutation(list("abc"))))
        taste = {"phone": {"a": 0.8}, "desk": {"c": 0.8}}[device]
        log.append({
            "query": 7, "items": items, "device": device,
            "clicks": [int(rng.random() < taste.get(item, 0.1) / (1 + k)) for k, item in enumerate(items)],
        })  # fmt: skip
    for engine in ("duckdb", "ibis"):
        found = cr.learn(table(log), specialise_by="device", engine=engine)
        assert found.gate.column_names[:2] == ["query", "segment"]
        assert [(row["query"], row["segment"], row["acts"]) for row in found.gate.to_pylist()] == [
            (7, "desk", "special"),
            (7, "phone", "special"),
        ]
    found.save(tmp_path / "learnt")
    policy = cr.read_policy(tmp_path / "learnt")
    assert policy.segment("desk").rank("7")[0] == "c"
    assert policy.segment("phone").rank("7")[0] == "a"
    plain = cr.learn(table(log))
    assert plain.impressions == found.impressions == 3000
    apart = [cr.learn(table([row for row in log if row["device"] == name])) for name in ("desk", "phone")]
    assert found.special["queries"] == 2
    assert {row["impressions"] > 600 for row in found.gate.to_pylist()} == {True}
    assert [each.policy.rank("7")[0] for each in apart] == ["c", "a"]


def test_clusters_fall_as_a_whole_and_are_one_term() -> None:
    rng, log = np.random.default_rng(0), []
    for user in range(200):
        clicks = [0, int(rng.random() < 0.7)]
        log += [{"query": "q", "items": ["a", "b"], "clicks": clicks, "user": f"u{user}"}] * 3
    for engine in ("duckdb", "ibis"):
        found = cr.learn(table(log), cluster="user", engine=engine)
        [row] = found.gate.to_pylist()
        assert row["impressions"] % 3 == 0
        chosen = found
    alone = cr.learn(table(log))
    assert chosen.gate["lower"][0].as_py() < alone.gate["lower"][0].as_py()
    lone = {"query": ["q"] * 100, "items": [["a", "b"]] * 100, "clicks": [[0, 1]] * 50 + [[0, 0]] * 50}
    train = lone | {"cluster": list(range(100))}
    same_ = cr.learn(train, selection=lone | {"cluster": list(range(100))})
    assert same_.gate["lower"][0].as_py() == pytest.approx(
        cr.learn(lone, selection=lone).gate["lower"][0].as_py(), rel=1e-9
    )


def test_json_and_directory_are_as_the_contract_says(tmp_path: Any) -> None:
    found = cr.learn(table(rows(2, 300)), general=GENERAL)
    said = json.loads(found.to_json())
    assert {
        "impressions", "queries", "positions", "gate", "confidence", "split", "general", "special", "served", "notes",
        "rows", "rejected",
    } <= set(said)  # fmt: skip
    assert said["gate"] == "betting"
    assert set(said["split"]) == {"train", "selection", "validation_queries"}
    assert {"model", "active", "difference", "lower", "upper", "clicks"} <= set(said["general"])
    assert set(said["served"]) == {"logging", "general", "special", "posterior"}
    assert sum(said["served"].values()) == pytest.approx(1)
    found.save(tmp_path / "learnt")
    seal = json.loads((tmp_path / "learnt" / "policy.json").read_text())
    assert (seal["format"], seal["version"], seal["kind"]) == ("counterrank-policy", 1, "genspec")
    assert set(seal["files"]) == {"gate.parquet", "special.parquet", "general.parquet", "logging.parquet"}
    gate = pq.read_table(tmp_path / "learnt" / "gate.parquet")
    assert gate.column_names == [
        "query", "impressions", "clicks", "difference", "lower", "upper", "acts", "reason",
    ]  # fmt: skip
    again = cr.read_policy(tmp_path / "learnt")
    for query in "qrs":
        assert again.rank(query) == found.policy.rank(query)
    assert cr.evaluate(table(rows(2, 300)), tmp_path / "learnt", estimators="ip").value("ip") is not None


def test_a_logging_policy_may_be_given(tmp_path: Any) -> None:
    log = table(rows(4, 400))
    shares, given = cr.learn(log), cr.learn(log, logging="uniform")
    assert shares.gate["lower"].to_pylist() != given.gate["lower"].to_pylist()
    assert given.policy.logging is not None
    given.save(tmp_path / "learnt")
    assert cr.read_policy(tmp_path / "learnt").acting() == given.policy.acting()
    known = cr.learn(log, logging={"q": ["a", "b", "c", "d"], "r": ["x", "y", "z"], "s": ["u", "v", "w"]})
    assert any("without a propensity" in note for note in known.notes) is False
    with pytest.raises(cr.InputError, match="`logging` is propensity"):
        cr.learn(log, logging="propensity")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"gate": "sae"}, "did you mean"),
        ({"special": "tabula"}, "did you mean"),
        ({"confidence": 1.0}, "`confidence`"),
        ({"confidence": "nine"}, "`confidence`"),
        ({"selection_share": 0}, "`selection_share`"),
        ({"validation_share": 1}, "`validation_share`"),
        ({"seed": -1}, "`seed`"),
        ({"features": {}, "general": {}}, "both `features` and `general`"),
        ({"weights": [1.0]}, "weights"),
        ({"general": {"z": ["y"]}}, None),
    ],
)
def test_odd_options_are_refused_in_one_line(options: dict[str, Any], said: str | None) -> None:
    if said is None:
        found = cr.learn(table(rows(0)), **options)
        assert any("no ranking for 3 queries" in note for note in found.notes)
        return
    with pytest.raises(cr.InputError, match=said) as error:
        cr.learn(table(rows(0)), **options)
    assert "\n" not in str(error.value)


def test_newer_items_stand_where_the_general_model_puts_them_else_the_logging_policy() -> None:
    """By hand: memorised c, a = b (tied), d; elsewhere new1 stands first, new2 below a, that is inside the tie."""
    gate = {
        "query": ["q"], "impressions": [9], "clicks": [4], "difference": [0.2], "lower": [0.1], "upper": [0.3],
        "acts": ["special"], "reason": ["it wins"],
    }  # fmt: skip
    special = {"query": ["q"] * 4, "item": list("abcd"), "score": [1.0, 1.0, 2.0, 0.5]}
    items = ["new1", "c", "a", "new2", "b", "d"]
    elsewhere = cr.read_policy({"q": items, "other": ["z"]})
    for given in ({"general": elsewhere, "active": False}, {"logging": elsewhere}):
        policy = cr.policy.GenSpec(gate, special, **given)
        assert policy.rank("q") == ["new1", "c", "a", "b", "new2", "d"]
        assert policy.marginals("q")["a"].tolist() == [0, 0, 0.5, 0.5, 0, 0]
        name = next(iter(given))
        assert (
            f"2 items of 1 queries are newer than what was memorised: they stand where the {name} policy puts them"
            in (policy.notes)
        )
    quiet = cr.policy.GenSpec(gate, special, logging=elsewhere, logged=True)
    assert sorted(quiet.rank("q")) == list("abcd")
    assert cr.policy.GenSpec(gate, special).notes == []
