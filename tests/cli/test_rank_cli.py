"""`counterrank rank`, and policy directories wherever a policy is asked for."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import counterrank as cr
from counterrank.cli import app
from counterrank.policy import GenSpec, Linear, PlackettLuce, Scores, Table

LINEAR = Linear(["x"], [1.0])
ROWS = [
    {"query": "q", "items": ["a", "b"], "clicks": [1, 0]},
    {"query": "q", "items": ["b", "a"], "clicks": [0, 1]},
    {"query": "r", "items": ["a", "c"], "clicks": [0, 0]},
    {"query": "r", "items": ["c", "a"], "clicks": [1, 0]},
]


def run(*words: Any) -> Any:
    return CliRunner().invoke(app, [str(word) for word in words])


def refused(*words: Any) -> str:
    result = run(*words)
    assert result.exit_code == 2, result.output
    assert result.stderr.count("\n") == 1
    assert "bug" not in result.stderr
    return str(result.stderr)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("log.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    table = {"query": ["q", "q", "r", "r", "new"], "item": ["a", "b", "a", "c", "z"], "x": [1, 2, 5, 3, 0]}
    pq.write_table(pa.table(table), "features.parquet")
    acts = {"query": ["q", "gone"], "impressions": [2, 2], "clicks": [2, 2], "difference": [0.5, 0.5]}
    acts |= {"lower": [0.1, 0.0], "upper": [0.9, 0.0], "acts": ["special", "general"], "reason": ["it wins", ""]}
    special = {"query": ["q", "q"], "item": ["a", "b"], "score": [2.0, 1.0]}
    LINEAR.save("linear")
    GenSpec(acts, special, general=LINEAR, logging=Table.from_dict({"old": ["o"]})).save("gated")
    return tmp_path


def written(path: str) -> dict[str, list[tuple[list[str], float]]]:
    found: dict[str, list[tuple[list[str], float]]] = {}
    for row in map(json.loads, Path(path).read_text().splitlines()):
        found.setdefault(row["query"], []).append((row["items"], row["probability"]))
    return found


def test_a_gated_policy_ranks_what_it_can(folder: Path) -> None:
    result = run("rank", "gated", "--features", "features.parquet", "--out", "r.jsonl", "--json")
    assert result.exit_code == 0, result.output
    said = json.loads(result.stdout)
    assert written("r.jsonl") == {
        "q": [(["a", "b"], 1.0)], "r": [(["a", "c"], 1.0)], "new": [(["z"], 1.0)], "old": [(["o"], 1.0)],
    }  # fmt: skip
    assert (said["queries"], said["rankings"], said["unlisted"], said["written"]) == (4, 4, 0, "r.jsonl")
    assert said["notes"] == ["1 queries have no ranking: no part that could act for them has one"]
    blind = run("rank", "gated", "--out", "blind.jsonl", "--json")
    assert set(written("blind.jsonl")) == {"q", "old"}
    assert blind.exit_code == 0


def test_every_ranking_or_the_best(folder: Path) -> None:
    Table(["q", "q", "r"], [["a", "b"], ["b"], ["c"]], [0.25, 0.75, 1]).save("two.csv")
    run("rank", "two.csv", "--out", "r.jsonl")
    assert written("r.jsonl") == {"q": [(["b"], 0.75), (["a", "b"], 0.25)], "r": [(["c"], 1.0)]}
    run("rank", "two.csv", "--out", "r.jsonl", "--best")
    assert written("r.jsonl") == {"q": [(["b"], 1.0)], "r": [(["c"], 1.0)]}
    run("rank", "two.csv", "--out", "r.jsonl", "--top", 1)
    assert written("r.jsonl")["q"] == [(["b"], 0.75), (["a"], 0.25)]


def test_what_is_too_much_to_list_is_counted(folder: Path) -> None:
    PlackettLuce({"q": {"a": 1.0, "b": 2.0}, "r": {"c": 1.0}}).save("soft")
    said = json.loads(run("rank", "soft", "--out", "r.jsonl", "--json").stdout)
    assert said["unlisted"] == 1
    assert "1 queries" in said["notes"][0]
    assert written("r.jsonl") == {"q": [(["b", "a"], 1.0)], "r": [(["c"], 1.0)]}
    Scores(["q", "q"], ["a", "b"], [1.0, 3.0]).save("s.csv")
    run("rank", "s.csv", "--temperature", 1, "--out", "r.csv")
    assert cr.read_policy("r.csv").rank("q") == ["b", "a"]


@pytest.mark.parametrize("name", ["linear", "gated"])
def test_a_directory_stands_wherever_a_policy_does(name: str, folder: Path) -> None:
    run("rank", name, "--features", "features.parquet", "--out", "plain.jsonl")
    options = ["--estimator", "ip,item", "--json"]
    judged, plain = (
        run("evaluate", "log.jsonl", "--target", target, *more, *options)
        for target, more in ((name, ["--features", "features.parquet"]), ("plain.jsonl", []))
    )
    assert judged.exit_code == plain.exit_code == 0, judged.output
    assert json.loads(judged.stdout)["estimates"] == json.loads(plain.stdout)["estimates"]
    said = json.loads(judged.stdout)["notes"]
    assert any("queries have no ranking" in note for note in said) is (name == "gated")
    sides = ["--target", name, "--baseline", name, "--logging", name, "--features", "features.parquet"]
    found = run("compare", "log.jsonl", *sides, "--estimator", "item", "--json")
    assert found.exit_code == 0, found.output
    assert json.loads(found.stdout)["difference"] == 0
    bound = run("compare", "log.jsonl", "--target", name, "--features", "features.parquet", "--json")
    assert bound.exit_code == 0, bound.output
    said = json.loads(bound.stdout)["notes"]
    assert any("queries have no ranking" in note for note in said) is (name == "gated")


def test_refusals(folder: Path) -> None:
    assert "--features" in refused("rank", "linear", "--out", "r.csv")
    assert "--features" in refused("evaluate", "log.jsonl", "--target", "linear")
    assert "log" in refused("rank", "logging", "--out", "r.csv")
    assert "segment" in refused("rank", "gated", "--segment", "x", "--out", "r.csv")
    assert "segments" in refused("rank", "linear", "--features", "features.parquet", "--segment", "x", "--out", "r.csv")
    assert "positions" in refused("rank", "gated", "--top", 0, "--out", "r.csv")
    assert "features.parquet" in refused("rank", "gated", "--features", "features.parquet", "--out", "features.parquet")
    Path("gated/gate.parquet").write_bytes(b"x")
    assert "was changed" in refused("rank", "gated", "--out", "r.csv")
    assert "was changed" in refused("evaluate", "log.jsonl", "--target", "gated")
    assert not Path("r.csv").exists()
