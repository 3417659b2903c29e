"""One log in many forms, and the answers of the command line to compare."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
from typer.testing import CliRunner

from counterrank.cli import app
from worlds import Row, to_arrow, to_long, write_rows

LIMIT = 1e-9


@dataclass(frozen=True)
class Form:
    """How the rows are written down: their order, into how many files, of which kind."""

    kind: str = "parquet"  # or csv, jsonl, csv.gz, jsonl.gz, duckdb
    long: bool = False
    counted: bool = False  # equal rows as one, with `impressions`; else every impression has a row
    files: int = 1
    folder: str = "log"
    seed: int = 0  # 0: the rows as they are

    def write(self, rows: list[Row], below: Path) -> str:
        """The path to give to a command."""
        rng = random.Random(self.seed)
        rows = (as_counted if self.counted else written_out)(rows)
        if self.seed:
            rng.shuffle(rows)
        place = below / self.folder
        place.mkdir(parents=True, exist_ok=True)
        if self.kind == "duckdb":
            rows = to_long(rows, rng) if self.long else rows
            with duckdb.connect(str(place / "log.duckdb")) as base:
                base.register("given", to_arrow(rows))
                base.execute("CREATE TABLE clicks AS SELECT * FROM given")
            return f"{place / 'log.duckdb'}:clicks"
        size = -(-len(rows) // self.files)
        numbered = [rows[at : at + size] for at in range(0, len(rows), size)]
        for number, part in enumerate(numbered):
            if self.long:
                part = [{**row, "impression": row["impression"] + number * size} for row in to_long(part, rng)]
            write_rows(part, place, f"part{number}", self.kind)
        return str(place)

    def rows(self, rows: list[Row]) -> int:
        """How many rows the log has in this form; in the long form, an impression is one."""
        return len((as_counted if self.counted else written_out)(rows))


def as_counted(rows: list[Row]) -> list[Row]:
    found: dict[str, Row] = {}
    for row in rows:
        key = json.dumps({k: v for k, v in row.items() if k != "impressions"}, sort_keys=True)
        if key in found:
            found[key]["impressions"] += row.get("impressions", 1)
        else:
            found[key] = {**row, "impressions": row.get("impressions", 1)}
    return list(found.values())


def written_out(rows: list[Row]) -> list[Row]:
    return [
        {k: v for k, v in row.items() if k != "impressions"} for row in rows for _ in range(row.get("impressions", 1))
    ]


def answer(*words: object) -> Any:
    """What a command says with --json, or the exit code of a refusal. Its name is one word here, though it be two."""
    name, *rest = map(str, words)
    result = CliRunner().invoke(app, [*name.split(), *rest, "--json"], env={"COLUMNS": "100", "NO_COLOR": "1"})
    if result.exit_code == 2:
        return {"refused": 2}
    assert result.exit_code == 0, (words, result.output, result.stderr, result.exception)
    return json.loads(result.stdout)


def differences(one: Any, other: Any, where: str = "", limit: float = LIMIT) -> Iterator[str]:
    """Where two answers differ by more than `limit`, relative to the larger of 1 and the number."""
    if isinstance(one, dict) and isinstance(other, dict):
        for name in sorted(one.keys() | other.keys()):
            if name not in one or name not in other:
                yield f"{where}.{name} is there once only"
            else:
                yield from differences(one[name], other[name], f"{where}.{name}", limit)
    elif isinstance(one, list) and isinstance(other, list):
        if len(one) != len(other):
            only = [str(each)[:200] for each in [*one, *other] if (each in one) != (each in other)]
            yield f"{where} has {len(one)} and {len(other)} entries: {only[:4]} are in one only"
            return
        for number, (a, b) in enumerate(zip(one, other, strict=False)):
            yield from differences(a, b, f"{where}[{number}]", limit)
    elif _number(one) and _number(other):
        if not math.isclose(one, other, rel_tol=limit, abs_tol=limit):
            yield f"{where}: {one!r} and {other!r}"
    elif one != other:
        yield f"{where}: {one!r} and {other!r}"


def without(said: Any, names: Collection[str]) -> Any:
    """An answer without fields of these names, wherever they stand."""
    if isinstance(said, dict):
        return {name: without(each, names) for name, each in said.items() if name not in names}
    return [without(each, names) for each in said] if isinstance(said, list) else said


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
