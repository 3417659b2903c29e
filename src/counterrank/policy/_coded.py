"""A column of ids as distinct texts and integer codes, and where its pairs stand in a run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from counterrank.errors import InputError
from counterrank.ids import Codes, as_text
from counterrank.records import dataclass
from counterrank.statistics.pairs import Pairs


@dataclass(frozen=True)
class Coded:
    """Row r holds the id `texts[codes[r]]`.

    >>> Coded.of([7, "a", "7"], "item").codes.tolist()
    [0, 1, 0]
    """

    texts: pa.Array
    codes: Codes

    def __len__(self) -> int:
        return len(self.codes)

    @classmethod
    def of(cls, values: Any, what: str) -> Coded:
        """From ids of any kind; a missing one is an error."""
        text = as_text(id_array(values), what)
        if text.null_count:
            row = pc.index(pc.is_null(text), True).as_py() + 1
            raise InputError(
                f"row {row} has no {what} (null, empty or with a zero byte): give each an id, or leave it out"
            )
        encoded = text.dictionary_encode()
        return cls(encoded.dictionary, encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64))

    def take(self, rows: Codes) -> pa.Array:
        """The texts of these rows."""
        return self.texts.take(pa.array(self.codes[rows]))

    def name(self, row: int) -> str:
        """The text of one row."""
        return str(self.texts[int(self.codes[row])].as_py())


def id_array(values: Any) -> Any:
    """Python sequences as Arrow, where numbers and texts may be mixed; Arrow and NumPy as they are."""
    if isinstance(values, Sequence) and any(isinstance(value, str) for value in values):
        return pa.array([_text(value) for value in values], pa.string())
    return values


def list_array(rankings: Any) -> pa.Array:
    """Rankings as one Arrow list array; Python lists may mix numbers and texts."""
    if not isinstance(rankings, pa.Array | pa.ChunkedArray):
        lists = [None if ranking is None else list(ranking) for ranking in rankings]
        if any(isinstance(value, str) for ranking in lists for value in ranking or ()):
            lists = [None if ranking is None else [_text(value) for value in ranking] for ranking in lists]
        rankings = pa.array(lists)
    array = rankings.combine_chunks() if isinstance(rankings, pa.ChunkedArray) else rankings
    kind = array.type
    if pa.types.is_null(kind):
        return array.cast(pa.list_(pa.string()))
    if not (pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)):
        raise InputError(f"items came as {kind}, but each ranking is a list of ids: give a list column")
    return array


def _text(value: Any) -> str | None:
    return None if value is None else str(int(value) if isinstance(value, float) and value.is_integer() else value)


def distinct(queries: Coded, items: Coded) -> Codes:
    """One row for each distinct (query, item)."""
    return np.asarray(np.unique((queries.codes << 32) | items.codes, return_index=True)[1], dtype=np.int64)


def reject_repeats(queries: Coded, items: Coded, what: str) -> None:
    """A (query, item) may come once."""
    rows = distinct(queries, items)
    if len(rows) < len(queries):
        twice = int(np.setdiff1d(np.arange(len(queries)), rows)[0])
        raise InputError(
            f"query {queries.name(twice)!r} has item {items.name(twice)!r} more than once: keep one {what} per item"
        )


def locate(pairs: Pairs, queries: Coded, items: Coded) -> tuple[Codes, Codes]:
    """The rows here whose query is in the run, and the row of `pairs` of each."""
    query = pairs.query_ids.codes(queries.texts)[queries.codes]
    kept = np.flatnonzero(query >= 0)
    rows = pairs.find(query[kept], pairs.item_ids.codes(items.texts)[items.codes[kept]])
    if (rows < 0).any():
        at = int(kept[np.flatnonzero(rows < 0)[0]])
        raise ValueError(
            f"pairs lack item {items.name(at)!r} of query {queries.name(at)!r}: add what policy.items() names"
        )
    return kept, rows
