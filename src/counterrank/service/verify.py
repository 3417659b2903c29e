"""Whether the evidence is what the events say: folded anew from what users sent, and compared pair by pair."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from sqlalchemy import Connection

from counterrank.service.database import Database
from counterrank.service.fold import advance
from counterrank.service.follow import Cells, number
from counterrank.service.traces import Trace, fold_traces, traces_until

_ORPHANS = (
    "SELECT COUNT(*) FROM feedback LEFT JOIN impressions ON impressions.sequence = feedback.shown "
    "WHERE impressions.sequence IS NULL"
)


@dataclass(frozen=True)
class Verified:
    """What was compared, and how many pairs of query and item differ at some position.

    `impressions` and `feedback` are all that the evidence stands on; `forgotten` of these impressions were folded into
    the checkpoint or imported.
    """

    impressions: int
    feedback: int
    pairs: int
    differences: int
    forgotten: int

    def to_dict(self) -> dict[str, int]:
        """As JSON has it."""
        return asdict(self)


def verify(database: Database) -> Verified:
    """Checkpoint + fold of all events = evidence. A feedback whose impression is missing is a difference too."""
    advance(database)
    counts = {"impressions": 0, "feedback": 0}
    with database.reading() as connection:
        until, before, replies = number(connection, "folded_to", "base_impressions", "base_feedback")
        expected = _cells(database, connection, "checkpoint")
        fold_traces(_counting(traces_until(database, connection, until), counts), expected)
        found = _cells(database, connection, "evidence")
        orphans = int(connection.exec_driver_sql(_ORPHANS).scalar_one())
    differing = {cell[:2] for cell in found.keys() | expected.keys() if _at(found, cell) != _at(expected, cell)}
    return Verified(
        impressions=counts["impressions"] + before,
        feedback=counts["feedback"] + replies,
        pairs=len({cell[:2] for cell in found}),
        differences=len(differing) + orphans,
        forgotten=before,
    )


def _cells(database: Database, connection: Connection, table: str) -> Cells:
    rows = database.stream(connection, f"SELECT query, item, position, shown, clicked FROM {table}")  # noqa: S608
    return {(query, item, position): [shown, clicked] for query, item, position, shown, clicked in rows}


def _at(cells: Cells, cell: tuple[str, str, int]) -> list[int]:
    return cells.get(cell, [0, 0])


def _counting(found: Iterator[Trace], counts: dict[str, Any]) -> Iterator[Trace]:
    for trace in found:
        counts["impressions"] += 1
        counts["feedback"] += trace.feedback
        yield trace
