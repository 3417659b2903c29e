"""Whatever comes: exit code 0 and valid output, or 2 and one line. Every command, every option, every kind of file."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hostile_cli import every_parameter, run, wrong_with, wrong_with_json, wrong_with_page
from hostile_values import (
    NUMBERS,
    PATHS,
    TEXTS,
    WHOLE,
    good_log,
    odd_logs,
    odd_policies,
    write_all,
)

from counterrank.cli import COMMANDS, function
from counterrank.cli.files import Reads, marks
from counterrank.service.store import Store
from service.service_worlds import given, shown, written

SLOW = {"reproduce", "demo", "warm"}  # a good call of these takes long: only what is refused is tried
READS_A_LOG = [
    name for name in COMMANDS if any(p.argument and p.name == "log" for p in every_parameter() if p.command == name)
]

NO_JSON = {name for name in COMMANDS if not any(p.name == "--json" for p in every_parameter() if p.command == name)}
OF_A_STORE = ("log export", "log backup", "log erase")
COUNTER = itertools.count()
ARGUMENTS = {found.name for found in every_parameter() if found.argument}
PARTS = [pytest.param(19, id="some"), pytest.param(1, id="all", marks=pytest.mark.slow)]
FEWER = [pytest.param(41, id="some"), pytest.param(1, id="all", marks=pytest.mark.slow)]
VALUES = {int: WHOLE, float: NUMBERS, Path: PATHS, str: TEXTS}
FOR_FILES = {
    ("evaluate", "--features"): ["--estimator", "dm,dr,dr-list"],
    ("compare", "--features"): ["--estimator", "dm"],
    ("optimize", "--features"): ["--by", "pi-opt"],
    ("optimize", "--logging"): ["--by", "lp-ip"],
}


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a good log, policy, candidates and features, where relative names end up."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.delenv("COUNTERRANK_DATA", raising=False)
    with Store.open("store.db") as store:
        page = shown()
        written(store, page, given(page.impression, "a"))
        store.backup("backup.db")
    both = [{"query": query, "items": ["b", "a", "c"]} for query in "qp"]
    pairs = [{"query": query, "item": item} for query in "qp" for item in "abc"]
    priced = [{**row, "price": i % 4} for i, row in enumerate(pairs)]
    for name, rows in {"log": good_log(), "new": both, "pairs": pairs, "features": priced}.items():
        pq.write_table(pa.Table.from_pylist(rows), f"{name}.parquet")  # read in a tenth of the time that text takes
    return tmp_path


def usual(command: str, without: str = "") -> list[str]:
    """A good call of a command, without one of its options."""
    words = command.split() + (["log.parquet"] if command in READS_A_LOG and without != "log" else [])
    words += ["new.parquet"] if command == "rank" and without != "policy" else []
    words += ["store.db"] if command in OF_A_STORE and without != "store" else []
    words += ["backup.db"] if command == "log restore" and without != "backup" else []
    needed = {
        "evaluate": {"--target": "new.parquet"}, "compare": {"--target": "new.parquet"},
        "rank": {"--out": "ranked.jsonl"}, "learn": {"--out": "learnt"},
        "log export": {"--out": "export.jsonl"}, "log backup": {"--out": "copy.db"},
        "log erase": {"--item": "a"}, "log import": {"--store": "new.db", "--again": None},
        "log restore": {"--store": f"restored-{next(COUNTER)}.db"},
        "serve": {"--store": "sqlite:///store.db", "--verify": None},  # without the last it would go on for ever
        "simulate": {"--out": "made.jsonl", "--impressions": "50", "--queries": "3", "--items": "4", "--k": "3"},
    }.get(command, {})  # fmt: skip
    return words + [word for name, value in needed.items() if name != without for word in (name, value) if word]


def some(calls: list[list[str]], part: int, command: str) -> list[list[str]]:
    """Every `part`-th call; each command begins elsewhere, so that together they try most of all values."""
    return calls[list(COMMANDS).index(command) % part :: part]


def failures(calls: list[list[str]], more: Callable[[], str | None] = lambda: None) -> list[str]:
    found = []
    for words in calls:
        outcome = run(*words)
        said = wrong_with(outcome) or (more() if outcome.code == 0 else None)
        if said:
            found.append(f"{' '.join(map(ascii, words))}: {said}"[:600])
    return found


def option_calls(command: str) -> list[list[str]]:
    """Every option with every hostile value of its kind."""
    calls = []
    for parameter in every_parameter():
        if parameter.command != command or (command in SLOW and parameter.kind not in (int, str)):
            continue
        for i, value in enumerate(VALUES.get(parameter.kind, [])):
            given = ["--", value] if parameter.argument else [f"{parameter.name}={value}"]
            shown = ["--json"] if i % 2 and command not in NO_JSON else []
            calls.append([*usual(command, parameter.name), *shown, *given])
    return calls


def log_calls(command: str, folder: Path) -> list[list[str]]:
    """Every odd log, with and without a place for bad rows."""
    calls = []
    for i, path in enumerate(write_all(folder, odd_logs()) if command in READS_A_LOG else []):
        shown, aside = ["--json"] if i % 2 else [], ["--bad-rows", "bad.jsonl"] if i % 3 else []
        name, *options = command, *usual(command, "log")[len(command.split()) :]
        calls.append([*name.split(), str(path), *options, *shown, *aside])
    return calls


def file_calls(command: str, folder: Path) -> list[list[str]]:
    """Every odd policy, table of candidates or features, for whatever else the command reads."""
    calls = []
    paths = write_all(folder, odd_policies())
    for name, mark in marks(function(command)).items():
        option = "--" + name.replace("_", "-")
        if not isinstance(mark, Reads) or name in ("log", "data"):
            continue
        for i, path in enumerate(paths):
            given = ["--", str(path)] if name in ARGUMENTS else [option, str(path)]
            shown = ["--json"] if i % 2 and command not in NO_JSON else []
            calls.append(
                [
                    *usual(command, name if name in ARGUMENTS else option),
                    *FOR_FILES.get((command, option), []),
                    *shown,
                    *given,
                ]
            )
    return calls


@pytest.mark.parametrize("command", [name for name in COMMANDS if name not in SLOW])
def test_the_usual_call_gives_an_answer(command: str, place: Path) -> None:
    """Else every hostile call of it would be refused for something else: say in `usual` what a new command needs."""
    outcome = run(*usual(command))
    assert (outcome.code, outcome.err) == (0, "")


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("command", COMMANDS)
def test_options(command: str, part: int, place: Path) -> None:
    assert failures(some(option_calls(command), part, command)) == []


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("command", COMMANDS)
def test_files(command: str, part: int, place: Path) -> None:
    calls = log_calls(command, place / "logs") + file_calls(command, place / "others")
    assert failures(some(calls, part, command)) == []


NUMERIC = (
    "reward",
    "propensity",
    "impressions",
    "day",
    "item_propensities",
    "all clicks",
    "no clicks",
    "one",
    "ragged",
)
VARIANTS = {
    "evaluate": [
        "--interval bootstrap", "--interval empirical-bernstein", "--interval hoeffding --reward-range=-1e50,1e50",
        "--interval sequence", "--interval theorem3", "--logging propensity", "--metric clicks --clip auto",
        "--estimator pi,wpi,rctr", "--features features.parquet --estimator dm,dr,dr-list", "--report page.html",
        "--metric clicks --weights 1e50,1e-50,0", "--metric clicks --examination em", "--confidence 0.999999999",
        "--features features.parquet --model tree", "--estimator best", "--clip 1e-50", "--per-query queries.jsonl",
    ],
    "compare": [
        "--estimator list", "--estimator pi --report page.html", "--weights 1e50,1e50,1e50", "--report page.html",
        "--confidence 1e-50", "--baseline uniform", "--estimator rctr --interval bootstrap",
        "--per-query queries.jsonl",
    ],
    "backtest": ["--clips 1e-50,1e50,none", "--weights 1e50,1,1", "--confidence 0.999999999"],
    "clicks": ["--prior fit", "--prior 1e-300,1e300", "--split day", "--scope query", "--prior grid --iterations 1"],
    "optimize": [
        "--by lp-list", "--by lp-ip --clip 1e-50", "--by lp-pbm", "--by lp-item", "--by ips", "--by ip-ips", "--by pi",
        "--by pi-opt --features features.parquet", "--bound hoeffding --delta 5e-324", "--bound kl --click-model pbm",
        "--bound mle --click-model dcm", "--prior 1e-300,1e300 --bound bayes", "--delta auto",
    ],
    "learn": [
        "--gate genspec", "--gate sea --confidence 1e-50", "--special both --confidence 0.99999999", "--seed 7",
        "--confidence none",
        "--features features.parquet --model ridge", "--weights 1e50,1e-50,0", "--examination em", "--clip 1e-50",
        "--logging uniform", "--report page.html", "--selection-share 1e-9", "--top 1",
    ],
    "check": ["--top 1", ""],
}  # fmt: skip


@pytest.mark.parametrize("part", FEWER)
@pytest.mark.parametrize("command", VARIANTS)
def test_numbers_at_the_edge(command: str, part: int, place: Path) -> None:
    (place / "odd").mkdir()
    calls = []
    for i, (name, content) in enumerate(odd_logs().items()):
        if not name.startswith(NUMERIC):
            continue
        (place / "odd" / name).write_bytes(content)
        for j, variant in enumerate(VARIANTS[command]):
            shown = ["--json"] if (i + j) % 2 else []
            calls.append([command, f"odd/{name}", *usual(command, "log")[1:], *variant.split(), *shown])
    assert failures(some(calls, part, command), lambda: _written(place)) == []


def _written(place: Path) -> str | None:
    """What is wrong with the files that a command wrote, which go."""
    said = None
    page, table = place / "page.html", place / "queries.jsonl"
    if page.exists():
        said = wrong_with_page(page)
        page.unlink()
    if table.exists():
        said = said or next(filter(None, map(wrong_with_json, table.read_text().splitlines())), None)
        table.unlink()
    return said
