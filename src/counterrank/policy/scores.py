"""A policy that sorts items by score."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from counterrank.compiled import njit
from counterrank.errors import InputError
from counterrank.ids import Codes
from counterrank.policy._coded import Coded, locate, reject_repeats
from counterrank.policy._pairs import PairMarginals, spread
from counterrank.policy.base import Id, Policy
from counterrank.policy.ordered import OrderedCandidates, is_ranking
from counterrank.policy.stored import Stored
from counterrank.statistics.pairs import Pairs
from counterrank.statistics.pairs import Table as PairTable


class Scores(Policy):
    """Items sorted by score, highest first; ties are uniform over all orders that respect the scores.

    Assumption: the ranking depends on the scores alone. A tied block of B items at positions s..s+B-1 gives each of
    them 1/B at each of these positions, so that they share the mean of the block's position weights (genspec2021,
    eqs. 13 and 14). P(ranking) = Π 1/(tied items not yet placed), and 0 for an order against the scores.

    >>> policy = Scores(["q", "q", "q"], ["a", "b", "c"], [1.0, 2.0, 1.0])
    >>> policy.rank("q")
    ['b', 'a', 'c']
    >>> policy.marginals("q")["c"].tolist()
    [0.0, 0.5, 0.5]
    >>> policy.probability("q", ["b", "c", "a"])
    0.5
    """

    kind: ClassVar[str] = "scores"

    def __init__(self, queries: Any, items: Any, scores: Any) -> None:
        self._queries, self._items = Coded.of(queries, "query"), Coded.of(items, "item")
        array = scores if isinstance(scores, pa.Array | pa.ChunkedArray) else pa.array(scores)
        self._scores = np.asarray(pc.fill_null(array.cast(pa.float64()), np.nan).to_numpy(), dtype=np.float64)
        if len(self._queries) == 0:
            raise InputError("the scores have no rows: give at least one (query, item, score) row")
        if not len(self._queries) == len(self._items) == len(self._scores):
            raise InputError(
                f"{len(self._queries)} queries, {len(self._items)} items and {len(self._scores)} scores came: "
                "give as many of each"
            )
        bad = np.flatnonzero(~np.isfinite(self._scores))
        if len(bad):
            row = int(bad[0])
            raise InputError(
                f"query {self._queries.name(row)!r}, item {self._items.name(row)!r} has score {self._scores[row]}: "
                "give a finite number, or leave the row out"
            )
        reject_repeats(self._queries, self._items, "score")

    @classmethod
    def from_dict(cls, scores: Mapping[Id, Mapping[Id, float]]) -> Scores:
        """From {query: {item: score}}.

        >>> Scores.from_dict({7: {"a": 1, 3: 2.5}}).rank(7)
        ['3', 'a']
        """
        return cls(
            [query for query, of in scores.items() for _ in of],
            [item for of in scores.values() for item in of],
            [float(score) for of in scores.values() for score in of.values()],
        )

    def queries(self) -> pa.Array:
        return self._queries.texts

    def items(self) -> tuple[pa.Array, pa.Array]:
        every = np.arange(len(self._scores))
        return self._queries.take(every), self._items.take(every)

    def rankings(self) -> tuple[pa.Array, pa.Array] | None:
        """One sorted ranking a query; None where ties leave several."""
        order = np.lexsort((-self._scores, self._queries.codes))
        query, score = self._queries.codes[order], self._scores[order]
        if ((query[1:] == query[:-1]) & (score[1:] == score[:-1])).any():
            return None
        starts = np.flatnonzero(np.r_[True, query[1:] != query[:-1]])
        offsets = pa.array(np.append(starts, len(order)), pa.int32())
        return self._queries.take(order[starts]), pa.ListArray.from_arrays(offsets, self._items.take(order))

    def rows(self) -> pa.Table:
        queries, items = self.items()
        return pa.table({"query": queries, "item": items, "score": pa.array(self._scores)})

    @classmethod
    def restored(cls, stored: Stored) -> Scores:
        stored.only("policy.parquet")
        return cls(*stored.columns("policy.parquet", {"query": "id", "item": "id", "score": "number"}).columns)

    def divided(self, by: float) -> Scores:
        """The same with every score divided by a positive number."""
        return Scores(*self.items(), self._scores / by)

    def candidates(self, pairs: Pairs) -> tuple[Codes, NDArray[np.float64]]:
        """The scored rows of `pairs`, and their scores."""
        kept, rows = locate(pairs, self._queries, self._items)
        return rows, self._scores[kept]

    def bind(self, pairs: Pairs) -> BoundScores:
        return BoundScores(pairs, *self.candidates(pairs))

    def __repr__(self) -> str:
        return f"Scores({len(self._scores)} items of {len(self._queries.texts)} queries)"


class BoundScores(OrderedCandidates):
    """Candidates by descending score, equal ones in every order alike."""

    def __init__(self, pairs: Pairs, rows: Codes, worth: NDArray[np.float64]) -> None:
        super().__init__(pairs, rows, worth)
        new = np.ones(len(self.rows), dtype=bool)
        new[1:] = (self.worth[1:] != self.worth[:-1]) | (self.queries[1:] != self.queries[:-1])
        heads = np.flatnonzero(new)
        block = np.cumsum(new) - 1
        start = self.starts[self.queries]
        self._low: Codes = heads[block] - start if len(heads) else heads  # positions low..high-1 belong to the block
        self._high: Codes = np.append(heads[1:], len(self.rows))[block] - start if len(heads) else heads

    @property
    def _stop(self) -> Codes:
        """The first position below the block's, or below all that are shown."""
        return np.maximum(np.minimum(self._high, self.shown[self.queries]), self._low)

    def part(self, first: int, last: int) -> PairTable:
        position = np.arange(self.pairs.positions)
        mine = slice(self.starts[first], self.starts[last])
        low, stop, size = self._low[mine], self._stop[mine], (self._high - self._low)[mine]
        within = (low[:, None] <= position) & (position < stop[:, None])
        start = self.pairs.starts[first]
        out = np.zeros((self.pairs.starts[last] - start, self.pairs.positions))
        out[self.rows[mine] - start] = within / size[:, None]
        return out

    def at(self, rows: Codes, positions: Codes) -> NDArray[np.float64]:
        own = np.append(self.place, -1)[rows]
        low, stop, high = (np.append(each, 0)[own] for each in (self._low, self._stop, self._high))
        within = (low <= positions) & (positions < stop)
        return np.asarray(np.divide(1.0, high - low, out=np.zeros(len(rows)), where=within))

    def exposure(self, looks: NDArray[np.float64]) -> NDArray[np.float64]:
        upto = np.concatenate([[0.0], np.cumsum(looks)])
        out, low, stop = (
            np.zeros(len(self.pairs)),
            np.minimum(self._low, len(looks)),
            np.minimum(self._stop, len(looks)),
        )
        among, alone = upto[stop] - upto[low], stop - low == 1
        among[alone] = looks[low[alone]]
        out[self.rows] = among / (self._high - self._low)
        return out

    def squares(self) -> NDArray[np.float64]:
        out = np.zeros(len(self.pairs))
        out[self.rows] = (self._stop - self._low) / (self._high - self._low) ** 2
        return out

    def probability(self, queries: Codes, rankings: Codes) -> NDArray[np.float64]:
        out = np.zeros(len(queries))
        _probability(self.starts, self.shown, self.place, self._low, self._high, queries, rankings, out)
        return out

    def possible(self, query: int) -> NDArray[np.bool_]:
        mine, place = slice(self.starts[query], self.starts[query + 1]), np.arange(self.shown[query])
        return np.asarray((self._low[mine, None] <= place) & (place < self._high[mine, None]))

    def pair_marginals(self, query: int) -> PairMarginals:
        """Items of different blocks stand independently; of one block of B, each two at two of its places alike."""
        mine = slice(self.starts[query], self.starts[query + 1])
        low, high, shown = self._low[mine], self._high[mine], int(self.shown[query])
        place = np.arange(shown)
        alone = ((low[:, None] <= place) & (place < high[:, None])) / (high - low)[:, None]
        size = high - low
        together = np.where(low[:, None] == low, size / np.maximum(size - 1, 1), 1.0)
        both = np.einsum("aj,bk,ab->ajbk", alone, alone, together)
        both[:, place, :, place] = 0.0
        each = np.arange(len(size))
        both[each, :, each, :] = 0.0
        small = both.reshape(len(size) * shown, -1)
        small[np.diag_indices_from(small)] = alone.ravel()
        return PairMarginals(spread(self.pairs, query, self.rows[mine], small))

    @property
    def all_tied(self) -> NDArray[np.bool_]:
        """(Q,) whether the policy is uniform over the rankings of the query's candidates."""
        out = self.sizes > 0
        out[out] = self._high[self.starts[:-1][out]] == self.sizes[out]
        return np.asarray(out)

    def arrivals(self, candidates: Codes, rng: np.random.Generator) -> NDArray[np.float64]:
        return self._low[candidates] + rng.random(len(candidates))


@njit(nogil=True)
def _probability(
    starts: Any, shown: Any, place: Any, low: Any, high: Any, queries: Any, rankings: Any, out: Any
) -> None:  # pragma: no cover
    stamp = np.full(len(low), -1, dtype=np.int64)
    for g in range(len(queries)):
        q = queries[g]
        if not is_ranking(starts[q], starts[q + 1], shown[q], rankings[g], place, stamp, g):
            continue
        chance, possible = 1.0, True
        for k in range(shown[q]):
            at = place[rankings[g, k]]
            if low[at] <= k < high[at]:
                chance /= high[at] - k
            else:
                possible = False
        out[g] = max(chance, 5e-324) if possible else 0.0  # what can be shown never has probability 0
