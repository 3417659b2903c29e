"""What a log knows of the items that may be ranked: clicks and looks of each, and the heights of positions."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from counterrank.click import EMPIRICAL, ClickCounts, ClickModel, Options, Scope, fit_clicks
from counterrank.errors import Unanswerable
from counterrank.ids import Codes
from counterrank.optimizing.candidates import plain_items
from counterrank.optimizing.pessimistic.worth import CLICK_WORTHS, Table, Vector
from counterrank.policy import Uniform
from counterrank.records import dataclass
from counterrank.statistics.counts import sum_chunks
from counterrank.statistics.order import in_order
from counterrank.statistics.pairs import Pairs, sum_by
from counterrank.statistics.rankings import Rankings
from counterrank.words import counted

ITERATIONS = 500  # at most, of models without a closed form


@dataclass(frozen=True, kw_only=True)
class Stock:
    """The items of each query of the log; `allowed` ones may be ranked, the others only tell of the prior."""

    pairs: Pairs
    clicks: Vector  # (P,)
    looks: Vector  # (P,)
    allowed: NDArray[np.bool_]  # (P,)
    heights: Table  # (K,) or (Q, K); () the same everywhere
    attraction: Vector  # (P,) the click model's own estimate
    model: ClickModel  # fitted; it knows the pairs of the log
    prior: tuple[float, float] | None = None  # of all items, where it was fitted with the model
    notes: tuple[str, ...] = ()

    @property
    def examined(self) -> Codes:
        """(Q,) how many items that may be ranked have been looked at."""
        return sum_by(self.pairs.queries, self.allowed & (self.looks > 0), len(self.pairs.query_ids)).astype(np.int64)

    @property
    def choices(self) -> Codes:
        """(Q,) how many items may be ranked."""
        return sum_by(self.pairs.queries, self.allowed, len(self.pairs.query_ids)).astype(np.int64)

    @classmethod
    def of(cls, counts: ClickCounts, model: str, scope: Scope | None) -> Stock:
        """By a click model fitted to these counts."""
        worth = CLICK_WORTHS[model]
        chosen = scope or worth.scope
        if chosen == "pooled" and worth.fit in EMPIRICAL:
            fit = EMPIRICAL[worth.fit](counts, Options(iterations=ITERATIONS))
        else:
            fit = fit_clicks(worth.fit, counts, scope=chosen, iterations=ITERATIONS)
        assert fit.looks is not None  # noqa: S101 - of these models all know single items
        everything = np.ones(len(counts.pairs), dtype=bool)
        heights = np.asarray(worth.heights(fit.model), dtype=np.float64)
        attraction: Vector = fit.model.attraction  # type: ignore[attr-defined]
        return cls(
            pairs=counts.pairs,
            clicks=fit.looks.clicks,
            looks=fit.looks.looks,
            allowed=everything,
            heights=heights,
            attraction=attraction,
            model=fit.model,
            prior=fit.looks.prior,
            notes=fit.notes,
        )

    def narrowed(self, candidates: Any) -> Stock:
        """With these candidates as the items that may be ranked, also those that were never logged."""
        named = Uniform(candidates)
        query, item = plain_items(named)
        pairs = self.pairs
        of = pairs.query_ids.codes(query)
        if (of < 0).all():
            raise Unanswerable(
                f"no query of the candidates is in the log: they begin with query {query[0].as_py()!r}, the log with "
                f"{pairs.query_ids.texts[0].as_py()!r}: give candidates of the log's queries"
            )
        left = len(query.filter(pa.array(of < 0)).unique())
        notes = (*self.notes, *named.notes)
        if left:
            notes += (f"{counted(left, 'query', 'queries')} of the candidates: not in the log, not ranked",)
        item, of = item.filter(pa.array(of >= 0)), of[of >= 0]
        fresh = item.unique().filter(pa.array(pairs.item_ids.codes(item.unique()) < 0))
        ids, code = in_order(replace(pairs.item_ids, texts=pa.concat_arrays([pairs.item_ids.texts, fresh])))
        wider = Pairs.build(
            pairs.query_ids, ids, np.concatenate([pairs.queries, of]),
            np.concatenate([code[pairs.items], ids.codes(item)]), pairs.lengths, pairs.positions,
        )  # fmt: skip
        rows = wider.find(pairs.queries, code[pairs.items])
        clicks, looks, attraction = np.zeros(len(wider)), np.zeros(len(wider)), np.full(len(wider), np.nan)
        clicks[rows], looks[rows], attraction[rows] = self.clicks, self.looks, self.attraction
        allowed = np.zeros(len(wider), dtype=bool)
        allowed[wider.find(of, ids.codes(item))] = True
        return Stock(
            pairs=wider,
            clicks=clicks,
            looks=looks,
            allowed=allowed,
            heights=self.heights,
            attraction=attraction,
            model=self.model,
            prior=self.prior,
            notes=notes,
        )


def logged_places(counts: ClickCounts, most: Codes) -> Codes:
    """(P,) the order in which the log shows items: as the most logged ranking of the query does, then by how often.

    Equally often shown ones: by their mean position.
    """
    place = np.full(len(counts.pairs), most.shape[1])
    inside = most >= 0
    place[most[inside]] = np.nonzero(inside)[1]
    shown = counts.cells.by_pair(counts.shown)
    total = counts.cells.weighed(counts.shown, np.arange(counts.cells.depth, dtype=np.float64))
    depth = np.divide(total, shown, out=np.full(len(shown), np.inf), where=shown > 0)
    del total, inside
    order = np.lexsort((depth, -shown, place))
    place[order] = np.arange(len(place))
    return place


def most_logged(counts: ClickCounts, lengths: Codes) -> Codes:
    """(Q, K) rows of the counts' pairs: each query's most logged ranking, cut to lengths[q] before they are counted."""
    assert counts.rankings is not None  # noqa: S101 - they were asked for
    if (lengths >= counts.pairs.lengths).all():
        return counts.most_logged()[0]
    whole = sum_chunks(counts.rankings)
    inside = np.arange(whole.rows.shape[1]) < lengths[whole.queries][:, None]
    n = whole.impressions
    cut = Rankings(
        queries=whole.queries, rows=np.where(inside, whole.rows, -1), impressions=n, reward=n, reward2=n
    ).merged()
    return replace(counts, rankings=cut).most_logged()[0]
