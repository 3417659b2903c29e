"""The command: what it writes, what it refuses, and its page."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import counterrank as cr
from counterrank.cli import app
from learning.test_learn import GENERAL, rows

ROWS = rows(21, 300)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "log.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    ranker = [{"query": query, "items": items} for query, items in GENERAL.items()]
    (tmp_path / "ranker.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ranker))
    pairs = {(row["query"], item) for row in ROWS for item in row["items"]}
    features = [{"query": query, "item": item, "x": ord(item), "y": ord(item) % 3} for query, item in sorted(pairs)]
    (tmp_path / "features.jsonl").write_text("".join(json.dumps(row) + "\n" for row in features))
    return tmp_path


def run(*words: str) -> Any:
    return CliRunner().invoke(app, ["learn", *words])


def test_the_command_and_the_function_say_the_same(place: Path) -> None:
    result = run("log.jsonl", "--general", "ranker.jsonl", "--out", "learnt", "--seed", "3", "--json")
    assert result.exit_code == 0, result.stderr
    found = cr.learn("log.jsonl", general="ranker.jsonl", seed=3)
    assert json.loads(result.stdout) == json.loads(found.to_json())
    assert pq.read_table("learnt/gate.parquet").to_pylist() == found.gate.to_pylist()
    again = run("log.jsonl", "--out", "learnt")  # in the place of the old one
    assert again.exit_code == 0
    assert not Path("learnt/general.parquet").exists()
    assert "policy written to learnt" in " ".join(again.stdout.split())


@pytest.mark.parametrize("model", ["ridge", "logistic"])
def test_a_model_of_features_is_trained_and_ranks_queries_never_seen(model: str, place: Path) -> None:
    options = ["--features", "features.jsonl", "--model", model, "--confidence", "0.5", "--validation-share", "0.3"]
    result = run("log.jsonl", *options, "--out", "learnt", "--report", "page.html", "--json")
    assert result.exit_code == 0, result.stderr
    said = json.loads(result.stdout)
    assert said["general"]["model"] == model
    seal = json.loads(Path("learnt/policy.json").read_text())
    assert seal["features"] == ["x", "y"]
    assert set(json.loads(Path("learnt/general.json").read_text())) >= {"features", "mean", "scale", "weights"}
    new = {"query": ["unseen"] * 2, "item": ["a", "d"], "x": [97.0, 100.0], "y": [1.0, 1.0]}
    policy = cr.read_policy("learnt", features=new)
    if said["general"]["active"]:
        assert set(policy.rank("unseen")) == {"a", "d"}
    else:
        with pytest.raises(cr.InputError):
            policy.rank("unseen")


def test_the_page_says_who_acts_where_and_why(place: Path) -> None:
    assert run("log.jsonl", "--general", "ranker.jsonl", "--out", "learnt", "--report", "page.html").exit_code == 0
    page = Path("page.html").read_text(encoding="utf-8")
    for part in ("acts", "gains", "queries", "training", "positions", "notes", "again"):
        assert f'id="{part}"' in page
    assert "counterrank learn log.jsonl" in page or "counterrank" in page
    found = cr.learn("log.jsonl", general="ranker.jsonl")
    for row in found.gate.to_pylist():
        assert row["reason"] in page
    assert page.count("<svg") >= 2


def test_two_logs_share_one_file_of_bad_rows(place: Path) -> None:
    bad = '{"query": "q", "items": ["a", "a"], "clicks": [0, 0]}\n'
    for name, size in (("one.jsonl", 100), ("two.jsonl", 200)):
        Path(name).write_text("".join(json.dumps(row) + "\n" for row in ROWS[:size]) + bad)
    result = run("one.jsonl", "--selection", "two.jsonl", "--out", "learnt", "--bad-rows", "bad.jsonl", "--json")
    assert result.exit_code == 0, result.stderr
    said = json.loads(result.stdout)
    assert (said["rows"], said["rejected"]) == (300, 2)
    assert said["split"] == {"train": 100, "selection": 200, "validation_queries": 0}
    assert len(Path("bad.jsonl").read_text().splitlines()) == 2


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--out", "learnt.parquet"], "without such an ending"),
        (["--out", "log.jsonl"], "without such an ending"),
        (["--out", "."], "other things than a policy"),
        (["--out", "no/such"], "no folder"),
        (["--out", "x", "--confidence", "two"], "--confidence"),
        (["--out", "x", "--gate", "bets"], "did you mean"),
        (["--out", "x", "--features", "features.jsonl", "--general", "ranker.jsonl"], "--features and --general"),
        (["--out", "x", "--logging", "propensity"], "--logging"),
        (["--out", "x", "--specialise-by", "device"], "device"),
        (["--out", "x", "--general", "uniform"], "cannot be written"),
        (["--out", "x", "--selection", "nowhere.csv"], "nowhere.csv"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(words: list[str], said: str, place: Path) -> None:
    result = run("log.jsonl", *words)
    assert result.exit_code == 2
    assert said in result.stderr
    assert result.stderr.count("\n") == 1
    assert not Path("x").exists()


@pytest.mark.parametrize("damage", ["missing", "changed", "added", "version", "name", "pickle", "shape"])
def test_a_damaged_directory_is_refused_in_one_line(damage: str, place: Path) -> None:
    cr.learn("log.jsonl", general="ranker.jsonl").save("learnt")
    folder, seal = Path("learnt"), json.loads(Path("learnt/policy.json").read_text())
    if damage == "missing":
        (folder / "special.parquet").unlink()
    if damage == "changed":
        data = bytearray((folder / "gate.parquet").read_bytes())
        data[40] ^= 1
        (folder / "gate.parquet").write_bytes(data)
    if damage == "added":
        (folder / "extra.parquet").write_bytes(b"x")
    if damage == "version":
        seal["version"] = 2
    if damage == "name":
        seal["files"]["../gate.parquet"] = seal["files"].pop("gate.parquet")
    if damage == "pickle":
        (folder / "gate.pkl").write_bytes(b"\x80\x04K\x01.")
    if damage == "shape":
        seal["files"] = ["gate.parquet"]
    if damage in ("version", "name", "shape"):
        (folder / "policy.json").write_text(json.dumps(seal))
    result = CliRunner().invoke(app, ["evaluate", "log.jsonl", "--target", "learnt"])
    assert result.exit_code == 2
    assert result.stderr.count("\n") == 1
