"""A log by query and day: the queries of `Log.daily()` told apart again."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from counterrank.click.counts import ClickCounts
from counterrank.ids import Codes, Ids
from counterrank.log.log import split_day
from counterrank.statistics.order import in_order
from counterrank.statistics.pairs import Pairs
from counterrank.statistics.patterns import Patterns


@dataclass(frozen=True)
class DayCells:
    """The cells of a log, each a query on a day."""

    query_ids: Ids
    query: Codes  # (C,)
    day: Codes  # (C,)

    @classmethod
    def of(cls, pairs: Pairs, integer: bool = False) -> DayCells:
        """From pairs that were counted day by day; `integer`: the log's queries are whole numbers."""
        texts, day = split_day(pairs.query_ids.texts)
        ids = in_order(Ids(texts.unique(), integer))[0]
        return cls(ids, ids.codes(texts), day)


def whole_queries(counts: ClickCounts, integer: bool = False) -> tuple[Pairs, Patterns, Codes]:
    """Pairs and patterns of counts by day with all days of a query together, and the day of each pattern, (G,)."""
    assert counts.patterns is not None  # noqa: S101 - asked for
    old, cells = counts.pairs, DayCells.of(counts.pairs, integer)
    query = cells.query[old.queries]
    lengths = np.zeros(len(cells.query_ids), dtype=np.int64)
    np.maximum.at(lengths, cells.query, old.lengths)
    pairs = Pairs.build(cells.query_ids, old.item_ids, query, old.items, lengths, old.positions)
    patterns = counts.patterns.moved(pairs.find(query, old.items), cells.query, old.positions)
    return pairs, patterns, cells.day[counts.patterns.queries]
