"""`counterrank optimize`: what it prints, writes and refuses."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from learn_worlds import World
from rich.cells import cell_len
from typer.testing import CliRunner

import counterrank as cr
from counterrank.cli import app
from counterrank.policy import read_policy


def run(*words: object) -> Any:
    return CliRunner().invoke(app, [str(word) for word in words], env={"COLUMNS": "80", "NO_COLOR": "1"})


def refused(*words: object) -> str:
    result = run(*words)
    assert result.exit_code == 2, result.output
    message = result.stderr.strip()
    assert "\n" not in message
    return message


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    world = World(queries=30, logged=20)
    log, features = tmp_path / "log.parquet", tmp_path / "features.parquet"
    pq.write_table(pa.table(world.log(30)), log)
    pq.write_table(pa.table(world.features()), features)
    return log, features


def test_json_is_as_the_contract_says_and_the_policy_evaluates(files: tuple[Path, Path], tmp_path: Path) -> None:
    log, features = files
    out = tmp_path / "learnt.parquet"
    result = run("optimize", log, "--by", "pi-opt", "--features", features, "--out", out, "--json")
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert found["delta"] is None
    assert found["prior"] is None
    assert found["by"] == "pi-opt"
    assert found["model"] == "ridge"
    assert found["chosen"].startswith("penalty ")
    assert 0 < found["r2"] < 1
    assert found["impressions"] == 600
    assert found["positions"] == 3
    assert len(found["gains"]) == 3
    assert set(found["held_out"]) == {
        "value", "stderr", "logged", "difference", "difference_stderr", "queries", "unsupported"
    }  # fmt: skip
    assert len(found["rankings"]) == 30
    assert [row["query"] for row in found["rankings"]] == sorted(f"q{number}" for number in range(30))
    first, last = found["rankings"][0], next(row for row in found["rankings"] if row["query"] == "q20")
    assert set(first) == {"query", "items", "value", "lower", "prior", "reason"}
    assert first["lower"] is None
    assert first["prior"] is None
    assert first["reason"] == "learnt from features"
    assert last["reason"] == "unseen query: ranked as other queries taught"
    assert {len(set(row["items"])) for row in found["rankings"]} == {3}
    policy = read_policy(out)
    for row in found["rankings"]:
        assert policy.rank(row["query"]) == row["items"]
    judged = run("evaluate", log, "--target", out, "--estimator", "pi", "--json")
    assert json.loads(judged.stdout)["estimates"][0]["value"] > 3  # the log's mean is about 2


def test_people_get_a_table_that_fits_and_what_to_know(files: tuple[Path, Path]) -> None:
    log, features = files
    result = run("optimize", log, "--by", "pi-opt", "--features", features)
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert lines[0].startswith("30 queries ranked by pi-opt")
    assert max(map(cell_len, lines)) <= 80
    text = " ".join(result.stdout.split())
    for piece in (
        "and 20 more queries", "for queries held out", "10 of 30 queries are not in the log", "assumed:",
        "judge the policy with counterrank evaluate on another part of the log", "of the variance",
    ):  # fmt: skip
        assert piece in text


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".csv.gz"])
def test_policies_are_written_as_named(files: tuple[Path, Path], tmp_path: Path, suffix: str) -> None:
    log, features = files
    out = tmp_path / f"p{suffix}"
    assert run("optimize", log, "--by", "pi-opt", "--features", features, "--out", out).exit_code == 0
    again = cr.optimize(log, by="pi-opt", features=features)
    assert read_policy(out).rank("q7") == again.policy.rank("q7")


def test_how_must_be_said(files: tuple[Path, Path]) -> None:
    log, features = files
    assert "it is for --by pi-opt" in refused("optimize", log, "--features", features)
    message = refused("optimize", log, "--by", "pi-optt", "--features", features)
    assert "unknown by 'pi-optt': did you mean 'pi-opt'" in message
    assert "give --features FILE" in refused("optimize", log, "--by", "pi-opt")
    by = ("optimize", log, "--by", "pi-opt", "--features", features)
    assert "Choose from ridge, lasso, tree, lightgbm" in refused(*by, "--model", "ols")
    assert "Choose from shared, each" in refused(*by, "--slots", "all")
    assert "--k is 0" in refused(*by, "--k", 0)
    assert "longest list has 3 positions" in refused(*by, "--k", 4)
    assert "needs that of each two items" in refused(*by, "--logging", "propensity")
    assert "--temperature is for a logging policy given as scores" in refused(*by, "--temperature", 1)
    assert "is an input of this command" in refused(*by, "--out", features)
    assert "unknown kind of file" in refused(*by, "--out", "policy.txt")


def test_features_of_others_are_refused(files: tuple[Path, Path]) -> None:
    other = {"query": ["x"], "item": ["y"], "f": [1.0]}
    with pytest.raises(
        cr.InputError, match=r"nothing that the log shows has features: .*query 'q0', item 'd0-\d', the"
    ):
        cr.optimize(files[0], by="pi-opt", features=other)
    with pytest.raises(cr.InputError, match="nothing that the log shows has features"):
        cr.optimize(files[0], by="pi-opt", features={"query": ["q0"], "item": ["y"], "f": [1.0]})


def test_what_has_no_features_is_counted() -> None:
    world = World(queries=6, logged=6)
    features = {key: values[8:] for key, values in world.features().items()}  # all of q0, and two items of q1
    notes = cr.optimize(world.log(50), by="pi-opt", features=features).notes
    assert "1 of the log's 6 queries (16.7% of the impressions) have no features: nothing was learnt from them" in notes
    assert any("of what the log shows of the other queries has no features: left out" in note for note in notes)


def test_one_query_learns_and_says_what_it_cannot() -> None:
    world = World(queries=1, logged=1)
    found = cr.optimize(world.log(300), by="pi-opt", features=world.features())
    assert found.held_out is None
    assert found.r2 is None
    assert found.to_dict()["rankings"][0]["value"] > 2
    assert "queries are too few to hold some out: how good such rankings are is not known" in found.notes
    assert any("one fold" in note for note in found.notes)


def test_candidates_narrow(files: tuple[Path, Path], tmp_path: Path) -> None:
    log, features = files
    some = {"query": ["q0", "q0", "q29", "q29", "q29", "q29", "q5"]}
    some["item"] = ["d0-1", "d0-4", "d29-0", "d29-1", "d29-2", "d29-3", "no-such"]
    found = cr.optimize(log, by="pi-opt", features=features, candidates=pa.table(some))
    assert set(found.policy.rank("q0")) == {"d0-1", "d0-4"}  # fewer than positions
    assert len(found.policy.rank("q29")) == 3
    assert len(found.values) == 2
    assert "1 of 7 candidates have no features: not ranked" in found.notes
    assert "28 of 30 queries with features have no candidates: not ranked" in found.notes
    with pytest.raises(cr.InputError, match="no candidate has features"):
        cr.optimize(log, by="pi-opt", features=features, candidates=pa.table({"query": ["q0"], "item": ["z"]}))
    empty = tmp_path / "none.csv"
    empty.write_text("query,item\n")
    assert "no rows" in refused("optimize", log, "--by", "pi-opt", "--features", features, "--candidates", empty)


def test_candidates_with_positions_of_their_own_stand_there() -> None:
    rng = np.random.default_rng(0)
    log: dict[str, list[Any]] = {"query": [], "items": [], "reward": []}
    features: dict[str, list[Any]] = {"query": [], "item": [], "x": []}
    slots: dict[str, list[Any]] = {"query": [], "position": [], "item": []}
    for q in range(12):
        x = rng.normal(size=(2, 3))
        for j in range(2):
            for a in range(3):
                for table in (features, slots):
                    table["query"].append(f"q{q}")
                    table["item"].append(f"{'tb'[j]}{a}")
                features["x"].append(x[j, a])
                slots["position"].append(j + 1)
        for _ in range(60):
            a, b = rng.integers(0, 3, 2)
            log["query"].append(f"q{q}")
            log["items"].append([f"t{a}", f"b{b}"])
            log["reward"].append(float(x[0, a] + x[1, b] + 0.1 * rng.normal()))
    found = cr.optimize(log, by="pi-opt", features=features, candidates=pa.table(slots), logging="uniform")
    worth = dict(zip(zip(features["query"], features["item"], strict=True), features["x"], strict=True))
    for row in found.to_dict()["rankings"]:
        best = [max((worth[row["query"], f"{s}{a}"], f"{s}{a}") for a in range(3))[1] for s in "tb"]
        assert row["items"] == best
    holes = {key: [v for v, item in zip(values, features["item"], strict=True) if item[0] == "b"]
             for key, values in features.items()}  # fmt: skip
    with pytest.raises(cr.InputError, match="has no candidate with features for position 1"):
        cr.optimize(log, by="pi-opt", features=holes, candidates=pa.table(slots))


def test_clicks_count_down_to_k() -> None:
    rng = np.random.default_rng(1)
    log: dict[str, list[Any]] = {"query": [], "items": [], "clicks": []}
    for _ in range(400):
        shown = rng.permutation(4).tolist()
        log["query"].append(f"q{rng.integers(8)}")
        log["items"].append(shown)
        log["clicks"].append([int(a == 2 and rng.random() < 0.8) for a in shown])
    features = {"query": [f"q{q}" for q in range(8) for _ in range(4)], "item": [0, 1, 2, 3] * 8, "x": [0, 0, 1, 0] * 8}
    found = cr.optimize(log, by="pi-opt", features=features, k=1, weights="dcg")
    assert found.metric == "clicks"
    rows = found.to_dict()["rankings"]
    assert all(row["items"] == [2] for row in rows)  # integers, as the log has them
    assert np.mean([row["value"] for row in rows]) == pytest.approx(0.8, abs=0.12)


def test_ids_stay_as_they_came() -> None:
    queries, items = ['say "hi", [bold]', "🦊\n2", "007"], ["a'b", "[x]", "🐻,1"]
    rng = np.random.default_rng(2)
    log: dict[str, list[Any]] = {"query": [], "items": [], "reward": []}
    for query in queries:
        for _ in range(30):
            order = rng.permutation(3)[:2]
            log["query"].append(query)
            log["items"].append([items[a] for a in order])
            log["reward"].append(float(order[0]))
    features = {"query": np.repeat(queries, 3).tolist(), "item": items * 3, "x": [0, 1, 2] * 3}
    found = cr.optimize(log, by="pi-opt", features=features)
    rows = json.loads(found.to_json())["rankings"]
    assert [row["query"] for row in rows] == sorted(queries)
    assert all(row["items"][0] == "🐻,1" for row in rows)
    assert "[bold]" in repr(found)
    assert "&quot;hi&quot;" in found._repr_html_()
    assert found.to_polars()["items"].to_list()[0] == rows[0]["items"]


def test_ties_go_to_the_item_that_is_first_as_text() -> None:
    log = {"query": ["q", "q"], "items": [["b", "a"], ["a", "b"]], "reward": [1.0, 1.0]}
    features = {"query": ["q"] * 3, "item": ["c", "b", "a"], "x": [1.0, 1.0, 1.0]}
    assert cr.optimize(log, by="pi-opt", features=features).policy.rank("q") == ["a", "b"]
