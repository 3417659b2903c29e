"""Made-up pairs, and batches of rows coded by them."""

from __future__ import annotations

import numpy as np

from counterrank.engine import kernels
from counterrank.engine.coder import CodedRows
from counterrank.engine.tables import PairTable


def pairs_of(sizes: list[int], rng: np.random.Generator) -> PairTable:
    """As many pairs of each query, met in any order."""
    query = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    table = PairTable(1)
    table.know(len(sizes))
    table.grow(0, len(query))
    table.query[: len(query)] = query
    for q, size in enumerate(sizes):
        table.place[np.flatnonzero(query == q)] = np.arange(size)
        table.tables[q, kernels.TAKEN] = size
    return table


def batch_of(
    table: PairTable, queries: int, size: int, rng: np.random.Generator, *, positions: int, counted: bool = True
) -> CodedRows:
    """Rows of the first queries alone, as a batch has them that came before others were met; some are of no query, some
    are crossed out, with -1 at their ends."""
    of = np.sort(rng.integers(-1, queries, size))
    coded = np.full((size, positions), -1, dtype=np.int32)
    query = table.query[: int(table.tables[:, kernels.TAKEN].sum())]
    mine = [np.flatnonzero(query == q) for q in range(queries)]
    for row, q in enumerate(of):
        if q >= 0 and rng.random() < 0.9:
            length = int(rng.integers(1, positions + 1))
            coded[row, :length] = 2 * rng.choice(mine[q], length) + rng.integers(0, 2, length)
    starts, impressions = np.searchsorted(of, np.arange(queries + 1)), rng.integers(1, 9, size) if counted else None
    return CodedRows(coded=coded, impressions=impressions, starts=starts, day=of.astype(np.int32))
