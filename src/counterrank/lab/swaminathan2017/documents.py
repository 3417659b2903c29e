"""MQ2008 as the paper uses it: documents of queries with features and labels, and lasso scores of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from counterrank.ids import Codes, Ids
from counterrank.lab import need
from counterrank.log.letor import read_letor
from counterrank.records import dataclass
from counterrank.regress import Lasso
from counterrank.regress.base import Matrix, Vector

PARTS = 5
FOLDS = 5
TITLE = (3, 8, 13, 18, 29, 30, 31, 32)  # features, counted from 1
BODY = (1, 6, 11, 16, 21, 22, 23, 24)


@dataclass(frozen=True, kw_only=True)
class Documents:
    """Documents by query, the queries in the order of the files."""

    query_ids: Ids
    item_ids: Ids
    queries: Codes  # (N,)
    items: Codes  # (N,)
    parts: Codes  # (Q,) the file of each query, from 0
    features: Matrix  # (N, F)
    labels: Vector  # (N,)

    @property
    def sizes(self) -> Codes:
        """How many documents each query has, (Q,)."""
        return np.bincount(self.queries, minlength=len(self.query_ids))

    def scored(self, columns: tuple[int, ...] | None = None) -> Vector:
        """(N,): relevance as a lasso on these features (all of them by default) predicts it, trained on all queries.

        Its penalty is chosen by cross-validation over disjoint queries.
        """
        x = self.features if columns is None else self.features[:, np.array(columns) - 1]
        lasso = Lasso(x.shape[1], FOLDS)
        lasso.add(x, self.labels, np.ones(len(x)), self.queries % FOLDS)
        return lasso.fit().predict(x)


def read_documents(data: Path | None) -> Documents:
    """The five parts of `mq2008`."""
    paths = need(data, *(f"mq2008/S{part + 1}.txt.gz" for part in range(PARTS)))
    tables = [read_letor([path]) for path in paths]
    table = pa.concat_tables(tables)
    part = np.repeat(np.arange(PARTS), [t.num_rows for t in tables])
    query, item = (table[name].combine_chunks().dictionary_encode() for name in ("query", "item"))
    queries = query.indices.to_numpy().astype(np.int64)
    order = np.argsort(queries, kind="stable")
    first = np.unique(queries, return_index=True)[1]
    width = table.num_columns - 3
    features = np.column_stack([table[f"f{k + 1}"].to_numpy() for k in range(width)])
    return Documents(
        query_ids=Ids(query.dictionary.cast(pa.string())),
        item_ids=Ids(item.dictionary.cast(pa.string())),
        queries=queries[order],
        items=item.indices.to_numpy().astype(np.int64)[order],
        parts=part[first],
        features=features[order],
        labels=pc.cast(table["label"], pa.float64()).to_numpy()[order],
    )
