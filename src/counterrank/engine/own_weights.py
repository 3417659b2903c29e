"""The second pass of the embedded engine where weights go by each impression's own propensities."""

# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from counterrank.compiled import njit
from counterrank.engine.narrow import Kept
from counterrank.engine.plan import Coefficients, OwnWeights
from counterrank.engine.unit_sums import UnitSums
from counterrank.ids import Codes
from counterrank.records import dataclass
from counterrank.statistics.cells import LookedUp, cell_at
from counterrank.statistics.histogram import NUDGE, SHIFT
from counterrank.statistics.item_chances import UNDER

Table = NDArray[np.float64]
CHUNK = 1 << 16  # rows that are weighed at a time


class Weighed(NamedTuple):
    """Some rows of a part: their query (-1: crossed out), and by each estimator term, r and mean weight, (E, n)."""

    rows: slice
    query: Codes
    term: Table
    total: Table
    weight: Table


def own_table(own: Sequence[OwnWeights], size: int) -> tuple[Codes, Table]:
    """The estimator of each, and weight, offset and floor of each in turn, by cell."""
    table = np.empty((size, 3 * len(own)))
    for j, each in enumerate(own):
        table[:, 3 * j], table[:, 3 * j + 1], table[:, 3 * j + 2] = each.weight, each.offset, each.floor
    return np.array([each.of for each in own], dtype=np.int64), table


def weighed(part: Kept, cells: LookedUp, table: Table, coefficients: Coefficients) -> Iterator[Weighed]:
    """A part of the log, some rows at a time; `table` as `kernels.sum_moments` takes it."""
    of, own = own_table(coefficients.own, len(coefficients.cells))
    assert part.chances is not None  # noqa: S101 - the plan asked for them
    estimators = len(coefficients.scale)
    for first in range(0, len(part), CHUNK):
        rows = slice(first, min(first + CHUNK, len(part)))
        size = rows.stop - rows.start
        out = np.zeros((3, estimators, size))
        query = np.empty(size, dtype=np.int64)
        _weigh(part.some(first, rows.stop), part.chances[rows], cells, table, own, of, coefficients.scale, query, out)
        yield Weighed(rows, query, *out)


@dataclass(frozen=True)
class OwnSums:
    """What the parts of a log are added to: sums by query, products of two estimators, histograms, units."""

    out: Table
    cross: Table
    spread: Table
    units: UnitSums

    def add(self, part: Kept, cells: LookedUp, table: Table, coefficients: Coefficients) -> None:
        constant, units = coefficients.constant, self.units
        for some in weighed(part, cells, table, coefficients):
            n = None if part.impressions is None else part.impressions[some.rows]
            counts = np.zeros(0, dtype=np.int64) if n is None else n
            _sum(some.query, counts, some.term, some.total, some.weight, constant, self.out, self.cross, self.spread)
            if units.clustered or coefficients.by_query:
                cluster = None if part.cluster is None else part.cluster[some.rows]
                units.put(n, cluster, some.query, some.term, some.total + constant[:, some.query])


@njit(nogil=True)
def _weigh(coded, chances, cells, table, own, of, scale, query, out):  # pragma: no cover
    rows, pair_query, starts, positions, _ = cells
    estimators = len(scale)
    weight = np.empty(estimators)
    for r in range(len(coded)):
        query[r] = -1
        if coded[r, 0] < 0:
            continue
        query[r] = pair_query[coded[r, 0] >> 1]
        length = 0
        for k in range(coded.shape[1]):
            v = coded[r, k]
            if v < 0:
                break
            length += 1
            c = cell_at(starts, positions, rows[v >> 1], k)
            for e in range(estimators):
                weight[e] = table[c, e]
                out[1, e, r] -= table[c, estimators + e]
            for j in range(len(of)):
                p = max(chances[r, k], own[c, 3 * j + 2])
                weight[of[j]] += own[c, 3 * j] / p
                out[1, of[j], r] -= own[c, 3 * j + 1] / p
            for e in range(estimators):
                out[2, e, r] += weight[e]
                if v & 1:
                    out[0, e, r] += scale[e, k] * weight[e]
        for e in range(estimators):
            out[1, e, r] += out[0, e, r]
            out[2, e, r] /= length


@njit(nogil=True)
def _sum(query, impressions, term, total, weight, constant, out, cross, spread):  # pragma: no cover
    """What `kernels.sum_moments` adds up, of rows that have been weighed."""
    number = np.empty(3)
    nudged = np.empty(3)
    bits = nudged.view(np.uint64)
    for r in range(len(query)):
        q = query[r]
        if q < 0:
            continue
        m = float(impressions[r]) if len(impressions) > 0 else 1.0
        for e in range(len(term)):
            for other in range(e + 1):
                cross[e, other] += m * total[e, r] * total[other, r]
            number[0], number[1], number[2] = total[e, r] + constant[e, q], term[e, r], weight[e, r]
            for i in range(3):
                nudged[i] = number[i] * NUDGE
                bucket = np.int64(bits[i] >> np.uint64(SHIFT))
                spread[e, i, bucket, 0] += m
                spread[e, i, bucket, 1] += m * number[i]
            out[q, e, 0] += m * total[e, r]
            out[q, e, 1] += m * total[e, r] * total[e, r]
            out[q, e, 2] += m * weight[e, r]
            out[q, e, 3] += m * weight[e, r] * weight[e, r]


def trim(part: Kept, cells: LookedUp, floor: Table, sums: Table) -> None:
    """Add a part's impressions to (C, 3) sums: Σ 1/max(p, floor), Σ click/max(p, floor), and those below the floor."""
    assert part.chances is not None  # noqa: S101 - the plan asked for them
    n = part.impressions if part.impressions is not None else np.zeros(0, dtype=np.int64)
    _trim(part.coded, part.chances, n, cells, floor, sums)


@njit(nogil=True)
def _trim(coded, chances, impressions, cells, floor, sums):  # pragma: no cover
    rows, _, starts, positions, _ = cells
    for r in range(len(coded)):
        m = float(impressions[r]) if len(impressions) > 0 else 1.0
        for k in range(coded.shape[1]):
            v = coded[r, k]
            if v < 0:
                break
            c = cell_at(starts, positions, rows[v >> 1], k)
            part = m / max(chances[r, k], floor[c])
            sums[c, 0] += part
            sums[c, 1] += part * (v & 1)
            if chances[r, k] * UNDER < floor[c]:
                sums[c, 2] += m
