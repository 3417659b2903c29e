"""Every estimator's value of each day's lists, from the query's other days: all days are judged at once.

Each query-day, a cell, is a query of its own here; its log are the query's other days. What an estimator weighs (an
item at a position, an item that is looked at, a whole list) becomes a unit that stands alone at one position, so that
the evidence is no larger than what the days show. What a day does not show is one more unit, the rest.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from counterrank.backtesting.days import Days, Vector, sums
from counterrank.errors import InputError
from counterrank.estimate import ESTIMATORS, Estimator, Weighs
from counterrank.ids import Codes, Ids
from counterrank.policy import BoundPolicy
from counterrank.records import dataclass
from counterrank.setting.evidence import Evidence
from counterrank.setting.need import Need
from counterrank.statistics.cells import Cells
from counterrank.statistics.counts import Counts
from counterrank.statistics.pairs import Pairs, Table
from counterrank.statistics.rankings import Rankings


@dataclass(frozen=True)
class Weighing:
    """One prediction problem: what a click at each position is worth, 0 below the cut."""

    name: str
    top: int
    weights: Vector  # (K,) θ, 0 from `top` on
    examination: Vector  # (K,) p


Value = tuple[int, str, float, Vector]  # problem, estimator, clip, value of each cell (NaN: undefined)


def can_test(estimator: Estimator) -> bool:
    """Whether what it weighs can be told by query-day; a matrix or a regression for each of them would take long."""
    if estimator.needs & {Need.PAGES, Need.PATTERNS, Need.FEATURES}:
        return False
    return estimator.weighs is not Weighs.NOTHING or not estimator.needs


def day_values(
    days: Days, problems: Sequence[Weighing], names: Sequence[str], clips: Sequence[float]
) -> Iterator[Value]:
    """V̂ of every cell for each problem, estimator and clip; what is not clipped comes once, with clip ∞.

    A cell without other days is NaN throughout; if none has any, nothing comes.
    """
    judge = {
        Weighs.NOTHING: _by_mean,
        Weighs.POSITIONS: _by_position,
        Weighs.ITEMS: _by_item,
        Weighs.RANKINGS: _by_list,
    }
    known = days.others > 0
    if not known.any():
        return
    several = days if known.all() else days.only(np.bincount(days.query, known, len(days.names)) > 0)
    for weighs, by in judge.items():
        chosen = [ESTIMATORS[name] for name in names if ESTIMATORS[name].weighs is weighs]
        for i, estimator, clip, value in by(several, problems, chosen, clips) if chosen else ():
            out = np.full(len(known), np.nan)
            out[known] = value
            yield i, estimator.name, clip, out


Judged = Iterator[tuple[int, Estimator, float, Vector]]
Estimators = Sequence[Estimator]


def truth(days: Days, weights: Vector) -> Vector:
    """(C,) the mean reward of each day."""
    return days.by_position(days.clicked) @ weights / days.impressions


def means(days: Days, weights: Vector) -> Vector:
    """(C,) the mean reward of the other days."""
    top, n = days.without(days.by_position(days.clicked)) @ weights, days.others
    return np.asarray(np.divide(top, n, out=np.full(len(top), np.nan), where=n > 0))


def _by_mean(days: Days, problems: Sequence[Weighing], estimators: Estimators, clips: Sequence[float]) -> Judged:
    nothing, clicked = np.zeros(0), days.without(days.by_position(days.clicked))
    for i, problem in enumerate(problems):
        reward = clicked @ problem.weights
        evidence = _evidence(
            days.others, nothing.astype(np.int64), nothing, nothing, nothing, days.others, all_clicked=reward
        )
        for estimator in estimators:
            yield i, estimator, np.inf, estimator.by_query(evidence)


def _by_position(days: Days, problems: Sequence[Weighing], estimators: Estimators, clips: Sequence[float]) -> Judged:
    """Positions are judged apart, as queries of their own: their values add up."""
    shown, clicked = days.other_entries
    place = days.cell * days.positions + days.position
    at = np.flatnonzero(shown > 0)
    at = at[np.argsort(place[at], kind="stable")]
    target = days.shown[at] / days.impressions[days.cell[at]]
    all_shown, all_clicked = (days.without(days.by_position(x)).ravel() for x in (days.shown, days.clicked))
    often = np.repeat(days.others, days.positions)
    evidence = _evidence(often, place[at], target, shown[at], clicked[at], all_shown, all_clicked=all_clicked)
    for estimator in estimators:
        for clip, value in _values(estimator, evidence, clips):
            table = value.reshape(-1, days.positions)
            for i, problem in enumerate(problems):
                counted = problem.weights > 0
                yield i, estimator, clip, table[:, counted] @ problem.weights[counted]


def _by_item(days: Days, problems: Sequence[Weighing], estimators: Estimators, clips: Sequence[float]) -> Judged:
    """A unit is an item, shown as often as it is looked at."""
    of, cell, pair = days.entry_item, days.item_cell, days.item_pair
    size = len(cell)
    within = days.position < days.other_lengths[days.cell]

    def elsewhere(values: Vector) -> Vector:
        """Σ over the other days, per (cell, item)."""
        return sums(days.pair, values)[pair] - sums(of, values, size)

    for i, problem in enumerate(problems):
        for estimator in estimators:
            curve = estimator.curve(_asked(days, problem))
            theta = np.where(curve > 0, problem.weights, 0.0)
            at = (theta * curve)[days.position]
            target = sums(of, at * days.shown * within, size) / days.impressions[cell]
            seen = elsewhere(days.shown * (at > 0)) > 0.5  # whole numbers: exposure itself is rounded
            exposure = elsewhere(at * days.shown)
            clicks = elsewhere(theta[days.position] * days.clicked)
            evidence = _evidence(days.others, cell[seen], target[seen], exposure[seen], clicks[seen])
            for clip, value in _values(estimator, evidence, clips):
                yield i, estimator, clip, value


def _by_list(days: Days, problems: Sequence[Weighing], estimators: Estimators, clips: Sequence[float]) -> Judged:
    for top in sorted({problem.top for problem in problems}):
        cell, target, shown, clicked = days.lists(top)
        for i, problem in enumerate(problems):
            if problem.top == top:
                evidence = _evidence(days.others, cell, target, shown, clicked @ problem.weights[:top])
                for estimator in estimators:
                    for clip, value in _values(estimator, evidence, clips):
                        yield i, estimator, clip, value


def _values(estimator: Estimator, evidence: Evidence, clips: Sequence[float]) -> Iterator[tuple[float, Vector]]:
    """Its values with each clip; one above all weights changes nothing."""
    largest, unclipped = estimator.largest_weight(evidence), estimator.by_query(evidence)
    for clip in clips if estimator.clips else [np.inf]:
        yield clip, unclipped if clip >= largest else estimator.by_query(replace(evidence, clip=clip))


def _asked(days: Days, problem: Weighing) -> Evidence:
    """What the problem asks, with no log behind it."""
    nothing = np.zeros(0)
    evidence = _evidence(days.others, nothing.astype(np.int64), nothing, nothing, nothing)
    return replace(evidence, weights=problem.weights, examination=problem.examination, positions=days.positions)


def _evidence(
    others: Vector, cell: Codes, target: Vector, shown: Vector, clicked: Vector, all_shown: Vector | None = None,
    *, all_clicked: Vector | None = None,
) -> Evidence:  # fmt: skip
    """The other days of every cell, `others` impressions, as the log, and the cell as the target.

    (U,), by cell: `cell` of each unit, the chance that the cell shows it, and its impressions and clicks elsewhere; a
    unit's reward are its clicks. (C,): impressions and clicks elsewhere of all units, also those the cell never shows,
    where the rest counts: each cell has one more unit then.
    """
    size, rest = len(others), int(all_shown is not None)
    starts = np.searchsorted(cell, np.arange(size + 1)) + rest * np.arange(size + 1)
    unit, last = np.arange(len(cell)) + rest * cell, starts[1:] - 1

    def column(values: Vector, whole: Vector | None) -> Any:
        out = np.zeros(len(cell) + rest * size)
        out[unit] = values
        if whole is not None:
            out[last] = whole - sums(cell, values, size)
        return out

    shown_, clicked_ = column(shown, all_shown), column(clicked, all_clicked)
    pairs = Pairs(
        Ids(pa.array([], pa.string())),
        Ids(pa.array([], pa.string())),
        starts,
        np.arange(len(shown_)),
        np.ones(size, dtype=np.int64),
        1,
    )
    policy = Units(pairs, column(target, None))
    reward = all_clicked if all_clicked is not None else sums(cell, clicked, size)
    counts = Counts(
        pairs=pairs,
        impressions=others.astype(np.int64),
        reward=reward,
        reward2=reward,
        cells=Cells(np.arange(len(shown_) + 1), np.zeros(len(shown_), dtype=np.int64), 1),
        shown=shown_,
        clicked=clicked_,
        rankings=Rankings(queries=cell, rows=unit[:, None], impressions=shown, reward=clicked, reward2=clicked),
        log_impressions=int(others.sum()),
        longest=1,
    )
    logging = Units(pairs, shown_ / others[pairs.queries])
    return Evidence(
        counts=counts, target=policy, logging=logging, shown_by_target=policy.chances, shown_by_logging=logging.chances,
        weights=np.ones(1), examination=np.ones(1), positions=1,
    )  # fmt: skip


@dataclass(frozen=True)
class Units(BoundPolicy):
    """Shows one unit at a time."""

    pairs: Pairs
    chances: Vector  # (U,)

    def marginals(self) -> Table:
        return self.chances[:, None]

    def exposure(self, looks: Vector) -> Vector:
        return np.asarray(self.chances * looks[0])

    def probability(self, queries: Codes, rankings: Codes) -> NDArray[np.float64]:
        return np.asarray(self.chances[rankings[:, 0]])

    def sample(self, queries: Codes, rng: np.random.Generator) -> Codes:
        raise InputError("a day's lists are known: nothing needs to be drawn")
