"""`counterrank simulate --sessions`: JSON as promised, LETOR files, and errors in one line."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from session_worlds import documents
from typer.testing import CliRunner

from counterrank.cli import app

FIELDS = {"ranker", "behaviour", "exploration", "cold", "warm", "cumulative", "mean", "last_fifth", "seconds"}
TRACE = [
    "trial", "ranker", "behaviour", "session", "query", "part", "candidates", "items", "alpha", "beta", "score",
    "clicks", "ndcg",
]  # fmt: skip


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("documents") / "documents.csv"
    pa.csv.write_csv(pa.table(documents()), path)
    return path


def run(*words: object) -> tuple[int, str]:
    result = CliRunner().invoke(app, ["simulate", *map(str, words)])
    return result.exit_code, result.output


def test_json_and_trace_have_the_promised_fields(file: Path, tmp_path: Path) -> None:
    trace = tmp_path / "trace.parquet"
    options = ["--sessions", 300, "--features", file, "--labels", "grade", "--ranker", "ebrank,bm25", "--trials", 2]
    code, out = run(*options, "--warmup-feature", "x", "--exploration", "ebrank=30", "--trace", trace, "--json")
    assert code == 0, out
    told = json.loads(out)
    assert (told["sessions"], told["queries"], told["trials"]) == (300, 25, 2)
    assert [row["exploration"] for row in told["rankers"]] == [30.0, 0.0]
    for row in told["rankers"]:
        assert set(row) >= FIELDS
        assert set(row["seconds"]) == {"fit", "serve"}
        assert len(row["warm"]["values"]) == 2
        assert set(row["warm"]) == {"mean", "sd", "values"}
    assert {(test["a"], test["b"]) for test in told["tests"]} == {("ebrank", "bm25")}
    assert set(told["tests"][0]) == {"a", "b", "metric", "difference", "p"}
    rows = pq.read_table(trace)
    assert rows.column_names[: len(TRACE)] == TRACE
    assert rows.num_rows == 2 * 2 * (25 * 20 + 300)


def test_letor_files_and_automatic_sessions(tmp_path: Path) -> None:
    lines = [f"{i % 3} qid:{i // 9} 1:{i % 5} 2:{i % 3} #docid = d{i}" for i in range(90)]
    for part in (0, 1):
        (tmp_path / f"part{part}.txt").write_text("\n".join(lines[part * 45 : part * 45 + 45]) + "\n")
    common = ["--sessions", "auto", "--ranker", "bm25,truth", "--trials", 1, "--json"]
    code, one = run("--letor", tmp_path / "part0.txt", "--letor", tmp_path / "part1.txt", *common)
    assert code == 0, one
    folder = run("--letor", tmp_path, *common)[1]
    told, again = json.loads(one), json.loads(folder)
    assert told["sessions"] == 10 * (9 - 5)
    assert told["rankers"][0]["mean"] == again["rankers"][0]["mean"]
    table = run("--letor", tmp_path, *common[:-1], "--leave-out", "2", "--warmup-feature", 1)[1]
    assert "truth" in table


def test_features_are_counted_as_they_came_also_those_left_out(tmp_path: Path) -> None:
    lines = [f"{i % 3} qid:{i // 9} 1:{i % 5} 2:{i % 3} #docid = d{i}" for i in range(90)]
    (tmp_path / "all.txt").write_text("\n".join(lines) + "\n")
    common = ["--letor", tmp_path, "--sessions", 50, "--ranker", "bm25", "--trials", 1, "--json", "--warmup-feature", 2]
    whole, left = (json.loads(run(*common, *more)[1]) for more in ([], ["--leave-out", "1"]))
    assert whole["rankers"][0]["mean"] == left["rankers"][0]["mean"]
    code, said = run(*common, "--leave-out", "2")
    assert code == 2
    assert "--warmup-feature is 2" in said


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--sessions", "many"], "--sessions"), (["--sessions", "9", "--labels", "nix"], "nix"),
        (["--sessions", "9", "--ranker", "ebank"], "ebrank"), (["--sessions", "9", "--split", "1,2"], "--split"),
        (["--sessions", "9", "--exploration", "a"], "--exploration"), (["--sessions", "9", "--start", "5"], "--start"),
        (["--sessions", "9", "--beta", "x"], "--beta"), (["--ranker", "bm25"], "add --sessions"),
        (["--sessions", "9", "--examination", "0.1,x"], "--examination"),
        (["--sessions", "9", "--warmup-feature", "99"], "--warmup-feature"),
    ],
)  # fmt: skip
def test_errors_name_the_option(words: list[str], said: str, file: Path) -> None:
    given = words if "--labels" in words else [*words, "--labels", "grade"]
    code, out = run(*given, "--features", file)
    assert code == 2
    assert said in out
    assert len(out.strip().splitlines()) == 1
