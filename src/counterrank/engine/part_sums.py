"""The second pass where a log's rows are dealt out: what a process adds up of the coded rows of its part."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from counterrank.engine import kernels
from counterrank.engine.coder import CodedRows
from counterrank.engine.moment_sums import MomentSums
from counterrank.engine.own_weights import OwnSums, trim
from counterrank.engine.packed import packed, unpacked
from counterrank.engine.part_counts import Sent
from counterrank.engine.plan import Coefficients, Moments, OwnWeights
from counterrank.engine.sent_rows import Receiver, SentRows, runs_by_query
from counterrank.engine.unit_sums import UnitSums
from counterrank.ids import Codes
from counterrank.records import dataclass
from counterrank.statistics.cells import Cells, LookedUp, Tally
from counterrank.statistics.counts import Counts
from counterrank.statistics.histogram import Histogram, Spreads
from counterrank.statistics.pairs import Pairs
from counterrank.statistics.query_terms import QueryUnits
from counterrank.statistics.sample import NO_DAY
from counterrank.statistics.store import lengthened, shortened

Vector = NDArray[np.float64]
Picked = tuple[Codes, NDArray[np.int32], Codes, Codes]  # queries, coded rows, impressions and days of a sample
WAITING_BYTES = 32 << 20  # of rows that wait to be weighed together
MOMENTS, SAMPLE, TRIMMED = "moments", "sample", "trimmed"  # what is sent
_SPREADS = ("influence", "term", "weight")
_UNITS = ("queries", "sizes", "buckets", "counts", "sums")


@dataclass(frozen=True)
class Thin:
    """Numbers of which many may be 0: then only the others, and where they are."""

    size: int
    values: Vector
    at: NDArray[np.int32] | None = None  # None: all

    @classmethod
    def of(cls, numbers: Vector) -> Thin:
        """
        >>> Thin.of(np.array([0.0, 0.0, 2.0, 0.0])).whole()
        array([0., 0., 2., 0.])
        """
        at = np.flatnonzero(numbers).astype(np.int32)
        return cls(len(numbers), numbers[at], at) if 2 * len(at) < len(numbers) else cls(len(numbers), numbers)

    def whole(self) -> Vector:
        if self.at is None:
            return self.values
        out = np.zeros(self.size)
        out[self.at] = self.values
        return out


@dataclass(frozen=True, kw_only=True)
class Weights:
    """All that rows are weighed with, as arrays: it goes to every process once."""

    pairs: Pairs
    sent_cells: tuple[NDArray[Any], NDArray[Any], int]  # starts and positions in few bytes, and how deep they go
    columns: Sequence[Thin]  # those that differ, since estimators share many
    of: Sequence[int]  # the column of each estimator's weight, then of each one's offset
    scale: Vector  # (E, K)
    constant: Vector  # (E, Q)
    by_query: Sequence[int]  # the estimators whose terms by query are needed
    own: Sequence[OwnWeights]
    chosen: NDArray[np.bool_]  # (P,) which pairs stand first in an impression of the sample

    @classmethod
    def from_coefficients(cls, given: Coefficients, chosen: NDArray[np.bool_]) -> Weights:
        weights, offsets = given.whole()
        columns: list[Thin] = []
        seen: dict[bytes, int] = {}
        of = []
        for column in (*weights, *offsets):
            key = blake2b(np.ascontiguousarray(column).tobytes()).digest()
            if key not in seen:
                seen[key] = len(columns)
                columns.append(Thin.of(np.asarray(column)))
            of.append(seen[key])
        cells = given.cells
        return cls(
            pairs=given.pairs, sent_cells=(shortened(cells.starts), shortened(cells.positions), cells.depth),
            columns=columns, of=of, scale=given.scale, constant=given.constant,
            by_query=list(given.by_query), own=list(given.own), chosen=chosen,
        )  # fmt: skip

    @cached_property
    def cells(self) -> Cells:
        starts, positions, depth = self.sent_cells
        return Cells(lengthened(starts), lengthened(positions), depth)

    @cached_property
    def coefficients(self) -> Coefficients:
        """As the embedded engine takes them."""
        estimators, nothing = len(self.scale), np.zeros(0, dtype=np.int64)
        counts = Counts.of_cells(self.pairs, Tally(self.cells, nothing, nothing))
        whole = [column.whole() for column in self.columns]
        columns = [whole[number] for number in self.of]
        both = list(zip(columns[:estimators], columns[estimators:], strict=True))
        weighed = [lambda part, each=each: (each[0][part.cells], each[1][part.cells]) for each in both]
        return Coefficients(
            counts=counts, weighed=weighed, scale=self.scale, constant=self.constant, by_query=self.by_query,
            own=self.own,
        )  # fmt: skip

    @cached_property
    def table(self) -> Vector:
        """Made once in a process."""
        given = self.coefficients
        return given.table(given.counts.part(0, len(given.counts.impressions)))

    def where(self, receiver: Receiver) -> LookedUp:
        """The cells of the pairs that came so far."""
        return self.cells.looked_up(receiver.rows, receiver.queries)

    def weighed(self, parts: Iterator[Any]) -> Iterator[Sent]:
        """The moments of a part's rows, and those that are in the sample."""
        given, receiver = self.coefficients, Receiver(self.pairs)
        sums = MomentSums(given, UnitSums(given, clustered=False, clusters=0))
        own = OwnSums(sums.out, sums.cross[0], sums.spread[0], sums.units)
        waiting = Waiting(sums, self, receiver)
        for data in parts:
            rows, days = receiver.unpacked(data)
            if isinstance(rows, SentRows):
                waiting.add(rows)
            elif given.own:
                own.add(rows, self.where(receiver), self.table, given)
            else:
                sums.add(rows, self.where(receiver), self.table)
            yield SAMPLE, packed_sample(picked(rows, days, self.chosen, receiver))
        waiting.weigh()
        if len(receiver.rows):
            yield MOMENTS, packed_moments(sums.done())


class Waiting:
    """Batches of one form that wait until there are many: then their rows are weighed query by query."""

    def __init__(self, sums: MomentSums, weights: Weights, receiver: Receiver) -> None:
        self.sums, self.weights, self.receiver = sums, weights, receiver
        self._batches: list[SentRows] = []
        self._bytes = 0

    def add(self, rows: SentRows) -> None:
        if self.weights.by_query:
            self.sums.units.add(rows, self.weights.where(self.receiver), self.weights.table)
        last = self._batches[-1] if self._batches else rows
        if _form(last) != _form(rows) or self._bytes + rows.narrow.nbytes > WAITING_BYTES:
            self.weigh()
        self._batches.append(rows)
        self._bytes += rows.narrow.nbytes

    def weigh(self) -> None:
        """All that waits."""
        if not self._batches:
            return
        _, listed = self.receiver.by_query()
        where = self.weights.cells.looked_up(self.receiver.rows[listed], self.receiver.queries[listed])
        self.sums.add_runs(runs_by_query(self._batches), where, self.weights.table)
        self._batches, self._bytes = [], 0


def _form(rows: SentRows) -> tuple[Any, int, bool]:
    return rows.narrow.dtype, rows.narrow.shape[1], rows.impressions is None


@dataclass(frozen=True)
class Floors:
    """Floors under the propensities of cells."""

    pairs: Pairs
    cells: Cells
    floor: Vector  # (C,)

    def trimmed(self, parts: Iterator[Any]) -> Iterator[Sent]:
        """The impressions of each cell by their own propensities, with a floor under these."""
        receiver, sums = Receiver(self.pairs), np.zeros((len(self.cells), 3))
        for data in parts:
            rows, _ = receiver.unpacked(data)
            assert isinstance(rows, CodedRows)  # noqa: S101 - as rows with propensities of their own are
            where: LookedUp = self.cells.looked_up(receiver.rows, receiver.queries)
            trim(rows, where, self.floor, sums)
        yield TRIMMED, packed({"sums": sums})


@dataclass(frozen=True)
class Choice:
    """Impressions of a sample alone."""

    pairs: Pairs
    chosen: NDArray[np.bool_]

    def sampled(self, parts: Iterator[Any]) -> Iterator[Sent]:
        receiver = Receiver(self.pairs)
        for data in parts:
            rows, days = receiver.unpacked(data)
            yield SAMPLE, packed_sample(picked(rows, days, self.chosen, receiver))


def picked(rows: CodedRows | SentRows, days: Codes | None, chosen: NDArray[np.bool_], receiver: Receiver) -> Picked:
    """The rows whose first pair is chosen, under the final codes of pairs."""
    first = rows.heads()
    mine = np.append((receiver.rows >= 0) & chosen[receiver.rows], False)
    some = np.flatnonzero(mine[np.where(first >= 0, first >> 1, -1)])
    return final(rows, days, some, receiver)


def final(rows: CodedRows | SentRows, days: Codes | None, some: Codes, receiver: Receiver) -> Picked:
    """Some rows under the final codes of pairs, -1 from their end on."""
    coded = np.full((len(some), receiver.pairs.positions), -1, dtype=np.int32)
    queries = np.empty(len(some), dtype=np.int64)
    kernels.decode_rows(rows.taken(some), receiver.rows, receiver.queries, coded, queries)
    n = np.ones(len(some), dtype=np.int64) if rows.impressions is None else rows.impressions[some]
    return queries, coded, n, np.full(len(some), NO_DAY) if days is None else days[some]


def packed_sample(some: Picked) -> bytes:
    return packed(dict(zip(("queries", "coded", "impressions", "days"), some, strict=True)))


def unpacked_sample(data: Any) -> Picked:
    arrays = unpacked(data)
    coded: NDArray[Any] = arrays["coded"]
    return arrays["queries"], coded, arrays["impressions"], arrays["days"]


def packed_moments(found: Moments) -> bytes:
    """Of queries that have none, nothing."""
    met = np.flatnonzero(found.sums.any(axis=(1, 2)))
    arrays: dict[str, NDArray[Any]] = {"met": met, "sums": found.sums[met], "cross": found.cross}
    for e, spreads in enumerate(found.spreads):
        for name in _SPREADS:
            each: Histogram = getattr(spreads, name)
            arrays[f"{name}{e}"] = np.stack([each.buckets.astype(np.float64), each.counts, each.sums])
    for e, units in found.by_query.items():
        arrays[f"units{e}"] = np.stack([np.asarray(getattr(units, name), dtype=np.float64) for name in _UNITS])
    return packed(arrays)


def moments_together(parts: Sequence[Any], queries: int, estimators: int, by_query: Sequence[int]) -> Moments:
    """The sum of what `packed_moments` gave of each part."""
    sums, cross = np.zeros((queries, estimators, 4)), np.zeros((estimators, estimators))
    spreads: list[dict[str, list[Vector]]] = [{name: [] for name in _SPREADS} for _ in range(estimators)]
    units: dict[int, list[QueryUnits]] = {e: [] for e in by_query}
    for data in parts:
        arrays = unpacked(data)
        sums[arrays["met"]] += arrays["sums"]
        cross += arrays["cross"]
        for e in range(estimators):
            for name in _SPREADS:
                spreads[e][name].append(arrays[f"{name}{e}"])
        for e, mine in units.items():
            query, size, bucket, n, total = arrays[f"units{e}"]
            mine.append(QueryUnits(query.astype(np.int32), size, bucket.astype(np.int32), n, total))
    return Moments(
        sums,
        cross,
        [Spreads(*(_histogram(each[name]) for name in _SPREADS)) for each in spreads],
        by_query={e: QueryUnits.joined(mine) for e, mine in units.items()},
    )


def _histogram(parts: Sequence[Vector]) -> Histogram:
    buckets, counts, sums = np.concatenate(parts, axis=1)
    return Histogram.filled(buckets.astype(np.int64), counts, sums)
