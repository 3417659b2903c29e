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
    item_keys: Codes
    clicks: NDArray[np.int8]
    has_clicks: bool


class PairSlots(NamedTuple):
    """Where pairs are found, the query and item of each, and where items are found."""

    slots: Codes
    tables: Codes
    query: Codes
    item: Codes
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
    """What is asked of the rows; rankings: 0 none, 1 those whose `keys` are given, 2 all."""

    covered: NDArray[np.bool_]
    theta: Vector
    has_reward: bool
    by_propensity: bool
    rankings: int
    keys: NDArray[np.uint64]


class Sums(NamedTuple):
    """What rows are added to."""

    size: Codes
    pair_item: Codes
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
