"""Whatever comes in, the command line answers with exit code 2 and one line that says what to do."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from counterrank.cli import app

Rows = list[dict[str, Any]]
GOOD: Rows = [
    {"query": "q", "items": ["a", "b"], "clicks": [1, 0]},
    {"query": "q", "items": ["b", "a"], "clicks": [0, 1]},
]
LONG: Rows = [
    {"impression": i, "query": row["query"], "position": k + 1, "item": item, "click": click}
    for i, row in enumerate(GOOD)
    for k, (item, click) in enumerate(zip(row["items"], row["clicks"], strict=True))
]
NAN = float("nan")


def lines(rows: Rows) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def run(*arguments: Any) -> Any:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def refused(*arguments: Any) -> str:
    result = run(*arguments)
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    assert result.stderr.startswith("counterrank: ")
    assert result.stderr.count("\n") == 1, result.stderr
    assert "Traceback" not in result.stderr
    assert "bug" not in result.stderr
    return str(result.stderr)


@pytest.fixture
def target(tmp_path: Path) -> Path:
    path = tmp_path / "target.jsonl"
    path.write_text(lines([{"query": "q", "items": ["a", "b"]}]))
    return path


@pytest.fixture
def good(tmp_path: Path) -> Path:
    path = tmp_path / "good.jsonl"
    path.write_text(lines(GOOD))
    return path


def bad(row: dict[str, Any], **more: Any) -> Rows:
    """Two good rows, and a third that is the first with a change."""
    rows = [{**each, **more} for each in GOOD]
    return [*rows, {**rows[0], **row}]


ROWS: dict[str, tuple[Rows, list[str]]] = {
    "length": (bad({"clicks": [1]}), ["row 3", "not as long as items", "clicks=[1]"]),
    "repeated": (bad({"items": ["a", "a"]}), ["row 3", "repeated"]),
    "click 2": (bad({"clicks": [1, 2]}), ["row 3", "neither 0 nor 1"]),
    "click nan": (bad({"clicks": [1, NAN]}), ["row 3", "neither 0 nor 1"]),
    "click text": (bad({"clicks": [1, "x"]}), ["row 3", "neither 0 nor 1", "'x'"]),
    "no query": (bad({"query": None}), ["row 3", "query is missing"]),
    "no item": (bad({"items": ["a", None]}), ["row 3", "an item is missing"]),
    "no items": (bad({"items": [], "clicks": []}), ["row 3", "items is missing, empty"]),
    "items text": (bad({"items": "ab"}), ["row 3", "not a list", "items='ab'"]),
    "reward nan": (bad({"reward": NAN}, reward=1.0), ["row 3", "reward is missing, NaN"]),
    "reward text": (bad({"reward": "high"}, reward=1.0), ["row 3", "'high'"]),
    "propensity 0": (bad({"propensity": 0}, propensity=0.5), ["row 3", "(0, 1]"]),
    "propensity 1.5": (bad({"propensity": 1.5}, propensity=0.5), ["row 3", "(0, 1]"]),
    "propensity nan": (bad({"propensity": NAN}, propensity=0.5), ["row 3", "(0, 1]"]),
    "impressions 0": (bad({"impressions": 0}, impressions=2), ["row 3", "positive whole number"]),
    "impressions 1.5": (bad({"impressions": 1.5}, impressions=2), ["row 3", "positive whole number"]),
    "a near miss": ([{"query": "q", "itmes": ["a"], "clicks": [1]}], ["'items'", "is it 'itmes'?", "--columns"]),
    "gap": ([*LONG, {**LONG[0], "impression": 9, "position": 2}], ["row 5", "positions"]),
    "position 0": ([*LONG, {**LONG[0], "impression": 9, "position": 0}], ["row 5", "positions"]),
    "position twice": ([*LONG, {**LONG[0], "item": "c"}], ["row 1", "positions"]),
    "two queries": (
        [*LONG, {**LONG[1], "query": "r", "position": 3, "item": "c", "impression": 0}],
        ["differ in query"],
    ),
    "no impression": ([*LONG, {**LONG[0], "impression": None}], ["row 5", "impression is missing"]),
    "no position": ([{k: v for k, v in row.items() if k != "position"} for row in LONG], ["'position'"]),
}


@pytest.mark.parametrize("name", ROWS)
def test_rows(name: str, tmp_path: Path, target: Path) -> None:
    rows, words = ROWS[name]
    (tmp_path / "log.jsonl").write_text(lines(rows))
    message = refused("evaluate", tmp_path / "log.jsonl", "--target", target)
    for word in ["log.jsonl", *words]:
        assert word in message


CSV = 'query,items,clicks\nq,"[""a"",""b""]","[1,0]"\n'
FILES: dict[str, tuple[bytes, str]] = {
    "empty.csv": (b"", "is empty"),
    "empty.parquet": (b"", "is empty"),
    "header.csv": (b"query,items,clicks\n", "no rows"),
    "blank.jsonl": (b"\n \n", "is empty"),
    "text.parquet": (b"query,items\n", "not a Parquet file"),
    "unknown.xlsx": (b"x", ".parquet, .csv, .tsv, .jsonl"),
    "broken.jsonl": (b'{"query":"q","items":["a"],"clicks":[1]}\n{"query":"q","ite\n', "row 2"),
    "words.jsonl": (b"hello\nworld\n", "one JSON object a line"),
    "short.csv": (CSV.encode() + b"q\n", "row 2: the row has not as many values"),
    "wide.csv": (CSV.encode() + b'q,"[""a""]",[1],2\n', "row 2: the row has not as many values"),
    "quote.csv": (CSV.encode() + b'q,"[""a""],[1]\n', "quote"),
    "list.csv": (CSV.encode() + b"q,a b,[1]\n", "row 2"),
    "binary.csv": (bytes(range(256)) * 50, "not a text file"),
    "latin.csv": ((CSV + 'é,"[""a""]",[1]\n').encode("latin-1"), "UTF-8"),
    "latin.jsonl": (
        b'{"query":"q","items":["a"],"clicks":[1]}\n{"query":"\xe9","items":["a"],"clicks":[1]}\n',
        "row 2",
    ),
    "wide16.csv": (CSV.encode("utf-16"), "UTF-16"),
    "mark.json": (b"\xef\xbb\xbf" + json.dumps(GOOD).encode(), "byte order mark"),
    "twice.csv": (b'query,items,items,clicks\nq,"[""a""]","[""a""]",[1]\n', "distinct column names"),
    "no.csv.gz": (CSV.encode(), "gzip"),
    "cut.jsonl.gz": (gzip.compress((lines(GOOD) * 50_000).encode())[:-50], "cut short"),
}


@pytest.mark.parametrize("name", FILES)
def test_files(name: str, tmp_path: Path, target: Path) -> None:
    content, word = FILES[name]
    path = tmp_path / name
    path.write_bytes(content)
    message = refused("evaluate", path, "--target", target)
    assert name in message
    assert word in message


READ = [CSV.replace("\n", "\r\n").encode(), b"\xef\xbb\xbf" + CSV.encode(), CSV.rstrip().encode()]


@pytest.mark.parametrize("content", READ, ids=["Windows", "byte order mark", "no last newline"])
def test_csv_as_other_programs_write_it(content: bytes, tmp_path: Path, target: Path) -> None:
    (tmp_path / "log.csv").write_bytes(content)
    result = run("evaluate", tmp_path / "log.csv", "--target", target, "--json")
    assert result.exit_code == 0, result.stderr
    assert json.loads(result.stdout)["impressions"] == 1


OPTIONS: dict[str, list[str]] = {
    "--estimator lst": ["'lst'", "did you mean 'list'"],
    "--engine dukdb": ["did you mean 'duckdb'"],
    "--format yandx": ["did you mean 'yandex'"],
    "--weights dgc": ["did you mean 'dcg'"],
    "--weights 1": ["2 positions", "--top 1"],
    "--weights 1,-1": ["0 or more"],
    "--weights 1,nan": ["finite"],
    "--examination reciprocl": ["did you mean 'reciprocal'"],
    "--examination 1": ["2 positions"],
    "--metric clicsk": ["did you mean 'clicks'"],
    "--interval nrmal": ["did you mean 'normal'"],
    "--metric reward": ["'reward'"],
    "--top 0": ["from 1 to"],
    "--top -1": ["from 1 to"],
    "--top 9223372036854775808": ["from 1 to"],
    "--top x": ["--top"],
    "--clip 0": ["positive number"],
    "--clip -1": ["positive number"],
    "--clip nan": ["positive number"],
    "--clip x": ["positive number"],
    "--confidence 0": ["between 0 and 1"],
    "--confidence 1": ["between 0 and 1"],
    "--confidence 1.5": ["between 0 and 1"],
    "--logging lgo": ["did you mean 'log'"],
    "--logging none.parquet": ["none.parquet", "check the path"],
    "--logging propensity": ["'propensity'"],
    "--candidates none.csv": ["none.csv", "check the path"],
    "--per-query nowhere/x.csv": ["'nowhere'", "make it first"],
    "--per-query x.xlsx": [".parquet, .csv, .jsonl"],
    "--bad-rows nowhere/x.jsonl": ["'nowhere'"],
    "--bad-rows x.csv": [".jsonl"],
    "--columns query": ["OURS=THEIRS"],
    "--columns qury=q": ["did you mean 'query'"],
    "--columns query=kwery": ["'kwery'", "is it 'query'?"],
    "--time-unit s": ["yandex"],
    "--nope": ["--nope", "evaluate --help"],
}


@pytest.mark.parametrize("option", OPTIONS)
def test_options(option: str, good: Path, target: Path) -> None:
    message = refused("evaluate", good, "--target", target, *option.split())
    for word in OPTIONS[option]:
        assert word in message


@pytest.mark.parametrize("option", ["--top 3", "--weights dcg", "--estimator ip"])
def test_what_a_page_reward_cannot_have(option: str, tmp_path: Path, target: Path) -> None:
    (tmp_path / "log.jsonl").write_text(lines([{**row, "reward": 1.0} for row in GOOD]))
    assert "--metric clicks" in refused("evaluate", tmp_path / "log.jsonl", "--target", target, *option.split())


TARGETS: dict[str, tuple[Rows, list[str]]] = {
    "unknown queries": ([{"query": "z", "items": ["a"]}], ["none of the log's queries"]),
    "sum": ([{"query": "q", "items": ["a"], "probability": 0.97}], ["0.97"]),
    "negative": ([{"query": "q", "items": ["a"], "probability": -0.5}], ["-0.5", "row 1"]),
    "repeated": ([{"query": "q", "items": ["a", "a"]}], ["twice"]),
    "not a list": ([{"query": "q", "items": ["a"]}, {"query": "r", "items": 3}], ["row 2", "'3'", "JSON list"]),
    "near miss": ([{"query": "q", "item": "a", "scor": 1}], ["'score'", "is it 'scor'?"]),
}


@pytest.mark.parametrize("name", TARGETS)
def test_targets(name: str, tmp_path: Path, good: Path) -> None:
    rows, words = TARGETS[name]
    (tmp_path / "bad.jsonl").write_text(lines(rows))
    message = refused("evaluate", good, "--target", tmp_path / "bad.jsonl")
    for word in words:
        assert word in message


def test_what_is_not_there(tmp_path: Path, good: Path, target: Path) -> None:
    assert "check the path" in refused("evaluate", tmp_path / "no.parquet", "--target", target)
    assert "check the path" in refused("evaluate", good, "--target", tmp_path / "no.parquet")
    assert "did you mean 'logging'" in refused("evaluate", good, "--target", "loging")
    assert "--target" in refused("evaluate", good)
    assert "'evaluate'" in refused("evalute", good)
    (tmp_path / "folder").mkdir()
    assert "no data files" in refused("evaluate", tmp_path / "folder", "--target", target)
    with duckdb.connect(str(tmp_path / "d.duckdb")) as connection:
        connection.sql("CREATE TABLE clicks AS SELECT 1 AS query")
    assert "choose from 'clicks'" in refused("evaluate", f"{tmp_path}/d.duckdb:click", "--target", target)


def test_files_that_would_be_overwritten(tmp_path: Path, good: Path, target: Path) -> None:
    for option in ("--bad-rows", "--per-query"):
        for path in (good, target):
            before = path.read_text()
            refused("evaluate", good, "--target", target, option, path)
            assert path.read_text() == before
    folder = tmp_path / "logs"
    folder.mkdir()
    (folder / "a.jsonl").write_text(lines(GOOD))
    assert "elsewhere" in refused("evaluate", folder, "--target", target, "--bad-rows", folder / "bad.jsonl")


def test_folders_whose_files_differ(tmp_path: Path, target: Path) -> None:
    folder = tmp_path / "logs"
    folder.mkdir()
    (folder / "a.jsonl").write_text(lines(GOOD))
    (folder / "b.jsonl").write_text(lines(LONG))
    assert "long form" in refused("evaluate", folder, "--target", target)
    (folder / "b.jsonl").write_text(lines([{**row, "impressions": 2} for row in GOOD]))
    assert "'impressions'" in refused("evaluate", folder, "--target", target)


def damaged(path: Path, change: Callable[[bytes], bytes]) -> Path:
    table = pa.table({"query": ["q"] * 5000, "items": [["a", "b"]] * 5000, "clicks": [[1, 0]] * 5000})
    pq.write_table(table, path, compression="none", use_dictionary=False)
    path.write_bytes(change(path.read_bytes()))
    return path


def test_damaged_parquet(tmp_path: Path, target: Path) -> None:
    cut = damaged(tmp_path / "cut.parquet", lambda data: data[: len(data) // 2])
    assert "not a Parquet file" in refused("evaluate", cut, "--target", target)
    spoilt = damaged(tmp_path / "spoilt.parquet", lambda data: data[:100] + b"\xff" * 2900 + data[3000:])
    assert "damaged" in refused("evaluate", spoilt, "--target", target)


@pytest.mark.parametrize(
    "arguments", [["no.parquet", "--target", "x.csv"], ["{good}", "--target", "{good}", "--top", "0"]]
)
def test_as_a_process(arguments: list[str], good: Path) -> None:
    words = [word.replace("{good}", str(good)) for word in arguments]
    command = [sys.executable, "-m", "counterrank", "evaluate", *words]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (result.returncode, result.stdout, result.stderr.count("\n")) == (2, "", 1)


def test_a_range_that_the_rewards_are_not_in_is_refused(tmp_path: Path) -> None:
    log = tmp_path / "rewards.jsonl"
    log.write_text(lines([{"query": "q", "items": ["a", "b"], "reward": reward} for reward in (0.0, 0.5, 2.0)]))
    words = "evaluate", log, "--target", "logging", "--interval", "hoeffding", "--reward-range"
    assert "rewards from 0 to 2" in refused(*words, "0,1")
    assert run(*words, "0,2").exit_code == 0


def test_reproduce_refuses_a_file_for_a_folder_before_it_computes(good: Path) -> None:
    assert "give a folder" in refused("reproduce", "coverage", "--quick", "--out", good)
