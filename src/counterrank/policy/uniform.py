"""The policy that knows nothing: every ranking alike."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from counterrank.errors import InputError, near
from counterrank.log.sources import open_source
from counterrank.policy._coded import Coded, distinct, locate
from counterrank.policy.base import Policy
from counterrank.policy.scores import BoundScores
from counterrank.statistics.pairs import Pairs


class Uniform(Policy):
    """Uniform over all rankings of a query's m candidates, of length L = min(the query's length, m).

    Assumption: every order is as likely as every other. P(ranking) = (m-L)!/m!, P(item at k) = 1/m: the logging under
    which the pseudoinverse estimator has a closed form (swaminathan2017, example 7). Candidates are the rows
    (query, item) of a table, a file or a dict of lists; with none given, all items of the query in the run.

    >>> policy = Uniform({"q": ["a", "b", "c"]})
    >>> policy.probability("q", ["c", "a"], length=2) == 1 / 6
    True
    >>> policy.marginals("q", length=1)["a"].round(3).tolist()
    [0.333]
    """

    def __init__(self, candidates: Any = None) -> None:
        self._pairs: tuple[Coded, Coded] | None = None
        if candidates is None:
            return
        if isinstance(candidates, Mapping):
            queries: Any = [query for query, items in candidates.items() for _ in items]
            items: Any = [item for items in candidates.values() for item in items]
        else:
            source = open_source(candidates, "candidates")
            absent = [name for name in ("query", "item") if name not in source.names]
            if absent:
                came = ", ".join(source.names)
                raise InputError(
                    f"candidates lack column {absent[0]!r}{near(absent[0], source.names)}: {source.label} has {came}"
                )
            table = source.read({"query": "query", "item": "item"})
            queries, items = table["query"], table["item"]
        both = Coded.of(queries, "query of candidates"), Coded.of(items, "item of candidates")
        if len(both[0]) == 0:
            raise InputError("the candidates have no rows: give (query, item) rows, or no candidates at all")
        once = distinct(*both)
        self._pairs = Coded(both[0].texts, both[0].codes[once]), Coded(both[1].texts, both[1].codes[once])

    def narrowed(self, candidates: Policy) -> Policy:
        return candidates if self.ranks_all else self

    @property
    def ranks_all(self) -> bool:  # type: ignore[override]
        return self._pairs is None

    def queries(self) -> pa.Array | None:
        return None if self._pairs is None else self._pairs[0].texts

    def items(self) -> tuple[pa.Array, pa.Array]:
        if self._pairs is None:
            return pa.array([], pa.string()), pa.array([], pa.string())
        queries, items = self._pairs
        every = np.arange(len(queries))
        return queries.take(every), items.take(every)

    def bind(self, pairs: Pairs) -> BoundScores:
        rows = np.arange(len(pairs)) if self._pairs is None else locate(pairs, *self._pairs)[1]
        bound = BoundScores(pairs, rows, np.zeros(len(rows)))  # all tied
        if self._pairs is not None and (bound.sizes == 0).any():
            query = pairs.query_ids.texts[int(np.flatnonzero(bound.sizes == 0)[0])].as_py()
            raise InputError(f"query {query!r} has no candidates: add rows (query, item) for it to the candidates")
        return bound

    def __repr__(self) -> str:
        if self._pairs is None:
            return "Uniform()"
        return f"Uniform({len(self._pairs[0])} candidates of {len(self._pairs[0].texts)} queries)"
