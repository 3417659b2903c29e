"""The log of a ranking service: what it showed with what chance, and what was clicked, as all commands read it."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa

from counterrank.errors import InputError, unknown
from counterrank.log.write import write_parts
from counterrank.service.batch import unpack
from counterrank.service.below import agrees
from counterrank.service.database import Database
from counterrank.words import counted

Changing = Callable[[dict[str, Any]], dict[str, Any] | None]
ROWS = 10_000  # in memory at a time
SECONDS = 86_400
_COLUMNS = {
    "query": pa.string(),
    "items": pa.list_(pa.string()),
    "clicks": pa.list_(pa.int8()),
    "day": pa.date32(),
    "propensity": pa.float64(),
    "item_propensities": pa.list_(pa.float64()),
    "cluster": pa.string(),
    "policy": pa.string(),
    "model": pa.string(),
    "impression": pa.string(),
}
_SHOWN = (
    "SELECT sequence, impression, at, query, items, propensity, item_propensities, policy, model, cluster, deferred, "
    "counted, received FROM impressions"
)


@dataclass
class Exported:
    """How many impressions were written, and how many were not: deferred and never shown, or never counted."""

    impressions: int = 0
    clicks: int = 0
    deferred: int = 0
    uncounted: int = 0
    reward: bool = False

    @property
    def notes(self) -> list[str]:
        """What was left out."""
        said = {
            f"{counted(self.deferred, 'impression')} left out: deferred, and no feedback named them": self.deferred,
            f"{counted(self.uncounted, 'impression')} left out: marked as not to be counted": self.uncounted,
            "there is no impression to export": not self.impressions,
        }
        return [note for note, holds in said.items() if holds]

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it."""
        return {**asdict(self), "notes": self.notes}


@dataclass(frozen=True)
class Choice:
    """Which impressions: shown at `since` or later, before `until` (seconds since 1970), by this policy."""

    since: float | None = None
    until: float | None = None
    policy: str | None = None

    def where(self) -> tuple[str, tuple[Any, ...]]:
        """As a condition, and its parameters."""
        said = {"at >= ?": self.since, "at < ?": self.until, "policy = ?": self.policy}
        given = {text: value for text, value in said.items() if value is not None}
        return " AND ".join(["TRUE", *given]), tuple(given.values())


def moment(text: str | None, name: str) -> float | None:
    """A date or a time as seconds since 1970; without a zone it is UTC's.

    >>> moment("1970-01-02", "since"), moment("1970-01-01T01:00:00+01:00", "since")
    (86400.0, 0.0)
    """
    if text is None:
        return None
    try:
        found = datetime.fromisoformat(text.strip())
        return (found if found.tzinfo is not None else found.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        raise InputError(
            f"`{name}` is {text!r}: expected a date or a time, as 2026-06-01 or 2026-06-01T12:00"
        ) from None


def export(database: Database, path: Path, choice: Choice, change: Changing | None = None) -> Exported:
    """Write the log of a store, of one moment, in the order of events, a few impressions in memory at a time.

    `change`: makes another row of each, or none; there a row also has `received`, the first k items as they came, None
    where that is not known.
    """
    done = Exported()
    with database.reading() as connection:
        where, values = choice.where()
        text = database.statement(f"SELECT MIN(sequence), MAX(sequence) FROM impressions WHERE {where}")  # noqa: S608
        first, last = connection.exec_driver_sql(text, values).one()
        if first is None and choice.policy is not None:
            _check_policy(connection, choice.policy)
        span = (first or 0, last or 0)
        text = database.statement("SELECT 1 FROM feedback WHERE shown BETWEEN ? AND ? AND reward IS NOT NULL LIMIT 1")
        done.reward = connection.exec_driver_sql(text, span).first() is not None
        shown = database.stream(connection, f"{_SHOWN} WHERE {where} ORDER BY sequence", values)
        given = database.stream(
            connection,
            "SELECT shown, clicks, reward FROM feedback WHERE shown BETWEEN ? AND ? ORDER BY shown, sequence",
            span,
        )
        schema = pa.schema({**_COLUMNS, **({"reward": pa.float64()} if done.reward else {})})
        rows = _rows(shown, given, done)
        kept = rows if change is None else (other for row in rows if (other := change(row)) is not None)
        write_parts(_parts(kept, schema), schema, path)
    return done


def _check_policy(connection: Any, policy: str) -> None:
    known = [row[0] for row in connection.exec_driver_sql("SELECT DISTINCT policy FROM impressions ORDER BY policy")]
    if known and policy not in known:
        raise unknown("`policy`", policy, known)


def _parts(rows: Iterator[dict[str, Any]], schema: pa.Schema) -> Iterator[pa.Table]:
    """Rows as tables of a bounded size."""
    part: list[dict[str, Any]] = []
    for row in rows:
        part.append(row)
        if len(part) == ROWS:
            yield pa.Table.from_pylist(part, schema)
            part = []
    if part:
        yield pa.Table.from_pylist(part, schema)


def _rows(shown: Iterator[Any], given: Iterator[Any], done: Exported) -> Iterator[dict[str, Any]]:
    """Impressions that count, each with its feedback, which comes in the same order."""
    ahead = next(given, None)
    for row in shown:
        sequence, impression, at, query, items, propensity, packed, policy, model, cluster, deferred, counts, came = row
        clicked: set[int] = set()
        rewards, replies = [], 0
        while ahead is not None and ahead[0] <= sequence:
            if ahead[0] == sequence:
                clicked.update(json.loads(ahead[1]))
                rewards.append(ahead[2] or 0.0)
                replies += 1
            ahead = next(given, None)
        if not counts or (deferred and not replies):
            done.uncounted += not counts
            done.deferred += bool(counts)
            continue
        page = named(json.loads(items))
        done.impressions += 1
        done.clicks += len(clicked)
        yield {
            "query": query,
            "items": page,
            "clicks": [int(position in clicked) for position in range(1, len(page) + 1)],
            "day": int(at // SECONDS),
            "propensity": propensity,
            "item_propensities": unpack(packed),
            "cluster": impression if cluster is None else cluster,
            "policy": policy,
            "model": model,
            "impression": impression,
            "reward": math.fsum(rewards),
            "received": _received(came, page, impression),
        }


def _received(came: str | None, page: list[str], impression: str) -> list[str] | None:
    """The first k items as they came; none where a store of old did not keep them."""
    if came is not None:
        erased = "(erased from what came, {})"
        return [erased.format(j) if item is None else item for j, item in enumerate(json.loads(came), 1)]
    return page if agrees(impression) == (1 << len(page)) - 1 else None


def named(page: list[str | None]) -> list[str]:
    """A page with a name in place of each item whose traces were erased, which is no item's on that page.

    >>> named(["a", None, "c"])
    ['a', '(erased 2)', 'c']
    """
    names = []
    for position, item in enumerate(page, 1):
        name = f"(erased {position})" if item is None else item
        while item is None and name in page:
            name = f"({name})"
        names.append(name)
    return names
