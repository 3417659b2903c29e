"""Random logs with random damage, shuffled, split, renamed and written in other forms: the same answer or refusal."""

from __future__ import annotations

import json
import random
import tempfile
from pathlib import Path
from typing import Any

import pytest
from forms import Form, answer, differences, without
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from laws.accounting import parted, readers
from worlds import Row, write_rows

QUIET = [HealthCheck.too_slow, HealthCheck.data_too_large]
IDS = {
    "text": ["a", "b", "c d", "é", "it's", "007", "7", "10", "9", "A"],
    "numbers": ["1", "2", "10", "9", "100", "-3", "0", "77", "12345678901234567890", "5"],
}
FORMAL = (
    "engine",
    "rows",
    "rejected",
    "notes",
    "bad_rows",
    "problems",
)  # they speak of rows and files, not of impressions
FOLDERS = ["log", "query=zzz", "day=2024-01-01", "it's", 'a "b"', "run 10:00"]
COMMANDS = [
    "check",
    "evaluate --target T",
    "evaluate --target T --metric clicks --examination em",
    "evaluate --target S --temperature 1",
    "evaluate --target T --estimator ip,wlist --metric clicks --clip auto",
    "evaluate --target T --metric clicks --interval betting --examination eb",
    "evaluate --target T --metric clicks --estimator rips,cdr",
    "compare --target T",
    "compare --target T --metric clicks",
    "compare --target T --target S --metric clicks",
    "compare --target T --baseline uniform --estimator wlist",
    "backtest",
    "clicks --model pbm,cm,dcm",
    "optimize",
    "optimize --delta auto --click-model pbm",
    "optimize --by lp-ip --metric clicks",
    "optimize --by ips",
    "optimize --holdout 0.4",
    "optimize --holdout days --by lp-list",
    "learn --out O --special both --confidence 0.5",
    "log import --store D --again",
]


@st.composite
def random_rows(draw: st.DrawFn) -> list[Row]:
    """Rows of few queries and items, so that rows and rankings repeat."""
    rng = draw(st.randoms(use_true_random=False))
    names = IDS[draw(st.sampled_from(sorted(IDS)))]
    queries, items = names[: draw(st.integers(1, 4))], names[: draw(st.integers(2, 7))]
    has = {name: draw(st.booleans()) for name in ("reward", "day", "propensity", "impressions")}
    longest = draw(st.integers(1, 4))
    rows = []
    for _ in range(draw(st.integers(1, 60))):
        ranking = rng.sample(items, min(rng.randint(1, longest), len(items)))
        row: Row = {"query": rng.choice(queries), "items": ranking}
        row["clicks"] = [int(rng.random() < 0.6 / (k + 1)) for k in range(len(ranking))]
        if has["reward"]:
            row["reward"] = rng.choice([0.0, 1.0, 0.1, -2.5, 40.25])
        if has["day"]:
            row["day"] = rng.randint(1, 4)
        if has["propensity"]:
            row["propensity"] = rng.choice([0.1, 0.25, 1.0])
        if has["impressions"]:
            row["impressions"] = rng.choice([1, 1, 2, 9])
        rows.append(row)
    return rows


def damaged(rows: list[Row], damage: list[tuple[int, str]]) -> list[Row]:
    """Some rows as no log should have them; what is wrong can be written in every form."""
    out = [dict(row) for row in rows]
    for number, what in damage:
        row = out[number % len(out)]
        if what == "click":
            row["clicks"] = [2, *row["clicks"][1:]]
        elif what == "repeated":
            row["items"], row["clicks"] = [*row["items"], row["items"][0]], [*row["clicks"], 0]
        elif what == "query":
            row["query"] = None
        elif what == "item":
            row["items"] = [None, *row["items"][1:]]
        elif what == "propensity" and "propensity" in row:
            row["propensity"] = 1.5
        elif what == "day" and "day" in row:
            row["day"] = None
        elif what == "reward" and "reward" in row:
            row["reward"] = None
    return out


damages = st.lists(
    st.tuples(
        st.integers(0, 59), st.sampled_from(["click", "repeated", "query", "item", "propensity", "day", "reward"])
    ),
    max_size=4,
)
forms = st.builds(
    Form,
    kind=st.sampled_from(["parquet", "csv", "jsonl", "csv.gz", "jsonl.gz", "duckdb"]),
    long=st.booleans(),
    counted=st.booleans(),
    files=st.integers(1, 4),
    folder=st.sampled_from(FOLDERS),
    seed=st.integers(1, 10**6),
)


def write_policies(rows: list[Row], folder: Path) -> dict[str, Any]:
    rng = random.Random(len(rows))
    known: dict[str, set[str]] = {}
    for row in rows:
        known.setdefault(row["query"], set()).update(row["items"])
    in_order = {query: sorted(items) for query, items in sorted(known.items())}
    table = [{"query": q, "items": rng.sample(items, len(items)), "probability": 1.0} for q, items in in_order.items()]
    scores = [
        {"query": q, "item": a, "score": float(rng.randint(0, 2))} for q, items in in_order.items() for a in items
    ]
    return {
        "T": write_rows(table, folder, "table", "parquet"),
        "S": write_rows(scores, folder, "scores", "parquet"),
        "O": folder / "learnt",
        "D": folder / "store.db",
    }


def same_answer(
    rows: list[Row], damage: list[tuple[int, str]], aside: bool, form: Form, command: str, engine: str
) -> None:
    """The log as it is and in another form; where bad rows are set `aside`, all of them are found in the file."""
    bad = damaged(rows, damage)
    said = []
    with tempfile.TemporaryDirectory() as place:
        below = Path(place)
        files = write_policies(rows, below)
        name, typed = parted(command)
        options = [files.get(word, word) for word in typed]
        for number, (each, more) in enumerate(((Form(), []), (form, ["--engine", engine]))):
            if aside:
                more = [*more, "--bad-rows", below / f"bad{number}.jsonl"]
            found = answer(name, each.write(bad, below / str(number)), *options, *more)
            if aside and "rejected" in found:
                file = below / f"bad{number}.jsonl"
                lines = [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []
                assert (len(lines), found["rows"] + found["rejected"]) == (found["rejected"], each.rows(bad)), found
            said.append(found)
    expected, got = (without(each, FORMAL) for each in said)
    found = list(differences(expected, got))
    assert not found, found[:5]


def test_every_command_that_reads_a_log_is_here() -> None:
    assert {parted(command)[0] for command in COMMANDS} == set(readers())


@settings(max_examples=30, deadline=None, suppress_health_check=QUIET)
@given(
    random_rows(),
    damages,
    st.booleans(),
    forms,
    st.sampled_from(COMMANDS),
    st.sampled_from(["duckdb", "duckdb", "duckdb", "ibis"]),
)
def test_random_logs(
    rows: list[Row], damage: list[tuple[int, str]], aside: bool, form: Form, command: str, engine: str
) -> None:
    same_answer(rows, damage, aside, form, command, engine)


@pytest.mark.slow
@settings(max_examples=1000, deadline=None, suppress_health_check=QUIET)
@given(
    random_rows(),
    damages,
    st.booleans(),
    forms,
    st.sampled_from(COMMANDS),
    st.sampled_from(["duckdb", "duckdb", "ibis"]),
)
def test_many_random_logs(
    rows: list[Row], damage: list[tuple[int, str]], aside: bool, form: Form, command: str, engine: str
) -> None:
    same_answer(rows, damage, aside, form, command, engine)
