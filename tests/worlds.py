"""Seeded small worlds: a log, a target policy and options, with hostile ids; and writers of every file form."""

from __future__ import annotations

import csv
import gzip
import io
import json
import random
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

import oracle

HOSTILE = [
    "it's",
    'say "hi"',
    "<script>alert(1)</script>",
    "'; DROP TABLE log; --",
    "naïve café",
    "nai\u0308ve",
    "日本語",
    "🦆",
    "👩‍👩‍👧",
    "שלום",
    "مرحبا",
    "\u202eevil",
    " ",
    " a",
    "a ",
    "a",
    "A",
    "007",
    "7",
    "7.0",
    "07",
    "1e3",
    "1000",
    "-1",
    "0",
    "00",
    "+7",
    "a,b",
    "a\nb",
    "a\tb",
    "back\\slash",
    "\\N",
    "{}",
    "[]",
    '["a"]',
    "{0}",
    "%s",
    "$1",
    "null",
    "None",
    "NaN",
    "nan",
    "inf",
    "true",
    "2024-01-01",
    "a|b",
    "a;b",
    "\u200b",
    "x" * 300,
    "9007199254740993",
    "123456789012345678901234567890",
]

LOG_KINDS = ["parquet", "csv", "jsonl", "csv.gz", "jsonl.gz"]
FORMS = ["list", "long"]
POLICY_KINDS = ["parquet", "csv", "jsonl"]

Row = dict[str, Any]


@dataclass
class World:
    """A log and a question about it. `target` and `logging` are what the oracle takes; `*_rows` what a file holds."""

    rows: list[Row]
    target: oracle.Policy | str
    target_rows: list[Row] | None  # None: a word, "logging" or "uniform"
    temperature: float = 0.0
    options: dict[str, Any] = field(default_factory=dict)  # as both the oracle and the package take them
    logging: oracle.Policy | str | None = None
    logging_rows: list[Row] | None = None  # a file, where logging is a policy
    candidates: dict[str, list[str]] | None = None
    integer_ids: bool = False

    def oracle_options(self) -> dict[str, Any]:
        return {**self.options, "logging": self.logging, "candidates": self.candidates}

    def candidate_rows(self) -> list[Row]:
        return [{"query": q, "item": a} for q, items in (self.candidates or {}).items() for a in items]


# ---------------------------------------------------------------------------------------------------------------------
# Making


def make_ids(rng: random.Random, count: int, style: str) -> list[str]:
    if style == "hostile":
        return rng.sample(HOSTILE, count)
    if style == "integer":
        return [str(i) for i in rng.sample(range(100), count)]
    return [f"i{i}" for i in range(count)]


def make_rows(
    rng: random.Random,
    *,
    queries: int,
    style: str = "plain",
    ragged: bool = True,
    impressions: bool = False,
    propensity: bool = False,
    clicks: bool = True,
    reward: bool = False,
    day: bool = False,
    rows_per_query: tuple[int, int] = (1, 10),
    rankings_per_query: tuple[int, int] = (1, 5),
    items_per_query: tuple[int, int] = (3, 6),
) -> list[Row]:
    rows = []
    equal = rng.randint(1, 3)
    for query in make_ids(rng, queries, style):
        items = make_ids(rng, rng.randint(*items_per_query), style)
        rankings = []
        for _ in range(rng.randint(*rankings_per_query)):
            length = rng.randint(1, min(5, len(items))) if ragged else equal
            rankings.append(rng.sample(items, length))
        chance = {tuple(r): rng.choice([1.0, 0.5, 0.25, 0.1, rng.uniform(0.01, 1)]) for r in rankings}
        for _ in range(rng.randint(*rows_per_query)):
            ranking = rng.choice(rankings)
            row: Row = {"query": query, "items": list(ranking)}
            if clicks:
                row["clicks"] = [int(rng.random() < 0.45) for _ in ranking]
            if reward:
                row["reward"] = rng.choice([0.0, 1.0, rng.gauss(1, 2), rng.random()])
            if propensity:
                row["propensity"] = chance[tuple(ranking)]
            if impressions:
                row["impressions"] = rng.choice([1, 1, 2, 3, 7])
            if day:
                row["day"] = rng.randint(1, 5)
            rows.append(row)
    rng.shuffle(rows)
    return rows


def _spread(rng: random.Random, count: int) -> list[float]:
    parts = [rng.choice([1, 1, 2, rng.random() + 0.01]) for _ in range(count)]
    return [p / sum(parts) for p in parts]


def table_target(rng: random.Random, rows: list[Row], style: str, *, all_queries: bool = False) -> list[Row]:
    """Some of the log's queries, logged and new rankings, longer ones, items never logged; and queries never logged."""
    logged: dict[str, set[tuple[str, ...]]] = {}
    for row in rows:
        logged.setdefault(row["query"], set()).add(tuple(row["items"]))
    covered = [q for q in logged if all_queries or rng.random() < 0.8] or [next(iter(logged))]
    result: list[Row] = []
    for query in covered:
        rankings = sorted(logged[query])
        known = sorted({a for r in rankings for a in r})
        new = [a for a in make_ids(rng, 2, style) if a not in known]
        options: set[tuple[str, ...]] = set()
        for _ in range(1 if rng.random() < 0.3 else rng.randint(2, 5)):
            kind = rng.random()
            pool = known + (new if rng.random() < 0.3 else [])
            if kind < 0.45:
                options.add(rng.choice(rankings))
            elif kind < 0.65:  # a logged ranking, and more below it
                start = rng.choice(rankings)
                rest = [a for a in known + new if a not in start]
                options.add((*start, *rng.sample(rest, rng.randint(0, len(rest)))))
            else:
                options.add(tuple(rng.sample(pool, rng.randint(1, len(pool)))))
        ordered = sorted(options)
        rng.shuffle(ordered)
        for ranking, p in zip(ordered, _spread(rng, len(ordered)), strict=True):
            result.append({"query": query, "items": list(ranking), "probability": p})
    elsewhere = next(q for q in ["nowhere", "987654321"] if (style != "integer" or q.isdigit()) and q not in logged)
    if rng.random() < 0.3:
        some = make_ids(rng, 2, style)
        result.append({"query": elsewhere, "items": some, "probability": 1.0})
    rng.shuffle(result)
    return result


def scores_target(rng: random.Random, rows: list[Row], style: str) -> list[Row]:
    logged: dict[str, set[str]] = {}
    for row in rows:
        logged.setdefault(row["query"], set()).update(row["items"])
    covered = [q for q in logged if rng.random() < 0.85] or [next(iter(logged))]
    result = []
    for query in covered:
        items = sorted(logged[query])
        if len(items) > 1 and rng.random() < 0.3:
            items.remove(rng.choice(items))
        if rng.random() < 0.3:
            items += [a for a in make_ids(rng, 1, style) if a not in logged[query]]
        for item in items:
            score = rng.choice([-1.0, 0.0, 0.0, 1.0, 1.5]) if rng.random() < 0.8 else rng.gauss(0, 1)
            result.append({"query": query, "item": item, "score": score})
    rng.shuffle(result)
    return result


def covering_policy(rng: random.Random, rows: list[Row]) -> list[Row]:
    """A logging policy in a file: on every query, most of the logged rankings and some others."""
    logged: dict[str, list[tuple[str, ...]]] = {}
    for row in rows:
        logged.setdefault(row["query"], []).append(tuple(row["items"]))
    result = []
    for query, rankings in logged.items():
        known = sorted({a for r in rankings for a in r})
        options = [r for r in dict.fromkeys(rankings) if rng.random() < 0.85]
        options += [tuple(rng.sample(known, rng.randint(1, len(known)))) for _ in range(2)]
        options = list(dict.fromkeys(options))
        for ranking, p in zip(options, _spread(rng, len(options)), strict=True):
            result.append({"query": query, "items": list(ranking), "probability": p})
    return result


def make_world(seed: int, style: str | None = None) -> World:
    """A world of its own for every seed."""
    rng = random.Random(seed)
    style = style or rng.choice(["plain", "plain", "integer", "hostile"])
    metric = rng.choice(["clicks", "clicks", "clicks", "reward"])
    propensity = rng.random() < 0.35
    rows = make_rows(
        rng,
        queries=rng.randint(1, 4),
        style=style,
        ragged=rng.random() < 0.6,
        impressions=rng.random() < 0.5,
        propensity=propensity,
        clicks=metric == "clicks" or rng.random() < 0.5,
        reward=metric == "reward" or rng.random() < 0.2,
        day=rng.random() < 0.3,
    )
    kind = rng.choice(["table", "table", "table", "scores", "plackett-luce", "logging", "uniform"])
    temperature, target_rows = 0.0, None
    target: oracle.Policy | str = kind
    if kind == "table":
        target_rows = table_target(rng, rows, style)
        target = oracle.table(target_rows)
    elif kind in ("scores", "plackett-luce"):
        temperature = 0.0 if kind == "scores" else rng.choice([0.3, 1.0, 2.5])
        target_rows = scores_target(rng, rows, style)
        target = oracle.scores(target_rows, temperature)

    options: dict[str, Any] = {"metric": metric, "clip": rng.choice([None, None, 0.613, 1.237, 3.171])}
    if metric == "clicks":
        longest = max(len(row["items"]) for row in rows)
        options["top"] = rng.choice([None, None, None, rng.randint(1, longest), longest + 1])
        most = options["top"] or longest
        given = [rng.choice([1.0, 0.5, 0.25, rng.random()]) for _ in range(most + rng.randint(0, 2))]
        if rng.random() < 0.3:
            given[rng.randrange(1, len(given)) if len(given) > 1 else 0] = 0.0
        if not any(given[:1]):
            given[0] = 1.0
        options["weights"] = rng.choice(["clicks", "dcg", given])
        looks = [1.0, *(rng.choice([1.0, 0.5, rng.uniform(0.05, 1)]) for _ in range(most + rng.randint(0, 1)))]
        if rng.random() < 0.2 and kind != "logging":
            looks[rng.randrange(1, len(looks))] = 0.0
        options["examination"] = rng.choice(["reciprocal", looks])
    logging: oracle.Policy | str | None = rng.choice([None, "log", "uniform", "file"] + ["propensity"] * propensity)
    logging_rows = candidates = None
    if logging == "file":
        logging_rows = covering_policy(rng, rows)
        logging = oracle.table(logging_rows)
    if (logging == "uniform" or target == "uniform") and rng.random() < 0.5:
        found = oracle.default_candidates(rows, "logging")
        candidates = {q: sorted(items) for q, items in found.items()}
        for items in candidates.values():
            items += [a for a in make_ids(rng, 1, style) if a not in items]
    integer = style == "integer" and rng.random() < 0.7
    return World(rows, target, target_rows, temperature, options, logging, logging_rows, candidates, integer)


# ---------------------------------------------------------------------------------------------------------------------
# Writing

TYPES = {
    "query": "id",
    "user": pa.string(),
    "item": "id",
    "items": "ids",
    "clicks": pa.list_(pa.int64()),
    "click": pa.int64(),
    "reward": pa.float64(),
    "propensity": pa.float64(),
    "item_propensities": pa.list_(pa.float64()),
    "item_propensity": pa.float64(),
    "impressions": pa.int64(),
    "day": pa.int64(),
    "impression": pa.int64(),
    "position": pa.int64(),
    "probability": pa.float64(),
    "score": pa.float64(),
}


def to_long(rows: list[Row], rng: random.Random | None = None) -> list[Row]:
    """One row per shown item; shuffled where a generator is given."""
    result = []
    for number, row in enumerate(rows):
        rest = {k: v for k, v in row.items() if k not in ("items", "clicks", "item_propensities")}
        for k, item in enumerate(row["items"]):
            shown = {"impression": number, **rest, "position": k + 1, "item": item}
            if "clicks" in row:
                shown["click"] = row["clicks"][k]
            if "item_propensities" in row:
                shown["item_propensity"] = row["item_propensities"][k]
            result.append(shown)
    if rng:
        rng.shuffle(result)
    return result


def _typed(row: Row, integer_ids: bool) -> Row:
    if not integer_ids:
        return row
    row = dict(row)
    for name in ("query", "item"):
        if name in row:
            row[name] = int(row[name])
    if "items" in row:
        row["items"] = [int(a) for a in row["items"]]
    return row


def to_arrow(rows: list[Row], integer_ids: bool = False) -> pa.Table:
    identity = pa.int64() if integer_ids else pa.string()
    columns = {}
    typed = [_typed(row, integer_ids) for row in rows]
    for name in rows[0]:
        kind = TYPES[name]
        kind = identity if kind == "id" else pa.list_(identity) if kind == "ids" else kind
        columns[name] = pa.array([row[name] for row in typed], type=kind)
    return pa.table(columns)


def _text(rows: list[Row], kind: str) -> str:
    out = io.StringIO(newline="")
    if kind == "jsonl":
        for number, row in enumerate(rows):
            out.write(json.dumps(row, ensure_ascii=number % 2 == 0) + "\n")
        return out.getvalue()
    writer = csv.DictWriter(out, fieldnames=list(rows[0]))
    writer.writeheader()
    for number, row in enumerate(rows):
        lists = {k: json.dumps(v, ensure_ascii=number % 2 == 0) for k, v in row.items() if isinstance(v, list)}
        writer.writerow({**row, **lists})
    return out.getvalue()


def write_rows(rows: list[Row], folder: Path, name: str, kind: str, integer_ids: bool = False) -> Path:
    """`folder/name.kind`, kind one of parquet, csv, jsonl, csv.gz, jsonl.gz."""
    path = Path(folder) / f"{name}.{kind}"
    if kind == "parquet":
        pq.write_table(to_arrow(rows, integer_ids), path)
        return path
    data = _text([_typed(row, integer_ids) for row in rows], kind.removesuffix(".gz")).encode("utf-8")
    path.write_bytes(gzip.compress(data) if kind.endswith(".gz") else data)
    return path


def write_log(
    rows: list[Row],
    folder: Path,
    *,
    form: str = "list",
    kind: str = "parquet",
    integer_ids: bool = False,
    shuffle: random.Random | None = None,
) -> Path:
    rows = to_long(rows, shuffle) if form == "long" else rows
    return write_rows(rows, folder, "log", kind, integer_ids)


def write_policy(
    rows: list[Row], folder: Path, name: str = "target", kind: str = "parquet", integer_ids: bool = False
) -> Path:
    """Both kinds of policy: the columns of the rows tell which it is."""
    return write_rows(rows, folder, name, kind, integer_ids)
