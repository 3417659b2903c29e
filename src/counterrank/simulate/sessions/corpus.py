"""The queries of a simulation with their documents: features, and the relevance that users feel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from counterrank.errors import InputError, near
from counterrank.records import dataclass

Vector = NDArray[np.float64]
NOISE = 0.1  # the chance that a document of label 0 is clicked when looked at


@dataclass(frozen=True, kw_only=True)
class Corpus:
    """Documents by query: those of query q are rows starts[q]:starts[q+1]. `relevance` is made of `labels`."""

    queries: list[str]
    starts: NDArray[np.int64]  # (Q+1,)
    items: list[str]  # (P,)
    features: NDArray[np.float64]  # (P, F) NaN where missing
    names: list[str]
    labels: Vector  # (P,)
    relevance: Vector  # (P,)
    read: int  # documents that were read, also those of queries that are left out
    columns: list[str]  # features as they came, also those that are left out
    notes: list[str] = field(default_factory=list)

    def __repr__(self) -> str:
        return f"Corpus({len(self.items):,} documents of {len(self.queries):,} queries, {len(self.names)} features)"

    @property
    def sizes(self) -> NDArray[np.int64]:
        return np.diff(self.starts)

    def place_of(self, feature: int | str, what: str) -> int:
        """The column of a feature by its name, or by its number from 1 over the features as they came."""
        name = self.columns[place_of(feature, self.columns, what)]
        if name not in self.names:
            raise InputError(f"`{what}` is {feature}, feature {name!r}, which is left out: keep it, or take another")
        return self.names.index(name)

    def automatic(self, arrival: float) -> int:
        """Sessions by eq. 27: queries × (mean documents − 5) / arrival."""
        if arrival <= 0:
            raise InputError("`sessions` is auto and `arrival` is 0: documents would never have come; give a number")
        return max(1, round(len(self.queries) * (len(self.items) / len(self.queries) - 5) / arrival))

    def ideal(self, weights: Vector) -> Vector:
        """(Q,) the largest DCG of each query: all its documents by relevance."""
        out = np.zeros(len(self.queries))
        for q in range(len(out)):
            best = np.sort(self.relevance[self.starts[q] : self.starts[q + 1]])[::-1][: len(weights)]
            out[q] = best @ weights[: len(best)]
        return out


def place_of(feature: int | str, names: Sequence[str], what: str) -> int:
    """The column of a feature by its name, or its number from 1."""
    if str(feature) in names:
        return list(names).index(str(feature))
    if str(feature).isdecimal() and 1 <= int(feature) <= len(names):
        return int(feature) - 1
    raise InputError(
        f"`{what}` is {feature}: expected a number from 1 to {len(names)}, or a feature's name"
        f"{near(str(feature), names)}"
    )


def relevance_of(labels: Vector) -> Vector:
    """R = 0.1 + 0.9 (2^y − 1) / (2^ymax − 1): the chance of a click when looked at, and the gain of NDCG.

    >>> relevance_of(np.array([0.0, 1.0, 2.0])).tolist()
    [0.1, 0.4, 1.0]
    """
    most = labels.max(initial=0.0)
    if most <= 0:
        raise InputError("no document has a label above 0: relevance cannot be made of them")
    return np.asarray(NOISE + (1 - NOISE) * np.expm1(labels * np.log(2)) / np.expm1(most * np.log(2)))


def corpus_of(
    queries: pa.Array, items: pa.Array, labels: Any, features: NDArray[np.float64], names: list[str], *,
    columns: list[str] | None = None, drop_irrelevant: bool = False,
) -> Corpus:  # fmt: skip
    """A corpus from columns; the documents of a query come together, in the order of the rows."""
    y = np.asarray(labels, dtype=np.float64)
    if not np.isfinite(y).all() or (y < 0).any():
        raise InputError("labels are numbers from 0 up (0, 1, 2, …): some that came are not")
    if y.max(initial=0.0) > 60:
        raise InputError(
            f"the largest label is {y.max():g}: labels are grades such as 0 to 4, since gains grow as 2^label"
        )
    coded = queries.dictionary_encode()
    codes, ids = coded.indices.to_numpy(), coded.dictionary.to_pylist()
    relevance = relevance_of(y)
    best = np.zeros(len(ids))
    np.maximum.at(best, codes, y)
    notes = []
    keep = np.ones(len(ids), dtype=bool)
    if drop_irrelevant:
        keep = best > 0
        notes.append(f"{int((~keep).sum()):,} of {len(ids):,} queries have no relevant document and were left out")
    rows = np.flatnonzero(keep[codes])
    order = rows[np.argsort(codes[rows], kind="stable")]
    kept = np.flatnonzero(keep)
    counts = np.bincount(codes[rows], minlength=len(ids))[kept]
    return Corpus(
        queries=[ids[q] for q in kept],
        starts=np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        items=items.take(pa.array(order)).to_pylist(),
        features=np.ascontiguousarray(features[order]),
        names=names,
        labels=y[order],
        relevance=relevance[order],
        read=len(y),
        columns=names if columns is None else columns,
        notes=notes,
    )
