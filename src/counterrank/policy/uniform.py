"""The policy that knows nothing: every ranking alike."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from counterrank.errors import InputError, near
from counterrank.ids import Codes
from counterrank.log.sources import open_source
from counterrank.policy._coded import Coded, distinct, locate
from counterrank.policy.base import Policy
from counterrank.policy.product import BoundSlots
from counterrank.policy.scores import BoundScores
from counterrank.policy.slots import Slots
from counterrank.policy.stored import Stored
from counterrank.statistics.pairs import Pairs

_COLUMNS = {"query": "id", "position": "count", "item": "id"}


class Uniform(Policy):
    """Uniform over all rankings of a query's m candidates, of length L = min(the query's length, m).

    Assumption: every order is as likely as every other. P(ranking) = (m-L)!/m!, P(item at k) = 1/m: the logging under
    which the pseudoinverse estimator has a closed form (swaminathan2017, example 7). Candidates are the rows
    (query, item) of a table, a file or a dict of lists; with none given, all items of the query in the run. With a
    column `position` (or a list of items per position) each position has candidates of its own: see `Slots`.

    >>> policy = Uniform({"q": ["a", "b", "c"]})
    >>> policy.probability("q", ["c", "a"], length=2) == 1 / 6
    True
    >>> policy.marginals("q", length=1)["a"].round(3).tolist()
    [0.333]
    >>> Uniform({"q": [["a", "b"], ["c"]]}).probability("q", ["b", "c"])
    0.5
    """

    kind: ClassVar[str] = "uniform"

    def __init__(self, candidates: Any = None) -> None:
        self._pairs: tuple[Coded, Coded] | None = None
        self._slots: Slots | None = None
        if candidates is None:
            return
        queries, positions, items, self.source_notes = _candidates(candidates)
        both = Coded.of(queries, "query of candidates"), Coded.of(items, "item of candidates")
        if len(both[0]) == 0:
            raise InputError("the candidates have no rows: give (query, item) rows, or no candidates at all")
        once = distinct(*both)
        self._pairs = Coded(both[0].texts, both[0].codes[once]), Coded(both[1].texts, both[1].codes[once])
        if positions is not None:
            self._slots = _slots(*both, positions)

    def narrowed(self, candidates: Policy) -> Policy:
        return candidates if self.ranks_all else self

    @property
    def ranks_all(self) -> bool:  # type: ignore[override]
        return self._pairs is None

    @property
    def placed(self) -> bool:
        """Whether the candidates have positions of their own."""
        return self._slots is not None

    def queries(self) -> pa.Array | None:
        return None if self._pairs is None else self._pairs[0].texts

    def items(self) -> tuple[pa.Array, pa.Array]:
        if self._pairs is None:
            return pa.array([], pa.string()), pa.array([], pa.string())
        queries, items = self._pairs
        every = np.arange(len(queries))
        return queries.take(every), items.take(every)

    def rows(self) -> pa.Table | None:
        """Equal scores, or slots: of the candidates that were given."""
        if self._slots is not None:
            return self._slots.rows()
        queries, items = self.items()
        zeros = pa.array(np.zeros(len(items)))
        return pa.table({"query": queries, "item": items, "score": zeros}) if self._pairs is not None else None

    def stored(self) -> Stored:
        rows = self.rows()
        columns = [name for name in rows.column_names if name in _COLUMNS] if rows is not None else []
        tables = {"candidates.parquet": rows.select(columns)} if rows is not None else {}
        return Stored.of(self.kind, tables=tables)

    @classmethod
    def restored(cls, stored: Stored) -> Uniform:
        stored.only("candidates.parquet?")
        if "candidates.parquet" not in stored.files:
            return cls()
        return cls(stored.columns("candidates.parquet", _COLUMNS, optional=["position"]))

    def rankings(self) -> tuple[pa.Array, pa.Array] | None:
        return self._slots.rankings() if self._slots is not None else None

    def bind(self, pairs: Pairs) -> BoundScores | BoundSlots:
        if self._slots is not None:
            product = self._slots.bind(pairs)
            self._reject_missing(pairs, product.shown)
            return product
        rows = np.arange(len(pairs)) if self._pairs is None else locate(pairs, *self._pairs)[1]
        bound = BoundScores(pairs, rows, np.zeros(len(rows)))  # all tied
        if self._pairs is not None:
            self._reject_missing(pairs, bound.sizes)
        return bound

    def __repr__(self) -> str:
        if self._pairs is None:
            return "Uniform()"
        return f"Uniform({len(self._pairs[0])} candidates of {len(self._pairs[0].texts)} queries)"

    def _reject_missing(self, pairs: Pairs, sizes: Codes) -> None:
        if (sizes == 0).any():
            query = pairs.query_ids.texts[int(np.flatnonzero(sizes == 0)[0])].as_py()
            columns = "(query, item)" if self._slots is None else "(query, position, item)"
            raise InputError(f"query {query!r} has no candidates: add rows {columns} for it to the candidates")


def _candidates(given: Any) -> tuple[Any, Any, Any, tuple[str, ...]]:
    """Queries, positions (or None) and items, from a dict or a source, and what was not read."""
    if isinstance(given, Mapping):
        flat = [(query, entry) for query, entries in given.items() for entry in entries]
        nested = {isinstance(entry, list | tuple) for _, entry in flat}
        if nested == {True}:
            rows = [(query, k + 1, a) for query, slots in given.items() for k, of in enumerate(slots) for a in of]
            return [row[0] for row in rows], [row[1] for row in rows], [row[2] for row in rows], ()
        if len(nested) > 1:
            raise InputError("the candidates mix items and lists of items: give {query: [items]}, or a list per slot")
        return [query for query, _ in flat], None, [item for _, item in flat], ()
    source = open_source(given, "candidates")
    absent = [name for name in ("query", "item") if name not in source.names]
    if absent:
        came = ", ".join(source.names)
        raise InputError(
            f"candidates lack column {absent[0]!r}{near(absent[0], source.names)}: {source.label} has {came}"
        )
    names = [name for name in ("query", "position", "item") if name in source.names]
    table = source.read({name: name for name in names})
    positions = table["position"] if "position" in names else None
    return table["query"], positions, table["item"], tuple(source.notes)


def _slots(queries: Coded, items: Coded, positions: Any) -> Slots:
    """Slots of equal chances; a row that comes again says nothing new."""
    place = np.asarray(positions, dtype=np.float64)
    kept = np.unique(np.column_stack([queries.codes, items.codes, place]), axis=0, return_index=True)[1]
    return Slots(queries.take(kept), place[kept], items.take(kept))
