"""Queries whose documents have features and relevance labels: what semi-synthetic worlds are made of."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from counterrank.errors import InputError
from counterrank.ids import Codes
from counterrank.records import dataclass

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Labelled:
    """Documents query after query; those of query q are starts[q]:starts[q+1].

    >>> table = pa.table({"query": ["b", "a", "b"], "item": ["x", "y", "z"], "label": [0, 1, 2], "f1": [0.5, 0.1, 0.7]})
    >>> data = Labelled.of(table)
    >>> data.ids, data.starts.tolist(), data.labels.tolist()
    (['b', 'a'], [0, 2, 3], [0.0, 2.0, 1.0])
    """

    ids: list[str]  # of the queries
    starts: Codes  # (Q+1,)
    features: Matrix  # (P, F)
    names: list[str]  # of the features
    labels: Vector  # (P,)

    @classmethod
    def of(cls, table: pa.Table, label: str = "label") -> Labelled:
        """A table of query, item, a label and numbers; queries in the order in which they first come."""
        if label not in table.column_names:
            raise InputError(f"the table has no column {label!r} with labels: it has {', '.join(table.column_names)}")
        coded = table["query"].cast(pa.string()).combine_chunks().dictionary_encode()
        queries = coded.indices.to_numpy().astype(np.int64)
        order = np.argsort(queries, kind="stable")
        names = [name for name in table.column_names if name not in ("query", "item", label)]
        columns = [table[name].to_numpy().astype(np.float64) for name in names]
        features = np.column_stack(columns) if columns else np.zeros((table.num_rows, 0))
        sizes = np.bincount(queries, minlength=len(coded.dictionary))
        return cls(
            ids=coded.dictionary.to_pylist(),
            starts=np.concatenate([[0], np.cumsum(sizes)]),
            features=np.ascontiguousarray(features[order]),
            names=names,
            labels=table[label].to_numpy().astype(np.float64)[order],
        )

    def __len__(self) -> int:
        return len(self.ids)

    @cached_property
    def sizes(self) -> Codes:
        """How many documents each query has, (Q,)."""
        return np.diff(self.starts)

    @cached_property
    def queries(self) -> Codes:
        """(P,) the query of each document."""
        return np.repeat(np.arange(len(self)), self.sizes)

    @cached_property
    def longest(self) -> int:
        """The most documents that a query has."""
        return int(self.sizes.max(initial=0))

    def rows(self, queries: Codes) -> Codes:
        """Where the documents of some queries stand, query after query."""
        sizes = self.sizes[queries]
        ends = np.cumsum(sizes)
        return np.arange(ends[-1] if len(ends) else 0) - np.repeat(ends - sizes - self.starts[queries], sizes)

    def some(self, queries: Codes | Sequence[int]) -> Labelled:
        """These queries alone, in this order."""
        chosen = np.asarray(queries, dtype=np.int64)
        rows = self.rows(chosen)
        return Labelled(
            ids=[self.ids[int(q)] for q in chosen],
            starts=np.concatenate([[0], np.cumsum(self.sizes[chosen])]),
            features=self.features[rows],
            names=self.names,
            labels=self.labels[rows],
        )


@dataclass(frozen=True)
class Split:
    """Queries to train on, to validate on and to test on."""

    train: Labelled
    validation: Labelled
    test: Labelled
