"""Random logs with random damage, shuffled, split, renamed and written in other forms: the same answer or refusal."""

from __future__ import annotations

import random
import tempfile
from pathlib import Path
from typing import Any

import pytest
from forms import Form, answer, differences
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from worlds import Row, write_rows

QUIET = [HealthCheck.too_slow, HealthCheck.data_too_large]
IDS = {
    "text": ["a", "b", "c d", "é", "it's", "007", "7", "10", "9", "A"],
    "numbers": ["1", "2", "10", "9", "100", "-3", "0", "77", "12345678901234567890", "5"],
}
FOLDERS = ["log", "query=zzz", "day=2024-01-01", "it's", 'a "b"', "run 10:00"]
COMMANDS = [
    "check",
    "evaluate --target T",
    "evaluate --target T --metric clicks --examination em",
    "evaluate --target S --temperature 1",
    "evaluate --target T --estimator ip,wlist --metric clicks --clip auto",
    "compare --target T",
    "compare --target T --baseline uniform --estimator wlist",
    "backtest",
    "clicks --model pbm,cm,dcm",
    "optimize",
    "optimize --delta auto --click-model pbm",
    "optimize --by lp-ip --metric clicks",
    "optimize --by ips",
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
    }


def same_answer(rows: list[Row], form: Form, command: str, engine: str) -> None:
    with tempfile.TemporaryDirectory() as place:
        below = Path(place)
        files = write_policies(rows, below)
        name, *options = (files.get(word, word) for word in command.split())
        expected = answer(name, Form().write(rows, below / "plain"), *options)
        got = answer(name, form.write(rows, below / "other"), *options, "--engine", engine)
    for said in (expected, got):
        for name in ("engine", "rows"):  # how many rows stand for the impressions is a matter of form
            said.pop(name, None)
    found = list(differences(expected, got))
    assert not found, found[:5]


@settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=QUIET)
@given(random_rows(), forms, st.sampled_from(COMMANDS), st.sampled_from(["duckdb", "duckdb", "duckdb", "ibis"]))
def test_random_logs(rows: list[Row], form: Form, command: str, engine: str) -> None:
    same_answer(rows, form, command, engine)


@pytest.mark.slow
@settings(max_examples=1000, deadline=None, suppress_health_check=QUIET, print_blob=True)
@given(random_rows(), forms, st.sampled_from(COMMANDS), st.sampled_from(["duckdb", "duckdb", "ibis"]))
def test_many_random_logs(rows: list[Row], form: Form, command: str, engine: str) -> None:
    same_answer(rows, form, command, engine)
