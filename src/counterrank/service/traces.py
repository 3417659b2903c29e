"""Impressions with all feedback on them, and what both add to the evidence, worked out from what users sent."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection

from counterrank.service.database import Database, listed
from counterrank.service.follow import Cells

_IMPRESSIONS = "SELECT sequence, query, items, deferred, counted FROM impressions WHERE "
_FEEDBACK = "SELECT shown, clicks FROM feedback WHERE "


@dataclass(slots=True)
class Trace:
    """An impression, and the positions that were clicked on it, each once."""

    sequence: int
    query: str
    items: list[str | None]
    counts: bool  # it is evidence
    clicked: set[int]
    feedback: int  # how many


def traces(database: Database, connection: Connection, sequences: Sequence[int]) -> list[Trace]:
    """Some impressions, with all feedback on them."""
    named = listed(database, sequences)
    shown = connection.exec_driver_sql(f"{_IMPRESSIONS}{database.among('sequence')} ORDER BY sequence", named)
    given = connection.exec_driver_sql(f"{_FEEDBACK}{database.among('shown')} ORDER BY shown", named)
    return list(matched(shown, given))


def traces_until(database: Database, connection: Connection, until: int) -> Iterator[Trace]:
    """All impressions up to an event, with feedback up to that event, one after another."""
    shown = database.stream(connection, f"{_IMPRESSIONS}sequence <= ? ORDER BY sequence", (until,))
    given = database.stream(connection, f"{_FEEDBACK}sequence <= ? ORDER BY shown, sequence", (until,))
    return matched(shown, given)


def matched(shown: Iterable[Any], given: Iterable[Any]) -> Iterator[Trace]:
    """Impressions in order, each with its part of feedback in the same order."""
    feedback = iter(given)
    ahead = next(feedback, None)
    for sequence, query, items, deferred, counted in shown:
        clicked: set[int] = set()
        found = 0
        while ahead is not None and ahead[0] <= sequence:
            if ahead[0] == sequence:
                clicked.update(json.loads(ahead[1]))
                found += 1
            ahead = next(feedback, None)
        counts = bool(counted) and (found > 0 or not deferred)
        yield Trace(sequence, query, json.loads(items), counts, clicked, found)


def fold_traces(found: Iterable[Trace], cells: Cells) -> Cells:
    """Add what impressions and their feedback say to cells, without a look at how they were counted then."""
    for trace in found:
        if not trace.counts:
            continue
        for position, item in enumerate(trace.items, 1):
            if item is not None:
                cell = cells.setdefault((trace.query, item, position), [0, 0])
                cell[0] += 1
                cell[1] += position in trace.clicked
    return cells
