"""Old events become a checkpoint: their counts stay evidence, what was shown to whom and when is forgotten."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from sqlalchemy import Connection

from counterrank.errors import InputError
from counterrank.service.database import Database, listed
from counterrank.service.fold import BREATH, Promptly, add, advance, at_once, catch_up, set_number
from counterrank.service.follow import number
from counterrank.service.traces import Trace, fold_traces, traces

STEP = 500  # impressions in one transaction
_OLD = "SELECT sequence FROM impressions WHERE at < ? ORDER BY at LIMIT ?"


@dataclass(frozen=True)
class Forgotten:
    """How many impressions were folded away, with how much feedback on them."""

    impressions: int
    feedback: int


def forget(database: Database, keep_days: float, now: float | None = None, promptly: Promptly = at_once) -> Forgotten:
    """Fold impressions older than `keep_days` into the checkpoint, a few at a time, each time whole."""
    if not keep_days >= 0:
        raise InputError(f"`keep_days={keep_days}`: expected a number of days, 0 or more")
    limit = (time.time() if now is None else now) - keep_days * 86_400
    impressions = feedback = 0
    advance(database, promptly)
    while found := promptly(partial(_step, database, limit)):
        impressions += len(found)
        feedback += sum(trace.feedback for trace in found)
        time.sleep(BREATH)
    return Forgotten(impressions, feedback)


def _step(database: Database, limit: float) -> Sequence[Trace]:
    """Forget some of the impressions before `limit`; these."""
    with database.writing() as connection:
        rows = connection.exec_driver_sql(database.statement(_OLD), (limit, STEP)).fetchall()
        if not rows:
            return ()
        catch_up(database, connection)
        found = traces(database, connection, [row[0] for row in rows])
        _forget(database, connection, found)
        return found


def _forget(database: Database, connection: Connection, found: Sequence[Trace]) -> None:
    sequences = [trace.sequence for trace in found]
    add(database, connection, "checkpoint", fold_traces(found, {}))
    last = f"SELECT MAX(sequence) FROM feedback WHERE {database.among('shown')}"  # noqa: S608
    replied = connection.exec_driver_sql(last, listed(database, sequences)).scalar() or 0
    before, impressions, feedback = number(connection, "forgotten_to", "base_impressions", "base_feedback")
    set_number(database, connection, "forgotten_to", max(before, replied, *sequences))
    set_number(database, connection, "base_impressions", impressions + len(found))
    set_number(database, connection, "base_feedback", feedback + sum(trace.feedback for trace in found))
    delete_events(database, connection, sequences)


def delete_events(database: Database, connection: Connection, sequences: Sequence[int]) -> None:
    """Delete impressions, and all that hangs on them."""
    for table, column in (
        ("feedback", "shown"), ("requests", "shown"), ("kept", "shown"), ("impressions", "sequence"),
    ):  # fmt: skip
        text = f"DELETE FROM {table} WHERE {database.among(column)}"  # noqa: S608
        connection.exec_driver_sql(text, listed(database, sequences))
