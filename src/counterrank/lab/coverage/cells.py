"""A log given by its cells: counted and weighed at once, as an engine would from the rows."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from counterrank.engine.plan import Coefficients, Moments
from counterrank.errors import InputError
from counterrank.ids import Ids
from counterrank.lab.coverage.worlds import CoverageWorld
from counterrank.log import Reading
from counterrank.records import dataclass
from counterrank.statistics.cells import Cells
from counterrank.statistics.counts import Counts
from counterrank.statistics.histogram import Histogram, Spreads
from counterrank.statistics.item_chances import Trimmed
from counterrank.statistics.pairs import Pairs
from counterrank.statistics.rankings import Rankings
from counterrank.statistics.sample import NO_DAY, Sample


@dataclass(frozen=True)
class WorldCells:
    """A counted log (an engine's `Pass`): how often each (query, ranking, outcome) came; queries without are cut."""

    world: CoverageWorld
    numbers: NDArray[np.int64]  # (Q, R, O)
    counts: Counts

    @classmethod
    def of(cls, world: CoverageWorld, numbers: NDArray[np.int64]) -> WorldCells:
        came = np.flatnonzero(numbers.any(axis=(1, 2)))
        kept = numbers[came]
        return cls(world, kept, _counts(world, came, kept))

    @classmethod
    def drawn(cls, world: CoverageWorld, impressions: int, rng: np.random.Generator) -> WorldCells:
        chances = world.chances
        return cls.of(world, rng.multinomial(impressions, chances.ravel()).reshape(chances.shape))

    @property
    def reading(self) -> Reading:
        return Reading(rows=int(self.numbers.sum()), rejected=0)

    @property
    def clusters(self) -> None:
        """Impressions are independent."""

    def trimmed(self, pairs: Pairs, cells: Cells, floor: NDArray[np.float64]) -> Trimmed:
        raise InputError("impressions of a made-up world carry no propensities of their items")

    def sample(self, pairs: Pairs) -> Sample:
        """All of it: what is counted here is small."""
        rows = (self.counts.pairs.starts[:-1, None, None] + self.world.rankings)[:, :, None]  # (Q, R, 1, K)
        coded = (2 * pairs.rows_of(self.counts.pairs)[rows] + self.world.clicks).astype(np.int32)
        query, ranking, outcome = np.nonzero(self.numbers)
        none = np.full(len(query), NO_DAY)
        part = query, coded[query, ranking, outcome], self.numbers[query, ranking, outcome], none
        return Sample.gathered([part], pairs.positions, self.counts.total)

    def adopt(self, counts: Counts) -> None:
        """All of it is small."""

    def moments(self, coefficients: Coefficients) -> Moments:
        world, pairs = self.world, self.counts.pairs
        rows = pairs.starts[:-1, None, None] + world.rankings  # (Q, R, K)
        at = np.arange(rows.shape[2])
        number = self.numbers.astype(np.float64)
        sums: list[NDArray[np.float64]] = []
        spreads: list[Spreads] = []
        moved: list[NDArray[np.float64]] = []
        for weight, offset, scale, constant in zip(
            *coefficients.whole(), coefficients.scale, coefficients.constant, strict=True
        ):
            w = coefficients.cells.dense(weight)[rows, at]  # (Q, R, K)
            term = (w * scale) @ world.clicks.T  # (Q, R, O)
            r = term - coefficients.cells.dense(offset)[rows, at].sum(axis=2)[:, :, None]
            mean = np.broadcast_to(w.mean(axis=2)[:, :, None], r.shape)
            moved.append(r.ravel())
            sums.append(np.stack([(number * x).sum(axis=(1, 2)) for x in (r, r**2, mean, mean**2)], axis=1))
            influence = r + constant[:, None, None]
            spreads.append(Spreads(*(Histogram.of(x.ravel(), number.ravel()) for x in (influence, term, mean))))
        influences = np.stack(moved)
        return Moments(np.stack(sums, axis=1), (influences * number.ravel()) @ influences.T, spreads)


def _counts(world: CoverageWorld, came: NDArray[np.int64], numbers: NDArray[np.int64]) -> Counts:
    size, items = len(came), int(world.rankings.max()) + 1
    places = world.rankings.shape[1]
    pairs = Pairs(
        Ids(pa.array([f"q{q}" for q in came.tolist()])), Ids(pa.array([f"i{i}" for i in range(items)])),
        np.arange(size + 1) * items, np.tile(np.arange(items), size), np.full(size, places), places,
    )  # fmt: skip
    at = np.zeros((len(world.rankings), items, places), dtype=np.int64)
    for place in range(places):
        at[np.arange(len(at)), world.rankings[:, place], place] = 1
    of_ranking = numbers.sum(axis=2)  # (Q, R)
    clicked = np.einsum("qrk,rik->qik", numbers @ world.clicks, at)
    reward, reward2 = numbers @ world.reward, numbers @ world.reward**2  # (Q, R)
    query, ranking = np.nonzero(of_ranking)
    groups = Rankings(
        queries=query,
        rows=pairs.starts[query][:, None] + world.rankings[ranking],
        impressions=of_ranking[query, ranking].astype(np.float64),
        reward=reward[query, ranking],
        reward2=reward2[query, ranking],
    )
    total = int(numbers.sum())
    seen = world.reward[numbers.any(axis=(0, 1))]
    shown = np.einsum("qr,rik->qik", of_ranking, at)
    cells, tally = Cells.of_tables(shown.reshape(-1, places), clicked.reshape(-1, places))
    return Counts(
        pairs=pairs,
        impressions=of_ranking.sum(axis=1),
        reward=reward.sum(axis=1),
        reward2=reward2.sum(axis=1),
        cells=cells,
        shown=tally[0],
        clicked=tally[1],
        rankings=groups,
        log_impressions=total,
        longest=places,
        pages=groups,
        extremes=(float(seen.min()), float(seen.max())) if world.metric == "reward" else None,
    )
