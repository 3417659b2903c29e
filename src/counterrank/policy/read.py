"""A policy from a file, a data frame or a dict."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from counterrank.errors import InputError, near
from counterrank.log.features import read_features
from counterrank.log.sources import Source, open_source
from counterrank.policy.base import Policy
from counterrank.policy.directory import is_directory, read_directory
from counterrank.policy.logged import Logged
from counterrank.policy.plackett_luce import PlackettLuce
from counterrank.policy.scores import Scores
from counterrank.policy.slots import Slots
from counterrank.policy.table import Table

COLUMNS = ("query", "items", "probability", "item", "score", "position")
FORMS = (
    "a policy has query, items and maybe probability, or query, item, score, "
    "or query, position, item and maybe probability"
)


def read_policy(
    source: Any, *, columns: Mapping[str, str] | None = None, temperature: float = 0.0, features: Any = None
) -> Policy:
    """A policy from rankings (query, items, probability), scores (query, item, score) or slots (query, position, item,
    probability), told from the columns.

    source: a policy directory, a path (Parquet, CSV, JSON Lines, gzipped CSV or JSON Lines, a folder or glob of them,
    `file.duckdb:table`), a pandas, Polars, Arrow or Ibis table, {query: [items]}, {query: {item: score}},
    {query: [[items of a slot], …]}, a policy, or the word "logging". columns: their names where they differ, as
    {"items": "shown"}. temperature, for scores: 0 sorts, a positive one is Plackett–Luce. features, for a policy that
    scores them: anything that `read_features` takes.

    >>> read_policy({7: ["b", "a"]}).rank("7")
    ['b', 'a']
    >>> read_policy({"q": {"a": 1.0, "b": 2.0}}, temperature=0.5)
    PlackettLuce(Scores(2 items of 1 queries), temperature=0.5)
    """
    if not (math.isfinite(temperature) and temperature >= 0):
        raise InputError(f"the temperature is {temperature}: give 0 to sort by score, or a positive number")
    policy = _plain(source, columns)
    if features is not None:
        known = read_features(features)
        scored = policy.scoring(known)
        if scored is not policy:
            scored.source_notes = (*policy.source_notes, *known.notes)
        policy = scored
    if temperature == 0:
        return policy
    if isinstance(policy, Scores):
        return PlackettLuce(policy, temperature)
    raise InputError(f"temperature {temperature:g} applies to scores only, but {policy!r} came: leave temperature out")


def _plain(source: Any, columns: Mapping[str, str] | None) -> Policy:
    if isinstance(source, Policy):
        return source
    if isinstance(source, str) and source == "logging":
        return Logged()
    if isinstance(source, Mapping) and not _is_columns(source):
        return _from_dict(source)
    if isinstance(source, str | Path) and is_directory(source):
        if columns:
            raise InputError(f"{source}: a policy directory has its own column names: leave columns out")
        return _from_directory(source)
    return _of_source(open_source(pa.table(dict(source)) if isinstance(source, Mapping) else source), columns)


def of_rows(table: pa.Table, name: str) -> Policy:
    """A policy from the rows of a plain policy file; errors speak of `name`."""
    part = open_source(table)
    return _of_source(Source(name, part.parts), None)


def _of_source(opened: Source, columns: Mapping[str, str] | None) -> Policy:
    table = opened.read(_named(opened, columns or {}))
    try:
        policy = _of_rows(table)
    except InputError as error:
        raise InputError(f"{opened.label}: {error}") from None
    policy.source_notes = tuple(opened.notes)
    return policy


def _of_rows(table: pa.Table) -> Policy:
    given = table["probability"] if "probability" in table.column_names else None
    if "items" in table.column_names:
        return Table(table["query"], table["items"], given)
    if "position" in table.column_names:
        return Slots(table["query"], table["position"], table["item"], given)
    return Scores(table["query"], table["item"], table["score"])


def _from_directory(path: str | Path) -> Policy:
    stored = read_directory(path)
    try:
        return stored.policy()
    except (InputError, pa.ArrowException, RecursionError) as error:  # Arrow's: texts that are not UTF-8, and the like
        said = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InputError(f"{path}: {said}") from None


def _is_columns(source: Mapping[Any, Any]) -> bool:
    """Whether a dict holds the columns of a policy, and not a ranking per query."""
    names = set(source) - {"probability"}
    return names in ({"query", "items"}, {"query", "position", "item"}) or set(source) == {"query", "item", "score"}


def _named(source: Source, columns: Mapping[str, str]) -> dict[str, str]:
    """Our columns of one form, with the source's names."""
    for ours, theirs in columns.items():
        if ours not in COLUMNS:
            raise InputError(f"columns names {ours!r}, which no policy has: choose from {', '.join(COLUMNS)}")
        if theirs not in source.names:
            raise InputError(f"{source.label} has no column {theirs!r} (for {ours}): it has {', '.join(source.names)}")
    names = {ours: columns.get(ours, ours) for ours in COLUMNS}
    came = source.names
    if names["items"] in came and (names["item"] in came or names["score"] in came):
        raise InputError(f"{source.label} has columns of both forms ({', '.join(came)}): {FORMS}")
    needed: tuple[str, ...] = ("query", "item", "score")
    if names["items"] in came:
        needed = ("query", "items")
    elif names["position"] in came and names["score"] not in came:
        needed = ("query", "position", "item")
    absent = [names[ours] for ours in needed if names[ours] not in came]
    if absent:
        raise InputError(
            f"{source.label} lacks column {absent[0]!r}{near(absent[0], came)}; it has {', '.join(came)}: {FORMS}"
        )
    every = [part for part in source.parts if names["probability"] in part.columns]
    if "score" not in needed and every and len(every) < len(source.parts):
        raise InputError(
            f"{source.label}: some files have column {names['probability']!r} and some not: give it in all or none"
        )
    maybe = ("probability",) if "score" not in needed and every else ()
    return {ours: names[ours] for ours in (*needed, *maybe)}


def _from_dict(source: Mapping[Any, Any]) -> Policy:
    if not source:
        raise InputError("the policy given as a dict is empty: give {query: [items]} or {query: {item: score}}")
    kinds = {_kind(of) for of in source.values()}
    if kinds == {"scores"}:
        return Scores.from_dict(source)
    if kinds == {"list"}:
        return Table.from_dict(source)
    if kinds == {"slots"}:
        return Slots.from_dict(source)
    raise InputError(
        "a policy given as a dict is {query: [items]}, {query: {item: score}} or, for slots, {query: [[items], …]}: "
        "give one of these for all queries"
    )


def _kind(of: Any) -> str:
    if isinstance(of, Mapping):
        return "scores"
    if not isinstance(of, list | tuple):
        return "?"
    return "slots" if of and all(isinstance(slot, list | tuple | Mapping) for slot in of) else "list"
