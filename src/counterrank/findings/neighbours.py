"""Does the click rate of an item at a position depend on what stands beside it, or on what was clicked above?"""

from __future__ import annotations

from collections.abc import Mapping
from statistics import NormalDist
from typing import Any

import numpy as np

from counterrank.estimate import Estimator, Weighs
from counterrank.findings.beside import NAMES, Appeal
from counterrank.findings.case import merged
from counterrank.findings.diagnosis import Finding, Level
from counterrank.findings.strata import Matrix, Scores, Strata
from counterrank.findings.tested import SOME, Tested, graded, half_of
from counterrank.records import dataclass
from counterrank.result.row import Row
from counterrank.statistics.chi_square import upper_tail
from counterrank.statistics.hashing import distinct
from counterrank.statistics.pairs import sum_by
from counterrank.words import number, percent

CHANCE = 0.01  # of the tests of neighbours, together
SURE = 0.001  # that a click makes others rarer
ADDITIVE = frozenset({Weighs.POSITIONS, Weighs.ITEMS, Weighs.PAGES})  # what assumes that other items do not matter


@dataclass(frozen=True)
class Groups:
    """Impressions of a pair by the item next to it: Σ (clicks − expected)², and the chance of so much."""

    statistic: float
    expected: float
    freedom: float
    clicks: float

    @property
    def chance(self) -> float:
        return upper_tail(self.statistic * self.freedom / self.expected, self.freedom) if self.expected > 0 else 1.0

    @property
    def size(self) -> float:
        """By how much click rates differ, relatively, as a root mean square."""
        return (max(self.statistic - self.expected, 0.0) / self.clicks) ** 0.5 if self.clicks > 0 else 0.0


def scores(strata: Strata, pairs: int) -> Scores:
    """Of the directions of `Appeal.around`. Half of the impressions tells how attractive items are, the other half is
    tested, and the other way round, so that clicks of one page may hang on each other."""
    one, other = strata.halves()
    found = [
        strata.score(Appeal.of(strata, pairs, learned).around(strata.rows), tested)
        for learned, tested in ((one, other), (other, one))
    ]
    return found[0] + found[1]


def by_neighbour(strata: Strata, step: int) -> Groups:
    """Pairs by the pair that stands `step` further down, over all positions.

    In a stratum of n impressions with C clicks, a neighbour's share of the clicks is hypergeometric. Their squared
    deviations, summed over neighbours and divided by their mean, are a chi-square whose degrees of freedom give the
    right variance (Satterthwaite): strata may be as thin as they like.
    """
    shown, clicked = strata.rates()
    beside = np.full_like(strata.rows, -1)
    if step < 0:
        beside[:, -step:] = strata.rows[:, :step]
    else:
        beside[:, :-step] = strata.rows[:, step:]
    some = (beside >= 0) & (strata.rows >= 0)
    size = int(strata.rows.max(initial=0)) + 1
    cell, neighbour = strata.cell[some], beside[some]
    first, at = distinct((cell * size + neighbour).view(np.uint64))
    n = np.bincount(at, np.broadcast_to(strata.number[:, None], some.shape)[some], len(first))
    hits = np.bincount(at, (strata.number[:, None] * strata.clicks)[some], len(first))
    cell, neighbour = cell[first], neighbour[first]
    whole, clicks = shown[cell], clicked[cell]
    rest = np.maximum(whole - 1, 1)
    variance = n * (whole - n) * clicks * (whole - clicks) / (whole**2 * rest)
    pair = strata.pair[cell]
    both, of = distinct((pair * size + neighbour).view(np.uint64))
    gap, spread, seen = (sum_by(of, each, len(both)) for each in (hits - n * clicks / whole, variance, n))
    expected = sum_by(of, n * clicks / whole, len(both))
    return _groups(pair[both], gap, spread, seen, expected)


def _groups(pair: Any, gap: Matrix, spread: Matrix, seen: Matrix, expected: Matrix) -> Groups:
    """A pair's m deviations sum to 0, which makes the variance of their squares m/(m − 1) times as large."""
    if not len(pair):
        return Groups(0.0, 0.0, 0.0, 0.0)
    pair = distinct(np.ascontiguousarray(pair, dtype=np.int64).view(np.uint64))[1]  # of many pairs, those that are here
    squares = np.bincount(pair, seen**2)
    alike = np.divide(np.bincount(pair, seen) ** 2, squares, out=np.ones_like(squares), where=squares > 0)
    factor = np.divide(alike, alike - 1, out=np.full_like(alike, 1e3), where=alike > 1.001)[pair]
    mean = float(spread.sum())
    second = 2 * float((spread**2 * factor).sum())
    freedom = 2 * mean**2 / second if second > 0 else 0.0
    return Groups(float((gap**2).sum()), mean, freedom, float(expected.sum() and (expected**2).sum()))


def neighbours(tested: Tested, estimators: Mapping[str, Estimator], rows: Mapping[str, Row]) -> list[Finding]:
    """Whether other items matter for a click, and how much that moves each answer."""
    names = [name for name, each in estimators.items() if each.weighs in ADDITIVE and rows[name].value is not None]
    if not names:
        return []
    strata = tested.strata
    found = scores(strata, len(tested.evidence.counts.pairs))
    groups = {"next above": by_neighbour(strata, -1), "next below": by_neighbour(strata, 1)}
    chance = min(1.0, 3 * min(found.chance, *(each.chance for each in groups.values())))
    numbers: dict[str, Any] = {
        "chance": chance, "statistic": found.statistic, "freedom": found.freedom,
        "slopes": dict(zip(NAMES, found.slopes.tolist(), strict=True)),
        "misfit": {of: each.size for of, each in groups.items()}, "sampled": strata.share,
    }  # fmt: skip
    if chance >= CHANCE:
        words = "clicks on an item do not depend on what stands beside it, but for chance"
        return [Finding("neighbours", "trust", words, names, numbers)]
    bias, error = tested.bias(found, strata.means(tested.appeal.around(strata.rows)), tested.around)
    numbers |= {"bias": bias, "stderr": error}
    size = max(each.size for each in groups.values() if each.chance < CHANCE / 3) if found.chance >= CHANCE / 3 else 0.0
    out = []
    for name in names:
        level = _level(bias, error, size, rows[name])
        words = "what stands beside an item changes how often it is clicked"
        words += f", which moves the answer by about {number(bias, 2)}" if not size else f", by {percent(size)}"
        out.append(Finding("neighbours", level, words + (", which is little" if level == "trust" else ""), [name],
                           numbers))  # fmt: skip
    return merged(out)


def _level(bias: float, error: float, size: float, row: Row) -> Level:
    """`size`: where only single neighbours tell, how much click rates differ, of which no bias follows."""
    level = graded(bias, error, row)
    half = half_of(row)
    if level == "trust" and size and half is not None and size * abs(row.value or 0.0) >= SOME * half:
        return "caution"
    return level


def stopping(tested: Tested, estimators: Mapping[str, Estimator], rows: Mapping[str, Row]) -> list[Finding]:
    """Whether a click makes clicks further down rarer: then what stands above matters, though few lists tell it.

    Clicks that make others likelier are no sign of that: some users click much, whatever they are shown.
    """
    names = [name for name, each in estimators.items() if each.weighs in ADDITIVE and rows[name].value is not None]
    strata = tested.strata
    above = (np.cumsum(strata.clicks, axis=1) - strata.clicks > 0).astype(np.float64)
    found = strata.score([above])
    if not names or found.variance[0, 0] <= 0:
        return []
    z = float(found.total[0] / found.variance[0, 0] ** 0.5)
    chance = NormalDist().cdf(z)
    slope = float(found.slopes[0])
    numbers = {"chance": chance, "z": z, "slope": slope, "sampled": strata.share}
    if chance >= SURE:
        words = "a click does not make others further down rarer, but for chance"
        return [Finding("stopping", "trust", words, names, numbers)]
    bias, error = tested.bias(found, found.means, tested.clicked_above)
    numbers |= {"bias": bias, "stderr": error}
    out = []
    for name in names:
        level = graded(bias, error, rows[name])
        words = f"a click makes clicks below it {percent(min(-slope, 1.0))} rarer, so that what stands above matters"
        words += f": about {number(bias, 2)} of the answer" + (", which is little" if level == "trust" else "")
        out.append(Finding("stopping", level, words, [name], numbers))
    return merged(out)
