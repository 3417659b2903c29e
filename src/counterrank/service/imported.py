"""Yesterday's log as evidence that a service begins with: counted by position, without events of its own.

What the service shows itself is exported again with the propensities it had; what was imported is not, since it is in
a log already.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

import numpy as np

from counterrank.engine import Engine, Plan, open_engine
from counterrank.errors import InputError, Unanswerable
from counterrank.log import Reading, read_log
from counterrank.service.database import Database
from counterrank.service.fold import set_number, write_cells
from counterrank.service.follow import number
from counterrank.service.schema import imports, pair_key
from counterrank.setting.options import position_weights
from counterrank.statistics.counts import Counts

DEEPEST = 100  # positions of the longest page that a service shows
Rows = list[tuple[Any, ...]]  # key, position, query, item, shown, clicked


@dataclass(frozen=True, kw_only=True)
class Imported:
    """What became evidence of a log."""

    name: str
    impressions: int
    queries: int
    pairs: int
    clicks: int
    notes: tuple[str, ...]
    reading: Reading
    rows: Rows = field(repr=False)

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it."""
        counts = {"impressions": self.impressions, "queries": self.queries, "pairs": self.pairs, "clicks": self.clicks}
        return {**counts, **self.reading.to_dict(), "notes": [*self.notes, *self.reading.notes]}


def count_log(log: Any, *, engine: str | Engine = "duckdb") -> Imported:
    """What a log is as evidence."""
    log = read_log(log)
    if "clicks" not in log.columns and "click" not in log.columns:
        raise Unanswerable(f"{log.name}: the log has no clicks, which evidence is made of: give one with clicks")
    run = open_engine(engine).count(log, Plan(metric="clicks", weights=position_weights("clicks")))
    counts, notes = run.counts, []
    if counts.pairs.positions > DEEPEST:
        deep = int(counts.shown[counts.cells.positions >= DEEPEST].sum())
        notes.append(
            f"items shown below position {DEEPEST} are no evidence, since no page is as long: {deep:,} of them"
        )
    return Imported(
        name=log.name,
        impressions=counts.total,
        queries=len(counts.impressions),
        pairs=len(counts.pairs),
        clicks=int(counts.clicked.sum()),
        notes=tuple(notes),
        reading=run.reading,
        rows=_rows(counts),
    )


def add_evidence(database: Database, found: Imported, *, again: bool = False) -> None:
    """Add a log to the evidence, whole or not at all; the same log once, unless it is to be counted `again`."""
    digest = blake2b(repr(found.rows).encode(), digest_size=16).hexdigest()
    with database.writing() as connection:
        known = connection.execute(imports.select().where(imports.c.digest == digest)).first()
        if known is not None and not again:
            when = time.strftime("%Y-%m-%d", time.gmtime(known.at))
            raise InputError(f"{found.name}: this log was imported on {when}: give `again` to count it once more")
        for table in ("checkpoint", "evidence"):
            write_cells(database, connection, table, found.rows)
        if known is None:
            connection.execute(imports.insert().values(digest=digest, at=time.time(), impressions=found.impressions))
        generation, before = number(connection, "generation", "base_impressions")
        set_number(database, connection, "base_impressions", before + found.impressions)
        set_number(database, connection, "generation", generation + 1)


def _rows(counts: Counts) -> Rows:
    """What was shown and clicked, as rows of a table of cells, in the order of its key."""
    cells, pairs = counts.cells, counts.pairs
    kept = np.flatnonzero(cells.positions < DEEPEST)
    queries, items = pairs.query_ids.texts.to_pylist(), pairs.item_ids.texts.to_pylist()
    if any("\0" in text for text in (*queries, *items)):
        raise InputError("an id with a zero character: a store cannot hold it: leave the row out")
    found = zip(
        cells.rows[kept].tolist(), cells.positions[kept].tolist(), counts.shown[kept].tolist(),
        counts.clicked[kept].tolist(), strict=True,
    )  # fmt: skip
    rows = []
    query_of, item_of = pairs.queries.tolist(), pairs.items.tolist()
    for pair, position, shown, clicked in found:
        query, item = queries[query_of[pair]], items[item_of[pair]]
        rows.append((pair_key(query, item), position + 1, query, item, int(shown), int(clicked)))
    return sorted(rows)
