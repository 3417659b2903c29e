"""Logs with bad rows of every kind in every form, and the commands that read a log: what the matrix is made of."""

from __future__ import annotations

import gzip
import inspect
import io
import json
import random
from collections.abc import Callable, Sequence
from csv import writer
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from counterrank.cli import COMMANDS, function

Row = dict[str, Any]
NAN = float("nan")
CLICKED = {"a": 0.8, "b": 0.3, "c": 0.1, "x": 0.7, "y": 0.15}  # how often, at the top
COLUMNS = {
    "query": pa.string(),
    "items": pa.list_(pa.string()),
    "clicks": pa.list_(pa.float64()),
    "reward": pa.float64(),
    "day": pa.float64(),
    "propensity": pa.float64(),
    "item_propensities": pa.list_(pa.float64()),
    "impressions": pa.float64(),
}
LONG = {
    "impression": pa.string(), "query": pa.string(), "position": pa.float64(), "item": pa.string(),
    "click": pa.float64(), "reward": pa.float64(), "day": pa.float64(), "propensity": pa.float64(),
    "item_propensity": pa.float64(), "impressions": pa.float64(),
}  # fmt: skip


def good_rows() -> list[Row]:
    """Two queries, three days, rankings that vary, items that differ: enough for every command.

    Were all items clicked alike, a curve by empirical Bayes would take ten times as long to fit.
    """
    rng = random.Random(3)
    pages = [("q1", ["a", "b", "c"]), ("q1", ["b", "a", "c"]), ("q2", ["x", "y"]), ("q2", ["y", "x"])]
    rows = []
    for i in range(48):
        query, items = pages[i % 4]
        clicks = [float(rng.random() < CLICKED[item] / (k + 1)) for k, item in enumerate(items)]
        rows.append(
            {"query": query, "items": items, "clicks": clicks, "reward": sum(clicks), "day": float(i // 16),
             "propensity": 0.5, "item_propensities": [0.5] * len(items), "impressions": 1.0}
        )  # fmt: skip
    return rows


def bad(mark: str, **changes: Any) -> Row:
    """A good row but for the changes. Its mark stands in an item, so that it can be found again."""
    row = {"query": "q1", "items": [mark, "b"], "clicks": [0.0, 1.0], "reward": 1.0, "day": 0.0, "propensity": 0.5,
           "item_propensities": [0.5, 0.25], "impressions": 1.0}  # fmt: skip
    return row | changes


# kinds of bad row that every form can hold: what makes it bad, by name
BAD: dict[str, Row] = {
    "no query": {"query": None},
    "no clicks": {"clicks": [None, None]},
    "two clicks on one": {"clicks": [2.0, 0.0]},
    "half a click": {"clicks": [0.5, 0.0]},
    "click not a number": {"clicks": [NAN, 0.0]},
    "no reward": {"reward": None},
    "reward not a number": {"reward": NAN},
    "endless reward": {"reward": float("inf")},
    "huge reward": {"reward": 1e308},
    "no propensity": {"propensity": None},
    "propensity 0": {"propensity": 0.0},
    "propensity above 1": {"propensity": 1.5},
    "an item propensity missing": {"item_propensities": [0.5, None]},
    "an item propensity of 0": {"item_propensities": [0.0, 0.5]},
    "an item propensity above 1": {"item_propensities": [0.5, 1.5]},
    "an item propensity not a number": {"item_propensities": [NAN, 0.5]},
    "no impressions": {"impressions": 0.0},
    "half an impression": {"impressions": 1.5},
    "fewer than none": {"impressions": -1.0},
    "no day": {"day": None},
    "half a day": {"day": 0.5},
    "endless day": {"day": float("inf")},
}
# those that only a row with lists can hold
LISTS: dict[str, Row] = {
    "no items": {"items": None},
    "an item missing": {"items": ["MARK", None]},
    "an item repeated": {"items": ["MARK", "MARK"]},
    "a click too few": {"clicks": [1.0]},
    "clicks missing": {"clicks": None},
    "an item propensity too few": {"item_propensities": [0.5]},
    "item propensities missing": {"item_propensities": None},
}


def bad_rows(long: bool) -> dict[str, Row]:
    """A bad row of every kind, by its mark."""
    kinds = BAD if long else BAD | LISTS
    out = {}
    for number, (kind, changes) in enumerate(kinds.items()):
        mark = f"mark-{number:02d}"
        given = {name: [mark if v == "MARK" else v for v in value] if isinstance(value, list) else value
                 for name, value in changes.items()}  # fmt: skip
        row = bad(mark, **given)
        out[mark] = row | ({"query": mark} if kind == "no items" else {})
    return out


def mixed(bad: dict[str, Row]) -> list[Row]:
    """Bad rows among good ones, not at an end."""
    good = good_rows()
    rows, spread = list(good), list(bad.values())
    for number, row in enumerate(spread):
        rows.insert(3 + number * 2, row)
    return rows


def to_long(rows: Sequence[Row]) -> list[Row]:
    page = ("query", "reward", "day", "propensity", "impressions")
    return [
        {"impression": f"i{number}", "position": float(k + 1), "item": item, "click": click}
        | {"item_propensity": row["item_propensities"][k]}
        | {name: row[name] for name in page}
        for number, row in enumerate(rows)
        for k, (item, click) in enumerate(zip(row["items"], row["clicks"], strict=True))
    ]


def as_arrow(rows: Sequence[Row], long: bool) -> pa.Table:
    kinds = LONG if long else COLUMNS
    return pa.table({name: pa.array([row[name] for row in rows], kind) for name, kind in kinds.items()})


def as_csv(rows: Sequence[Row], separator: str = ",") -> bytes:
    out = io.StringIO()
    table = writer(out, delimiter=separator, lineterminator="\n")
    table.writerow(rows[0])
    for row in rows:
        cells = [json.dumps(v) if isinstance(v, list) else "" if v is None else v for v in row.values()]
        table.writerow(cells)
    return out.getvalue().encode()


def as_json_lines(rows: Sequence[Row]) -> bytes:
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def _halves(rows: Sequence[Row], folder: Path, write: Callable[[Sequence[Row], Path], None], kind: str) -> Path:
    """The rows in two files of a folder whose name looks like a partition's."""
    place = folder / "query=zzz"
    place.mkdir()
    cut = len(rows) // 2
    write(rows[:cut], place / f"part:1.{kind}")
    write(rows[cut:], place / f"part 2.{kind}")
    return place


def _database(table: pa.Table, path: Path) -> str:
    with duckdb.connect(str(path)) as connection:
        connection.register("rows", table)
        connection.execute("CREATE TABLE log AS SELECT * FROM rows")
    return f"{path}:log"


def write_form(rows: Sequence[Row], folder: Path, form: str) -> str:
    """The rows as a log in this form: what to call it on the command line."""
    long = form.startswith("long ")
    kind = form.removeprefix("long ")
    written = to_long(rows) if long else list(rows)
    if kind == "duckdb":
        return _database(as_arrow(written, long), folder / "log.duckdb")
    if kind == "folder":
        return str(_halves(written, folder, lambda part, path: path.write_bytes(as_json_lines(part)) and None, "jsonl"))
    if kind == "parquet":
        pq.write_table(as_arrow(written, long), folder / "log.parquet")
        return str(folder / "log.parquet")
    plain = kind.removesuffix(".gz")
    data = as_json_lines(written) if plain == "jsonl" else as_csv(written, "\t" if plain == "tsv" else ",")
    path = folder / f"log.{kind}"
    path.write_bytes(gzip.compress(data) if kind.endswith(".gz") else data)
    return str(path)


FORMS = [
    "parquet", "csv", "tsv", "jsonl", "csv.gz", "jsonl.gz", "duckdb", "folder",
    "long parquet", "long csv", "long jsonl", "long duckdb",
]  # fmt: skip
REQUIRED: dict[str, str] = {"target": "logging", "out": "out", "store": "store.db"}  # what a needed option gets


def readers() -> dict[str, list[str]]:
    """The commands that read a log, each with what else it must be given. A new command is among them by itself."""
    found = {}
    for name in COMMANDS:
        parameters = inspect.signature(function(name)).parameters
        if "log" not in parameters:
            continue
        words: list[str] = []
        for option, parameter in parameters.items():
            if option in ("log", "context") or parameter.default is not inspect.Parameter.empty:
                continue
            assert option in REQUIRED, f"{name} must be given --{option}: say in REQUIRED what the matrix gives it"
            words += [f"--{option.replace('_', '-')}", REQUIRED[option]]
        found[name] = words
    return found


def parted(command: str) -> tuple[str, list[str]]:
    """The name of a command, of one word or two, and what else was typed."""
    name = next(name for name in COMMANDS if f"{command} ".startswith(f"{name} "))
    return name, command.removeprefix(name).split()
