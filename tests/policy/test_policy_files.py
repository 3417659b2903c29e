"""Every kind of policy writes itself and reads back the same; what is damaged is refused in one line."""

from __future__ import annotations

import hashlib
import io
import json
import os
import pickle
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from policy_worlds import FEATURES, HAD, LINEAR, MADE, TREES, every_ranking, gate, genspec, make_pairs

import counterrank as cr
from counterrank.errors import InputError
from counterrank.log.features import read_features
from counterrank.policy import Choice, GenSpec, LightGBM, Linear, Logged, PlackettLuce, Policy, Scores, Table

made = pytest.mark.parametrize("name", MADE)
GENERAL = read_features(
    {name: [v for v, q in zip(column, FEATURES["query"], strict=True) if q != "7"] for name, column in FEATURES.items()}
)


def same(one: Policy, two: Policy) -> None:
    """The same marginals, probabilities and rankings, of whole runs and of single queries."""
    for length in (1, 4):
        pairs = make_pairs(length=length)
        a, b = one.bind(pairs), two.bind(pairs)
        np.testing.assert_allclose(a.marginals(), b.marginals(), rtol=1e-12, atol=1e-15)
        for query in range(len(pairs.query_ids)):
            every = every_ranking(pairs, query)
            codes = np.full(len(every), query)
            np.testing.assert_allclose(a.probability(codes, every), b.probability(codes, every), rtol=1e-12)
    for query in HAD:
        if query in set(one.items()[0].to_pylist()):
            assert one.rank(query) == two.rank(query)
            assert one.rank(query, 1) == two.rank(query, 1)


@made
def test_a_directory_reads_back(name: str, tmp_path: Path) -> None:
    policy = MADE[name]
    assert policy.save(tmp_path / "p") == tmp_path / "p"
    seal = json.loads((tmp_path / "p" / "policy.json").read_text())
    assert seal["format"] == "counterrank-policy"
    assert seal["version"] == 1
    assert seal["kind"] == policy.kind
    assert set(os.listdir(tmp_path / "p")) == {"policy.json", *seal["files"]}
    features = GENERAL if name == "genspec" else FEATURES if seal["features"] else None
    found = cr.read_policy(str(tmp_path / "p"), features=features)
    assert type(found) is type(policy)
    same(found, policy)
    assert os.listdir(tmp_path) == ["p"]


@made
@pytest.mark.parametrize("suffix", ["parquet", "csv", "jsonl", "csv.gz"])
def test_a_plain_file_reads_back_where_there_is_one(name: str, suffix: str, tmp_path: Path) -> None:
    policy, path = MADE[name], tmp_path / f"p.{suffix}"
    if policy.rows() is None:
        with pytest.raises(InputError, match="save it as a directory"):
            policy.save(path)
        assert not path.exists()
        return
    policy.save(path)
    same(cr.read_policy(path), policy)


def test_logged_and_temperatures(tmp_path: Path) -> None:
    Logged().save(tmp_path / "p")
    assert isinstance(cr.read_policy(tmp_path / "p"), Logged)
    soft = PlackettLuce({"q": {"a": 1.0, "b": 2.0}}, 0.5)
    soft.at_temperature_1().save(tmp_path / "p.csv")
    again = cr.read_policy(tmp_path / "p.csv", temperature=1)
    assert again.probability("q", ["a", "b"]) == pytest.approx(soft.probability("q", ["a", "b"]), rel=1e-12)
    table = pa.table({"query": ["q", "q"], "item": ["a", "b"], "score": [2.0, 4.0]})
    assert cr.read_policy(table, temperature=1).probability("q", ["a", "b"]) == pytest.approx(
        soft.probability("q", ["a", "b"]), rel=1e-12
    )


def test_a_directory_is_replaced_whole_and_nothing_else_is(tmp_path: Path) -> None:
    place = tmp_path / "p"
    MADE["mixture of two"].save(place)
    MADE["table"].save(place)
    assert set(os.listdir(place)) == {"policy.json", "policy.parquet"}
    place.joinpath("policy.parquet").write_bytes(b"damaged")
    MADE["table"].save(place)
    same(cr.read_policy(place), MADE["table"])
    (tmp_path / "empty").mkdir()
    MADE["table"].save(tmp_path / "empty")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "diary.txt").write_text("dear")
    (place / "notes.txt").write_text("mine")
    (tmp_path / "a file").write_text("x")
    (tmp_path / "link").symlink_to(tmp_path / "empty")
    for taken in (tmp_path / "mine", place, tmp_path / "a file", tmp_path / "link"):
        refused(lambda taken=taken: MADE["scores"].save(taken), str(taken))
    assert (tmp_path / "mine" / "diary.txt").read_text() == "dear"
    assert (place / "notes.txt").read_text() == "mine"
    refused(lambda: MADE["scores"].save(tmp_path / "no" / "p"), "make it first")
    assert sorted(os.listdir(tmp_path)) == ["a file", "empty", "link", "mine", "p"]


def refused(act: Callable[[], object], *words: str) -> None:
    with pytest.raises(InputError) as caught:
        act()
    message = str(caught.value)
    assert "\n" not in message
    assert len(message) < 500
    for word in words:
        assert word in message, message


def reseal(folder: Path, **changes: Any) -> None:
    """Make policy.json fit the files again, as someone would who means harm, with other changes."""
    seal = json.loads((folder / "policy.json").read_text())
    files = [name for name in sorted(os.listdir(folder)) if name != "policy.json"]
    seal["files"] = {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in files}
    (folder / "policy.json").write_text(json.dumps(seal | changes))


class Bomb:
    """Running it leaves a mark."""

    def __reduce__(self) -> Any:
        return os.mkdir, ("/tmp/counterrank-bomb",)  # noqa: S108


def sealed(change: Callable[[Path], object]) -> Callable[[Path], None]:
    def act(folder: Path) -> None:
        change(folder)
        reseal(folder)

    return act


def parquet(name: str, **columns: Any) -> Callable[[Path], None]:
    return sealed(lambda folder: pq.write_table(pa.table(columns), folder / name))


def said(**changes: Any) -> Callable[[Path], None]:
    return lambda folder: reseal(folder, **changes)


def model(**changes: Any) -> Callable[[Path], None]:
    def act(folder: Path) -> None:
        old = json.loads((folder / "general.json").read_text())
        (folder / "general.json").write_text(json.dumps(old | changes))

    return sealed(act)


def cut(name: str) -> Callable[[Path], None]:
    return lambda folder: (folder / name).write_bytes((folder / name).read_bytes()[:-9])


def flip(name: str) -> Callable[[Path], None]:
    def act(folder: Path) -> None:
        data = bytearray((folder / name).read_bytes())
        data[len(data) // 2] ^= 1
        (folder / name).write_bytes(data)

    return act


def linked_out(folder: Path) -> None:
    (folder.parent / "outside").write_bytes((folder / "special.parquet").read_bytes())
    (folder / "special.parquet").unlink()
    (folder / "special.parquet").symlink_to("../outside")


def fifo(folder: Path) -> None:
    (folder / "special.parquet").unlink()
    os.mkfifo(folder / "special.parquet")


ONE = {"query": ["q1"], "impressions": [1], "clicks": [1], "difference": [0.1], "lower": [0.1], "upper": [0.1]}
DAMAGES: dict[str, tuple[Callable[[Path], object], str]] = {
    "truncated seal": (cut("policy.json"), "policy.json"),
    "truncated file": (cut("gate.parquet"), "'gate.parquet' was changed"),
    "truncated and sealed": (sealed(cut("gate.parquet")), "gate.parquet is not a Parquet file"),
    "a changed bit": (flip("special.parquet"), "'special.parquet' was changed"),
    "a changed bit of the model": (flip("general.json"), "'general.json' was changed"),
    "a missing file": (lambda f: (f / "logging.parquet").unlink(), "'logging.parquet' is missing"),
    "no gate": (sealed(lambda f: (f / "gate.parquet").unlink()), "gate.parquet"),
    "no special": (sealed(lambda f: (f / "special.parquet").unlink()), "special"),
    "wrong version": (said(version=2), "version 2"),
    "version true": (said(version=True), "version"),
    "no version": (said(version=None), "version"),
    "wrong format": (said(format="x"), "counterrank-policy"),
    "unknown kind": (said(kind="genspek"), "genspek"),
    "another kind": (said(kind="table"), "no file"),
    "kind of another shape": (said(kind=["genspec"]), "kind"),
    "files as a list": (said(files=["gate.parquet"]), "files"),
    "dots": (said(files={"../outside": "0" * 64}), "'../outside'"),
    "two dots": (said(files={"..": "0" * 64}), "'..'"),
    "absolute": (said(files={"/etc/passwd": "0" * 64}), "'/etc/passwd'"),
    "backslash": (said(files={"a\\b": "0" * 64}), "no name of a file"),
    "itself": (said(files={"policy.json": "0" * 64}), "'policy.json'"),
    "no digest": (said(files={"gate.parquet": 7}), "SHA-256"),
    "features as text": (said(features="other"), "features"),
    "other features": (said(features=["length", "other"]), "other features"),
    "settings": (said(settings=[1]), "settings"),
    "active?": (said(settings={"general": 7}), "'general'"),
    "not JSON": (lambda f: (f / "policy.json").write_text("{'format': 1}"), "not JSON"),
    "a JSON list": (lambda f: (f / "policy.json").write_text("[]"), "not a JSON object"),
    "twice": (lambda f: (f / "policy.json").write_text('{"kind": 1, "kind": 2}'), "twice"),
    "deep": (lambda f: (f / "policy.json").write_text("[" * 100_000), "policy.json"),
    "huge": (lambda f: (f / "policy.json").write_text(" " * (17 << 20) + "{}"), "bytes"),
    "huge number": (lambda f: (f / "policy.json").write_text('{"version": ' + "9" * 10_000 + "}"), "policy.json"),
    "empty": (lambda f: (f / "policy.json").write_text(""), "not JSON"),
    "a seal that is a pickle": (lambda f: (f / "policy.json").write_bytes(pickle.dumps(Bomb())), "not JSON"),
    "a model that is a pickle": (sealed(lambda f: (f / "general.json").write_bytes(pickle.dumps(Bomb()))), "not JSON"),
    "a table that is a pickle": (sealed(lambda f: (f / "gate.parquet").write_bytes(pickle.dumps(Bomb()))), "Parquet"),
    "a pickle beside": (lambda f: (f / "model.pkl").write_bytes(pickle.dumps(Bomb())), "'model.pkl'"),
    "a pickle listed": (sealed(lambda f: (f / "model.pkl").write_bytes(pickle.dumps(Bomb()))), "'model.pkl'"),
    "a folder": (lambda f: (f / "more").mkdir(), "'more'"),
    "a link out": (linked_out, "leads out"),
    "a pipe": (fifo, "not a plain file"),
    "NaN weights": (sealed(lambda f: (f / "general.json").write_text(LINEAR.as_json().replace("1.0", "NaN"))), "NaN"),
    "infinite weights": (model(weights=[1e999, 1.0]), "Infinity"),
    "weights too few": (model(weights=[1.0]), "weights"),
    "weights nested": (model(weights=[[1.0], 2.0]), "weights"),
    "weights as text": (model(weights=["1", "2"]), "weights"),
    "a negative scale": (model(scale=[-1.0, 1.0]), "scale"),
    "more in the model": (model(code="import os"), "expected features"),
    "two models": (sealed(lambda f: (f / "general.txt").write_text(TREES)), "both there"),
    "gate of other columns": (parquet("gate.parquet", query=["q"]), "columns"),
    "gate of types": (
        parquet("gate.parquet", **ONE | {"clicks": ["x"]}, acts=["special"], reason=[""]),
        "clicks",
    ),
    "nobody acts": (parquet("gate.parquet", **ONE, acts=["random"], reason=[""]), "'random'"),
    "null acts": (parquet("gate.parquet", **ONE, acts=pa.array([None], pa.string()), reason=[""]), "acts"),
    "a query twice": (
        parquet("gate.parquet", **{k: v * 2 for k, v in ONE.items()}, acts=["special"] * 2, reason=[""] * 2),
        "more than once",
    ),
    "special of other columns": (parquet("special.parquet", query=["q1"], item=["a"]), "columns"),
    "special of nobody": (parquet("special.parquet", query=["x"], item=["a"], score=[1.0]), "no items"),
    "special with NaN": (
        parquet("special.parquet", query=["q1", "o'quote"], item=["a", "a"], score=[float("nan"), 1.0]),
        "finite",
    ),
    "segments in one": (parquet("special.parquet", query=["q1"], segment=["s"], item=["a"], score=[1.0]), "segments"),
    "logging that is none": (parquet("logging.parquet", query=["q1"]), "logging.parquet"),
    "logging that sums to 2": (
        parquet("logging.parquet", query=["q", "q"], items=[["a"], ["b"]]),
        "logging.parquet",
    ),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_directory_is_refused_in_one_line(damage: str, tmp_path: Path) -> None:
    change, word = DAMAGES[damage]
    genspec().save(tmp_path / "p")
    cr.read_policy(tmp_path / "p")
    change(tmp_path / "p")
    refused(lambda: cr.read_policy(tmp_path / "p"), str(tmp_path / "p"), word)
    assert not Path("/tmp/counterrank-bomb").exists()  # noqa: S108


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(sorted(MADE)), st.randoms(use_true_random=False), st.binary(max_size=4))
def test_any_damage_at_all_is_refused(name: str, random: Any, put: bytes) -> None:
    """Some bytes of a file are others, and the seal is made to fit: the policy is refused, or it is one."""
    from counterrank.policy.stored import Stored

    stored = MADE[name].stored()
    if not stored.files:
        return
    file = random.choice(sorted(stored.files))
    data, at = stored.files[file], random.randrange(len(stored.files[file]))
    changed = data[:at] + put + data[at + random.choice([0, len(put), 50]) :]
    damaged = Stored(stored.kind, stored.settings, {**stored.files, file: changed}, stored.features)
    try:
        found = damaged.policy()
    except (InputError, pa.ArrowException):  # the latter, too, is said in one line by read_policy
        return
    assert isinstance(found, Policy)


def test_a_link_within_the_directory_is_followed(tmp_path: Path) -> None:
    MADE["table"].save(tmp_path / "p")
    (tmp_path / "p" / "..data").mkdir()
    (tmp_path / "p" / "policy.parquet").rename(tmp_path / "p" / "..data" / "policy.parquet")
    (tmp_path / "p" / "policy.parquet").symlink_to("..data/policy.parquet")
    same(cr.read_policy(tmp_path / "p"), MADE["table"])


def test_scoring_ranks_queries_never_seen(tmp_path: Path) -> None:
    LINEAR.save(tmp_path / "p")
    new = {"query": ["new"] * 3, "item": ["a", "b", "c"], "other": [1.0, 2.0, 9.0], "length": [1.0, 1.0, 30.0]}
    policy = cr.read_policy(tmp_path / "p", features=new)
    by_hand = {i: (o - 0.1) / 2 - 0.5 * (n - 2) / 3 for i, o, n in zip("abc", new["other"], new["length"], strict=True)}
    assert policy.rank("new") == sorted(by_hand, key=lambda item: -by_hand[item])
    refused(lambda: cr.read_policy(tmp_path / "p").rank("new"), "features")
    refused(lambda: cr.read_policy(tmp_path / "p", features={**new, "other": ["x"] * 3}), "'other'")
    refused(lambda: Linear(["a", "a"], [1.0, 2.0]), "distinct")
    refused(
        lambda: Linear(["a"], [1e300], [0.0], [1e-300], given={"query": ["q"], "item": ["i"], "a": [1.0]}), "finite"
    )


@pytest.mark.parametrize(
    "shape", [{}, {"boosting": "rf", "bagging_fraction": 0.5, "bagging_freq": 1}, {"zero_as_missing": True},
              {"objective": "binary"}, {"num_leaves": 2}],
)  # fmt: skip
def test_trees_are_walked_as_lightgbm_does(shape: dict[str, Any]) -> None:
    lightgbm = pytest.importorskip("lightgbm")
    rng = np.random.default_rng(1)
    x = rng.normal(size=(800, 4))
    x[rng.random(x.shape) < 0.3] = 0
    y = x[:, 0] + x[:, 1] * x[:, 2] + rng.normal(size=len(x))
    y = (y > 0).astype(int) if "objective" in shape else y
    booster = lightgbm.train({"verbosity": -1, "num_threads": 1, "num_leaves": 9, **shape}, lightgbm.Dataset(x, y), 15)
    policy = LightGBM(booster, ["a name", "b", "c", "d"])
    tried = np.concatenate([x, np.round(x), 1e30 * x])
    np.testing.assert_allclose(policy.score(tried), booster.predict(tried, raw_score=True), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(
    ("old", "new", "word"),
    [
        ("left_child=1 -1", "left_child=0 -1", "makes no sense"),  # a walk without end
        ("right_child=-2 -3", "right_child=-2 -9", "makes no sense"),
        ("split_feature=0 1", "split_feature=0 7", "makes no sense"),
        ("threshold=0.25", "threshold=nan", "makes no sense"),
        ("leaf_value=0.5", "leaf_value=inf", "finite"),
        ("leaf_value=0.5", "leaf_value=half", "numbers"),
        ("num_leaves=3", "num_leaves=4", "expected 4"),
        ("num_leaves=3", "num_leaves=-3", "count"),
        ("num_leaves=3", "num_leaves=999999999999", "count"),
        ("num_cat=0", "num_cat=1", "categories"),
        ("num_class=1", "num_class=3", "classes"),
        ("max_feature_idx=1", "max_feature_idx=9", "names"),
        ("end of trees", "", "cut off"),
        ("tree\n", "\n", "not the text"),
    ],
)
def test_a_text_of_trees_that_lies_is_refused(old: str, new: str, word: str) -> None:
    refused(lambda: LightGBM(TREES.replace(old, new, 1)), word)


def test_choice_says_who_acts_and_who_cannot() -> None:
    one, two = Table.from_dict({"a": ["x"], "b": ["y"]}), Table.from_dict({"a": ["z"]})
    policy = Choice({"one": one, "two": two}, {"a": "two", "b": "two", "c": "one"}, ["one"])
    assert policy.rank("a") == ["z"]
    assert policy.rank("b") == ["y"]
    assert policy.queries().to_pylist() == ["a", "b"]
    assert policy.acting() == {"one": 1, "two": 1}
    assert [note.split()[0] for note in policy.notes] == ["1", "1"]
    refused(lambda: policy.rank("c"), "'c'")
    refused(lambda: Choice({"one": one}, {"a": "three"}), "'three'", "one")
    refused(lambda: Choice({"one": one}, (["a", "a"], ["one", "one"])), "more than once")
    refused(lambda: Choice({"../x": one}, {}), "letters")


def test_genspec_falls_back_as_it_says(tmp_path: Path) -> None:
    policy = genspec()
    assert policy.active
    assert [item for item in policy.rank("q1") if item in "bd"] == ["b", "d"]
    assert set(policy.rank("q1")) == set(HAD["q1"])  # the others stand where the general policy puts them
    assert "3" in policy.rank("o'quote")
    assert policy.rank("7") == ["7"]  # not in the gate, no features: the logging policy
    assert set(policy.rank("00123")) == set(HAD["00123"])
    policy.save(tmp_path / "p")
    blind = cr.read_policy(tmp_path / "p")  # without features the logging policy acts
    assert isinstance(blind, GenSpec)
    assert blind.rank("00123") == MADE["table"].rank("00123")
    assert "1 of the queries for which general acts" in blind.notes[0]
    alone = GenSpec(gate({"a": "logging", "b": "special"}), {"query": ["b"], "item": ["x"], "score": [1.0]})
    assert alone.queries().to_pylist() == ["b"]
    assert alone.notes == ["1 queries have no ranking: no part that could act for them has one"]
    quiet = genspec(active=False)
    assert quiet.rank("00123") == genspec().rank("00123")  # the gate's own word
    assert GenSpec(gate({}), None, general=LINEAR, logging=MADE["table"], active=True).scoring(GENERAL).rank("q1")


def test_genspec_by_segment(tmp_path: Path) -> None:
    acts = {"query": ["q", "q"], "segment": [1, 2], "impressions": [1, 1], "clicks": [1, 1], "difference": [0.1, 0.1]}
    acts |= {"lower": [0.1, None], "upper": [0.2, None], "acts": ["special", "logging"], "reason": ["", ""]}
    special = {"query": ["q", "q"], "segment": [1, 1], "item": ["a", "b"], "score": [1.0, 2.0]}
    GenSpec(acts, special, logging=Table.from_dict({"q": ["l"]}), logged=True).save(tmp_path / "p")
    policy = cr.read_policy(tmp_path / "p")
    assert isinstance(policy, GenSpec)
    assert policy.segments() == ["1", "2"]
    assert [policy.rank("q"), policy.segment(1).rank("q"), policy.segment("2").rank("q")] == [["l"], ["b", "a"], ["l"]]
    refused(lambda: policy.segment(3), "'3'", "1, 2")


@made
def test_ranking_all_at_once_is_ranking_one_by_one(name: str) -> None:
    policy = MADE[name]
    for query in policy.items()[0].unique().to_pylist():
        for length in (None, 1, 2, 3):
            try:
                bound = policy._alone(query, length)
            except InputError:
                refused(lambda query=query, length=length: policy.rank(query, length))
                continue
            best = bound.best(np.zeros(1, np.int64))[0]
            assert policy.rank(query, length) == [
                bound.pairs.item_ids.texts[int(row)].as_py() for row in best if row >= 0
            ]


def test_queries_of_very_different_sizes_are_indexed_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    from counterrank.policy import _index

    monkeypatch.setattr(_index, "_CELLS", 64)
    sizes = [1, 40, 3, 100, 2, 2, 7]
    scores = {str(n): {f"i{k}": float(k) for k in range(size)} for n, size in enumerate(sizes)}
    policy = Scores.from_dict(scores)
    assert len(list(_index.bound_parts(policy))) > 2
    for n, size in enumerate(sizes):
        assert policy.rank(n) == [f"i{k}" for k in reversed(range(size))]


def test_one_query_of_many_is_ranked_in_microseconds() -> None:
    queries, items = 20_000, 50
    rng = np.random.default_rng(0)
    of = np.repeat(np.arange(queries), items)
    policy = Scores(of, np.tile(np.arange(items), queries) + of % 97 * items, rng.random(len(of)))
    policy.rank(0)
    asked = [str(query) for query in rng.integers(0, queries, 2000)]
    took = []
    for _ in range(5):
        before = time.process_time()
        for query in asked:
            policy.rank(query)
        took.append((time.process_time() - before) / len(asked))
    assert min(took) < 100e-6  # about 5 µs on a quiet machine; before there was an index, milliseconds


def test_parquet_of_a_future_arrow_is_plain_data(tmp_path: Path) -> None:
    out = io.BytesIO()
    pq.write_table(pa.table({"query": ["q"], "item": ["a"], "score": [1]}), out)
    MADE["scores"].save(tmp_path / "p")
    (tmp_path / "p" / "policy.parquet").write_bytes(out.getvalue())
    reseal(tmp_path / "p")
    assert cr.read_policy(tmp_path / "p").rank("q") == ["a"]  # whole numbers are numbers
