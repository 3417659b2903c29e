"""A sample of the log beside rankings of the policies that are judged: what a broken assumption does to the answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field
from functools import cached_property
from typing import TypeVar

import numpy as np

from counterrank.findings.beside import Appeal, any_above
from counterrank.findings.case import grade
from counterrank.findings.diagnosis import Level
from counterrank.findings.strata import Matrix, Scores, Strata
from counterrank.ids import Codes
from counterrank.records import dataclass
from counterrank.result.row import Row
from counterrank.setting.evidence import Evidence
from counterrank.statistics.memo import Memo, remembered
from counterrank.statistics.sample import Sample

DRAWS = 1 << 13  # rankings of a policy, over all queries of the sample
SOME, MUCH = 0.25, 1.0  # of half the interval: how large a bias matters, and how large a one makes it worthless

T = TypeVar("T")
Around = tuple[int, Codes, Sequence[Matrix] | Matrix]  # of a policy's rankings: its sign, their strata, and directions


@dataclass(frozen=True)
class Tested:
    """The sample in strata; `sides` are the policies of the answer, each with its sign: of a difference 1 and -1.

    What goes by the sample alone is found of `own`, the same strata under the log's own pairs: pair p is now rows[p].
    """

    strata: Strata
    sides: Sequence[tuple[int, Evidence]]
    own: Strata
    pair_rows: Codes
    memo: Memo = field(default_factory=Memo, repr=False)

    @classmethod
    def of(cls, sample: Sample | None, sides: Sequence[tuple[int, Evidence]]) -> Tested | None:
        """None where no single click can be looked at, or every weight is 1."""
        evidence = sides[0][1]
        if sample is None or not len(sample) or not evidence.of_clicks or all(side.same for _, side in sides):
            return None
        pairs = len(evidence.counts.pairs)
        first, rows = sample.first or (sample, np.arange(pairs))
        own = remembered(evidence.counts.memo, "strata", (first,), lambda: Strata.of(first))
        return cls(own.moved(rows) if sample.first else own, sides, own, rows)

    @property
    def evidence(self) -> Evidence:
        return self.sides[0][1]

    @property
    def theta(self) -> Matrix:
        return self.evidence.weights

    def remembered(self, name: str, make: Callable[[Strata], T], *others: object) -> T:
        """What goes by the sample, and by these others, whichever policies are judged."""
        return remembered(self.evidence.counts.memo, name, (self.own, *others), lambda: make(self.own))

    @cached_property
    def appeal(self) -> Appeal:
        return self.remembered("appeal", self.own_appeal).moved(self.pair_rows, len(self.evidence.counts.pairs))

    def own_appeal(self, own: Strata) -> Appeal:
        """Of the log's own pairs."""
        return Appeal.of(own, len(self.pair_rows))

    @cached_property
    def rate(self) -> Matrix:
        """(strata,) clicks per impression."""
        shown, clicked = self.strata.rates()
        return clicked / np.maximum(shown, 1.0)

    @cached_property
    def drawn(self) -> list[tuple[int, Codes]]:
        """Rankings of each policy that is not the logging policy itself, (M, K), drawn from a fixed seed."""
        ends = np.cumsum(self.strata.number.astype(np.int64))
        total = int(ends[-1])
        picked = np.linspace(0, total - 1, min(DRAWS, total)).astype(np.int64)
        queries = self.strata.queries[np.searchsorted(ends, picked, side="right")]
        rng = np.random.default_rng(0)
        return [(sign, side.target.sample(queries, rng)) for sign, side in self.sides if not side.same]

    @cached_property
    def around(self) -> list[Around]:
        """Each policy's rankings: their strata, and what stands around each item."""
        return [(sign, self.strata.find(rows), self.appeal.around(rows)) for sign, rows in self.drawn]

    @cached_property
    def clicked_above(self) -> list[Around]:
        """The same with the chance of a click further up."""
        return [(sign, cell, [any_above(self.chances(cell))]) for sign, cell, _ in self.around]

    def chances(self, cell: Codes) -> Matrix:
        return np.append(self.rate, 0.0)[cell]

    def bias(self, found: Scores, means: Matrix, policies: list[Around]) -> tuple[float, float]:
        """What the answer misses, with its error, if click rates change by the slopes that were found.

        An item is clicked as often as its stratum says on average; a policy that shows it beside other things than the
        log does gets slope·(f − the stratum's mean) more.
        """
        gradient = np.zeros(len(found.total))
        for sign, cell, directions in policies:
            known = cell < len(self.rate)
            worth = self.chances(cell) * self.theta[: cell.shape[1]]
            for d, f in enumerate(directions):
                gap = np.where(known, f - np.append(means[d], 0.0)[cell], 0.0)
                gradient[d] += sign * float((worth * gap).sum()) / len(cell)
        return found.moved(gradient)


def half_of(row: Row) -> float | None:
    return (row.upper - row.lower) / 2 if row.upper is not None and row.lower is not None else None


def graded(bias: float, error: float, row: Row) -> Level:
    """A bias beside the interval: some of it is a caution, even if it is only likely; as much as it is too much."""
    half = half_of(row)
    if half is None:
        return "caution"
    if half <= 0:
        return "do not trust" if bias else "trust"
    return "do not trust" if abs(bias) >= MUCH * half else grade((abs(bias) + error) / half, SOME, np.inf)
