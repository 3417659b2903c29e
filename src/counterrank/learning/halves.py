"""Impressions to train on and impressions to judge by: two parts of one log, or two logs, over the same pairs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa

from counterrank.engine import Engine, Plan
from counterrank.errors import InputError, Unanswerable
from counterrank.ids import Codes, Ids
from counterrank.log import Log, Reading
from counterrank.log.log import split_segment
from counterrank.records import dataclass
from counterrank.setting.counting import count_log
from counterrank.statistics.counts import Counts
from counterrank.statistics.draws import dealt
from counterrank.statistics.order import in_order
from counterrank.statistics.pairs import Pairs, united
from counterrank.statistics.patterns import Patterns

SEGMENT = "segment"


@dataclass(frozen=True, kw_only=True)
class Halves:
    """All impressions as counts, and each part of them as patterns, over the pairs of the counts."""

    counts: Counts
    train: Patterns
    selection: Patterns
    reading: Reading
    clustered: bool
    told: str  # how they were parted

    @property
    def pairs(self) -> Pairs:
        return self.counts.pairs

    def adopt(self, counts: Counts) -> None:
        """As of a pass over the log; here patterns go on by the pairs that they were counted by."""


def read_halves(
    log: Log, other: Log | None, *, share: float, seed: int, top: int | None, engine: str | Engine
) -> Halves:
    """One log whose impressions are dealt by what they hold, or two: the second is then the selection part."""
    clustered = "cluster" in log.columns
    found, reading = _count(log, top, engine, clustered)
    if other is None:
        assert found.patterns is not None  # noqa: S101 - asked for
        taken = dealt(found.pairs, found.patterns, [share, 1 - share], seed)
        patterns = found.patterns
        told = f"{share:.0%} of the {'clusters' if clustered else 'impressions'}, drawn by hash"
        return Halves(
            counts=replace(found, patterns=None),
            train=patterns.taken(taken[1]),
            selection=patterns.taken(taken[0]),
            reading=reading,
            clustered=clustered,
            told=told,
        )
    if clustered and "cluster" not in other.columns:
        raise InputError(f"{other.name}: column 'cluster' is missing, which {log.name} has: give both, or ignore it")
    joins = log.bad_rows is not None and log.bad_rows == other.bad_rows
    second, also = _count(replace(other, joins=joins), top, engine, clustered)
    both = found + second
    assert found.patterns is not None and second.patterns is not None  # noqa: S101, PT018 - asked for
    _, rows, queries = united([found.pairs, second.pairs])
    parts = [
        each.patterns.moved(rows[i], queries[i], both.pairs.positions)
        for i, each in enumerate((found, second))
        if each.patterns is not None
    ]
    return Halves(
        counts=replace(both, patterns=None),
        train=parts[0],
        selection=parts[1],
        reading=reading + also,
        clustered=clustered,
        told=other.name,
    )


def _count(log: Log, top: int | None, engine: str | Engine, clustered: bool) -> tuple[Counts, Reading]:
    if "clicks" not in log.columns:
        raise Unanswerable(f"{log.name}: column 'clicks' is missing: a policy is learnt from clicks on items")
    plan = Plan(metric="clicks", weights=np.ones, top=top, patterns=True, clusters=clustered, by_cluster=clustered)
    run = count_log(log, plan, engine, "there are")
    return run.counts, run.reading


@dataclass(frozen=True)
class Segments:
    """Of each (query, segment) the query and the segment."""

    query_ids: Ids
    query: Codes  # (S,)
    names: pa.Array  # (S,) text


def merged(halves: Halves, integer: bool) -> tuple[Halves, Segments]:
    """The same impressions with all segments of a query together; `integer`: the log's queries are whole numbers."""
    old = halves.counts
    texts, names = split_segment(old.pairs.query_ids.texts)
    ids = in_order(Ids(texts.unique(), integer))[0]
    code = ids.codes(texts)
    lengths = np.zeros(len(ids), dtype=np.int64)
    np.maximum.at(lengths, code, old.pairs.lengths)
    of = code[old.pairs.queries]
    pairs = Pairs.build(ids, old.pairs.item_ids, of, old.pairs.items, lengths, old.pairs.positions)
    rows = pairs.find(of, old.pairs.items)
    train, selection = (part.moved(rows, code, pairs.positions).merged() for part in (halves.train, halves.selection))
    impressions, tally, _ = (train + selection).counts(len(pairs), len(ids))
    counts = Counts(
        pairs=pairs,
        impressions=impressions,
        reward=np.zeros(len(ids)),
        reward2=np.zeros(len(ids)),
        cells=tally.cells,
        shown=tally.shown,
        clicked=tally.clicked,
        rankings=None,
        log_impressions=old.log_impressions,
        longest=old.longest,
    )
    return replace(halves, counts=counts, train=train, selection=selection), Segments(ids, code, names)
