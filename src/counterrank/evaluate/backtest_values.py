"""Every estimator's value of each day's lists, from the query's other days: the formulas of `estimate/`, by cell."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from counterrank.estimate.by_clicks import ratios
from counterrank.evaluate.backtest_days import Days, Vector, sums


@dataclass(frozen=True)
class Weighing:
    """One prediction problem: what a click at each position is worth, 0 below the cut."""

    name: str
    top: int
    weights: Vector  # (K,) θ, 0 from `top` on
    examination: Vector  # (K,) p


Value = tuple[int, str, float, Vector]  # problem, estimator, clip, value of each cell (NaN: undefined)


def day_values(
    days: Days, problems: Sequence[Weighing], names: Sequence[str], clips: Sequence[float]
) -> Iterator[Value]:
    """V̂ of every cell for each problem, estimator and clip; `rctr` comes once, with clip ∞.

    A cell without other days is NaN throughout.
    """
    if "rctr" in names:
        for i, problem in enumerate(problems):
            yield i, "rctr", np.inf, means(days, problem.weights)
    if "list" in names or "wlist" in names:
        yield from _lists(days, problems, names, clips)
    if "ip" in names or "wip" in names:
        yield from _item_positions(days, problems, names, clips)
    for i, problem in enumerate(problems):
        for name in (n for n in ("pbm", "item") if n in names):
            examination = problem.examination if name == "pbm" else np.ones(days.positions)
            yield from _items(days, i, problem, name, examination, clips)


def truth(days: Days, weights: Vector) -> Vector:
    """(C,) the mean reward of each day."""
    return days.by_position(days.clicked) @ weights / days.impressions


def means(days: Days, weights: Vector) -> Vector:
    """(C,) the mean reward of the other days."""
    return _over(days.without(days.by_position(days.clicked)) @ weights, days.others)


def _over(top: Vector, impressions: Vector) -> Vector:
    return np.asarray(np.divide(top, impressions, out=np.full(len(top), np.nan), where=impressions > 0))


def _lists(days: Days, problems: Sequence[Weighing], names: Sequence[str], clips: Sequence[float]) -> Iterator[Value]:
    size = len(days.query)
    counted = {top: days.lists(top) for top in {problem.top for problem in problems}}
    for i, problem in enumerate(problems):
        cell, raw, shown, clicked = counted[problem.top]
        reward = clicked @ problem.weights
        for clip in clips:
            weight = np.minimum(raw, clip)
            credit, mass = sums(cell, weight * reward, size), sums(cell, weight * shown, size)
            if "list" in names:
                yield i, "list", clip, _over(credit, days.others)
            if "wlist" in names:
                yield i, "wlist", clip, _over(credit, mass)


def _item_positions(
    days: Days, problems: Sequence[Weighing], names: Sequence[str], clips: Sequence[float]
) -> Iterator[Value]:
    shown, clicked = days.other_entries
    raw = ratios(days.shown / days.impressions[days.cell] * days.others[days.cell], shown)
    at_position = days.without(days.by_position(days.shown))
    share = np.divide(at_position, days.others[:, None], out=np.zeros_like(at_position), where=days.others[:, None] > 0)
    supported = days.by_position((shown > 0).astype(np.float64)) > 0
    unseen, none = ~supported & (at_position > 0), days.others == 0
    undefined = [unseen[:, problem.weights > 0].any(axis=1) | none for problem in problems]
    for clip in clips:
        weight = np.minimum(raw, clip)
        credit = days.by_position(weight * clicked)
        expected = share * ratios(credit, days.by_position(weight * shown)) if "wip" in names else share
        for i, problem in enumerate(problems):
            if "ip" in names:
                yield i, "ip", clip, _over(credit @ problem.weights, days.others)
            if "wip" in names:
                yield i, "wip", clip, np.where(undefined[i], np.nan, expected @ problem.weights)


def _items(
    days: Days, i: int, problem: Weighing, name: str, examination: Vector, clips: Sequence[float]
) -> Iterator[Value]:
    theta = np.where(examination > 0, problem.weights, 0.0)
    looks = theta * examination
    of, cell, pair = days.cell_item
    at = looks[days.position]
    size = len(cell)

    def elsewhere(values: Vector) -> Vector:
        """Σ over the other days, per (cell, item)."""
        return sums(days.pair, values)[pair] - sums(of, values, size)

    within = days.position < days.other_lengths[days.cell]
    target = sums(of, at * days.shown * within, size) / days.impressions[cell]
    seen = elsewhere(days.shown * (at > 0)) > 0.5  # whole numbers: exposure itself is rounded
    exposure = np.where(seen, elsewhere(at * days.shown), 0.0)
    clicks = elsewhere(theta[days.position] * days.clicked)
    raw = ratios(target * days.others[cell], exposure)
    for clip in clips:
        credit = sums(cell, np.minimum(raw, clip) * clicks, len(days.query))
        yield i, name, clip, _over(credit, days.others)
