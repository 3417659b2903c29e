"""A short log that was counted stays counted for as long as somebody holds it: the next question begins there.

What was counted holds while the files behind the log are the same. Two plans that differ only in the rankings they
want share a pass: it keeps every row, and those rankings are gathered from the rows.
"""

from __future__ import annotations

from dataclasses import fields
from weakref import WeakKeyDictionary

import numpy as np
import pyarrow as pa

from counterrank.engine import Embedded, Engine, WantedRankings
from counterrank.engine.embedded import EmbeddedPass
from counterrank.engine.plan import Pass, Plan
from counterrank.log import Log
from counterrank.log.version import Version, version_of
from counterrank.memory import one_answer
from counterrank.records import dataclass


@dataclass(frozen=True)
class Counted:
    """The last pass over a log, as it was when it ended, what it was asked for, and of which files."""

    plan: Plan
    run: EmbeddedPass
    version: Version


SORTED = 1 << 16  # queries that are put in order to compare them
_COUNTED: WeakKeyDictionary[Log, Counted] = WeakKeyDictionary()


def remember(log: Log, plan: Plan, run: Pass, version: Version | None) -> None:
    """Keep the pass, if it is one of a short log, and its files are those that they were when it began; it takes the
    place of the one before."""
    _COUNTED.pop(log, None)
    if version is None or not isinstance(run, EmbeddedPass) or not run.short or one_answer():
        return
    if log.known is not None or log.bad_rows is not None:  # bad rows are written anew for every question
        return
    if version_of(log.parts) == version:
        _COUNTED[log] = Counted(plan, run.detached(), version)


def counted_before(log: Log, plan: Plan, engine: Engine) -> Pass | None:
    """A pass over this log that answers the plan; None where there is none."""
    known = _COUNTED.get(log)
    if known is None or not isinstance(engine, Embedded) or not engine.counts_as(known.run.engine):
        return None
    if not _alike(known.plan, plan, known.run.positions) or version_of(log.parts) != known.version:
        return None
    if _same_rankings(known.plan, plan):
        return known.run.resumed(log)
    if isinstance(plan.rankings, WantedRankings) and not plan.by_propensity and known.run.has_every_row:
        return known.run.resumed(log, plan.rankings)
    return None


def _alike(one: Plan, other: Plan, positions: int) -> bool:
    """Whether the two ask for the same, rankings aside."""
    plain = [each.name for each in fields(Plan) if each.name not in ("weights", "queries", "rankings")]
    return (
        all(getattr(one, name) == getattr(other, name) for name in plain)
        and np.array_equal(one.weights(positions), other.weights(positions))
        and _same_ids(one.queries, other.queries)
    )


def _same_rankings(one: Plan, other: Plan) -> bool:
    a, b = one.rankings, other.rankings
    if isinstance(a, WantedRankings) and isinstance(b, WantedRankings):
        return _same(a.queries, b.queries) and _same(a.items, b.items)
    return isinstance(a, str) and isinstance(b, str) and a == b


def _same_ids(one: pa.Array | None, other: pa.Array | None) -> bool:
    """In whatever order."""
    if one is None or other is None or len(one) != len(other) or len(one) > SORTED:
        return _same(one, other)
    return _same(one, other) or _same(one.sort(), other.sort())


def _same(one: pa.Array | None, other: pa.Array | None) -> bool:
    return one is other or (one is not None and other is not None and bool(one.equals(other)))
