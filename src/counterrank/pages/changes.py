"""The queries that gain and lose most, and what becomes of their rankings."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from counterrank.engine import Engine, open_engine
from counterrank.errors import InputError
from counterrank.ids import Codes, as_text
from counterrank.policy import BoundPolicy, LoggedShares
from counterrank.records import dataclass
from counterrank.setting.plan import plan_for
from counterrank.setting.question import Question
from counterrank.statistics.counts import Counts, sum_chunks

TEN = 10


@dataclass(frozen=True)
class Shown:
    """A ranking of one query, and how often a policy shows exactly it; None where that is not known."""

    items: list[str]
    chance: float | None


@dataclass(frozen=True)
class Change:
    """A query's ranking before and after."""

    old: Shown
    new: Shown


@dataclass(frozen=True)
class Gains:
    """What each query gains (below 0: loses), and what that adds to the whole."""

    queries: list[str]
    impressions: NDArray[np.int64]
    gain: NDArray[np.float64]  # NaN where the log cannot tell

    @property
    def effect(self) -> NDArray[np.float64]:
        """What each query adds to the difference of the whole log: gain × its share of the impressions."""
        return np.nan_to_num(self.gain) * self.impressions / max(int(self.impressions.sum()), 1)

    def largest(self, sign: int, count: int = TEN) -> Codes:
        """The queries that add most to (or take most from) the whole."""
        effect = sign * self.effect
        order = np.argsort(-effect, kind="stable")[:count]
        return order[effect[order] > 0]

    def shown(self, each: int) -> Codes:
        """Which queries a table shows: most gained, most lost and most frequent."""
        frequent = np.argsort(-self.impressions, kind="stable")[: 2 * each]
        chosen = np.unique(np.concatenate([self.largest(1, each), self.largest(-1, each), frequent]))
        return chosen[np.argsort(-np.abs(self.effect[chosen]), kind="stable")]

    def tally(self) -> tuple[int, int, int]:
        """How many queries gain, lose, and neither (or nobody can tell)."""
        with np.errstate(invalid="ignore"):
            up, down = int((self.gain > 0).sum()), int((self.gain < 0).sum())
        return up, down, len(self.gain) - up - down


def gains_of(queries: pa.ChunkedArray, impressions: pa.ChunkedArray, gain: NDArray[np.float64]) -> Gains:
    return Gains(as_text(queries).to_pylist(), impressions.to_numpy().astype(np.int64), gain)


def changes(question: Question | None, engine: str | Engine, gains: Gains) -> dict[str, Change]:
    """The rankings of the queries that gain or lose most: by the baseline, or most often in the log, and by the target.

    One more pass over the log, which counts these queries only; without the log there are none.
    """
    queries = [gains.queries[q] for sign in (1, -1) for q in gains.largest(sign)]
    if not queries or question is None:
        return {}
    plan = replace(
        plan_for(frozenset(), question), queries=pa.array(queries, pa.string()), rankings="all", by_propensity=False,
        whole_log=False,
    )  # fmt: skip
    counts = question.extended(open_engine(engine).count(question.log, plan).counts)
    assert counts.rankings is not None  # noqa: S101 - the plan asked for them
    groups = sum_chunks(counts.rankings)
    logged = LoggedShares(
        counts.pairs,
        counts.shown,
        counts.impressions,
        groups.queries,
        groups.rows,
        groups.impressions,
        cells=counts.cells,
    )
    target = logged if question.same else question.target.bind(counts.pairs)
    old: BoundPolicy = logged
    if question.baseline is not None and not question.baseline_same:
        old = question.baseline.bind(counts.pairs)
    codes = np.arange(len(counts.impressions))
    names = counts.pairs.query_ids.texts.to_pylist()
    before, after = _best(old, codes, counts), _best(target, codes, counts)
    return {name: Change(before[q], after[q]) for q, name in enumerate(names)}


def _best(policy: BoundPolicy, codes: Codes, counts: Counts) -> list[Shown]:
    try:
        rows = policy.best(codes)
    except InputError:  # it has no one ranking: the likeliest item at each position says what it does
        return [Shown([], None) for _ in codes]
    try:
        chances = policy.probability(codes, rows).tolist()
    except InputError:
        chances = [None] * len(codes)
    texts = counts.pairs.item_ids.texts
    items = [texts.take(pa.array(counts.pairs.items[row[row >= 0]])).to_pylist() for row in rows]
    return [Shown(shown, chance) for shown, chance in zip(items, chances, strict=True)]
