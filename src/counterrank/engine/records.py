"""Arrays that belong together, as kernels take them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from counterrank.ids import Codes

Vector = NDArray[np.float64]


class ShownRows(NamedTuple):
    """What a batch of rows shows."""

    query_codes: Codes
    offsets: Codes
    keys: Codes  # of items: of those that differ, where they have places, else of each
    places: NDArray[np.int32]  # where among the keys that of each is; empty: at its own place
    clicks: NDArray[np.int8]  # empty: they are not counted


class PairSlots(NamedTuple):
    """Where pairs are found; of each its query, its item, and its place among those of its query; and where items are
    found."""

    slots: Codes
    tables: Codes
    query: Codes
    item: Codes
    place: NDArray[np.int32]
    item_slots: Codes


class Batch(NamedTuple):
    """A batch of coded rows, and what each row counts for."""

    query_codes: Codes
    lengths: Codes  # of the lists, uncut
    impressions: Codes
    reward: Vector
    propensity: Vector
    bits: NDArray[np.uint64]  # of the propensities
    days: Codes
    coded: NDArray[np.int32]


class Wanted(NamedTuple):
    """What is asked of the rows; rankings: 0 none, 1 those whose `keys` are given and that begin with a pair for which
    `begins` is true, 2 all."""

    covered: NDArray[np.bool_]
    theta: Vector
    has_reward: bool
    by_propensity: bool
    rankings: int
    keys: NDArray[np.uint64]
    begins: NDArray[np.bool_]


class Sums(NamedTuple):
    """What rows are added to."""

    tally: Codes
    per_query: Vector
    per_day: Vector


class GroupArrays(NamedTuple):
    """Rankings that were met, and their sums."""

    slots: Codes
    query: Codes
    rows: NDArray[np.int32]
    sums: Vector
    propensity: Vector


class PageArrays(NamedTuple):
    """Room for rows as groups of rankings."""

    queries: Codes
    rows: Codes
    impressions: Vector
    reward: Vector
    reward2: Vector
