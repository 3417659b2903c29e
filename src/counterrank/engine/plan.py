"""What a pass over the log must count, and what every engine answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from functools import partial
from typing import Literal, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from counterrank.engine import kernels
from counterrank.log import Log, Reading
from counterrank.records import dataclass
from counterrank.statistics.cells import Cells
from counterrank.statistics.cluster_terms import ClusterSizes, ClusterTerms
from counterrank.statistics.counts import Counts, Part
from counterrank.statistics.histogram import Spreads
from counterrank.statistics.item_chances import Trimmed
from counterrank.statistics.pairs import Pairs
from counterrank.statistics.query_terms import QueryUnits
from counterrank.statistics.sample import Sample
from counterrank.threads import in_two

Metric = Literal["clicks", "reward"]


@dataclass(frozen=True)
class WantedRankings:
    """Rankings that a target can show: only these (and their beginnings) need counting."""

    queries: pa.Array  # text, one per ranking
    items: pa.Array  # list of text


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The first pass: which queries, which reward, how deep, and whether rankings are counted."""

    metric: Metric
    weights: Callable[[int], NDArray[np.float64]]  # position weights for K positions
    queries: pa.Array | None = None  # count these only; None: all
    top: int | None = None
    rankings: Literal["none", "all"] | WantedRankings = "none"
    pages: Literal["none", "fit", "all"] = "none"  # every ranking with its reward: not, if memory holds them, always
    by_propensity: bool = False
    by_item: bool = False  # impressions are weighed by the propensities of their own items
    looks: bool = False  # also count how pairs stand to the first and last click of their pages
    patterns: bool = False  # also every distinct (query, ranking, clicks); they must fit in memory
    by_day: bool = False  # patterns of each day stand apart
    by_cluster: bool = False  # patterns of each cluster stand apart, with a hash of it
    all_items: bool = False  # also register items that stand below position K
    whole_log: bool = False  # also count pairs of the queries that were not asked for
    days: bool = False  # also add up each day, where the log has days
    clusters: bool = False  # impressions of one cluster depend on each other
    overview: bool = False  # also tell the number of days and the mean reward, whatever the metric, in the reading


@dataclass(frozen=True, kw_only=True)
class OwnWeights:
    """Weights that go by an impression's own propensities p: weight/max(p, floor) and offset/max(p, floor) are added to
    those of the estimator `of`."""

    of: int
    weight: NDArray[np.float64]  # (C,)
    offset: NDArray[np.float64]  # (C,)
    floor: NDArray[np.float64]  # (C,)


@dataclass(frozen=True, kw_only=True)
class Coefficients:
    """The second pass: r = Σₖ scale[e,k]·weight[e,c]·click − offset[e,c] for each estimator e, c being the cell.

    An impression's influence is r + constant[e,q], its term the clicks' part of r. Weights and offsets are made part by
    part: of a log with many cells those of all estimators together would be the largest tables by far.
    """

    counts: Counts  # whose cells are weighed
    weighed: Sequence[Callable[[Part], tuple[NDArray[np.float64], NDArray[np.float64]]]]  # E: weight and offset
    scale: NDArray[np.float64]  # (E, K)
    constant: NDArray[np.float64]  # (E, Q)
    cross: bool = True  # Σ r·r' of every two is needed; an engine may give it anyway
    by_query: Sequence[int] = ()  # the estimators whose terms by query are needed
    own: Sequence[OwnWeights] = ()

    @property
    def pairs(self) -> Pairs:
        return self.counts.pairs

    @property
    def cells(self) -> Cells:
        return self.counts.cells

    def whole(self) -> tuple[list[NDArray[np.float64]], list[NDArray[np.float64]]]:
        """The weights of all estimators, and their offsets, each (C,)."""
        every = self.counts.part(0, len(self.counts.impressions))
        both = [each(every) for each in self.weighed]
        return [weight for weight, _ in both], [offset for _, offset in both]

    def table(self, part: Part) -> NDArray[np.float64]:
        """The weights of all estimators, then their offsets, by cell."""
        both = [each(part) for each in self.weighed]
        columns = [np.ascontiguousarray(each) for each in (*(w for w, _ in both), *(offset for _, offset in both))]
        table = np.empty((part.cells.stop - part.cells.start, len(columns)))
        for at in range(0, len(columns), kernels.ABREAST):
            some = columns[at : at + kernels.ABREAST]
            filled = (*some, *[some[-1]] * (kernels.ABREAST - len(some)))
            in_two(partial(kernels.put_abreast, table, at, len(some), filled), len(table), worth=1 << 16)
        return table


@dataclass(frozen=True)
class Moments:
    """What the second pass adds up."""

    sums: NDArray[np.float64]  # (Q, E, 4): Σr, Σr², Σw̄ and Σw̄² per query, w̄ being an impression's mean weight
    cross: NDArray[np.float64]  # (E, E): Σ r·r' of two estimators; where it was not asked for, only Σ r²
    spreads: list[Spreads]  # E
    clusters: list[ClusterTerms] | None = None  # E, where the log's clusters were asked for
    by_query: Mapping[int, QueryUnits] = field(default_factory=dict)  # of the estimators that were asked for


class Pass(Protocol):
    """A log that was counted once and can be weighed in a second pass."""

    @property
    def counts(self) -> Counts: ...

    @property
    def reading(self) -> Reading: ...

    @property
    def clusters(self) -> ClusterSizes | None:
        """How large the clusters of the counted impressions are, where the plan asks for them."""

    def adopt(self, counts: Counts) -> None:
        """Speak of these counts from now on, which may have more pairs: the others need not be kept."""

    def moments(self, coefficients: Coefficients) -> Moments: ...

    def trimmed(self, pairs: Pairs, cells: Cells, floor: NDArray[np.float64]) -> Trimmed:
        """The impressions of each cell, (C,), by their own propensities, with a floor under these."""

    def sample(self, pairs: Pairs) -> Sample:
        """Impressions of some queries, chosen by `first_pairs`, as rows of these pairs."""


class Engine(Protocol):
    """Where rows are counted."""

    name: str

    def count(self, log: Log, plan: Plan) -> Pass: ...
