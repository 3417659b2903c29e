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
from counterrank.findings.neighbour_sums import neighbour_sums
from counterrank.findings.strata import Scores, Strata
from counterrank.findings.tested import SOME, Tested, graded, half_of
from counterrank.records import dataclass
from counterrank.result.row import Row
from counterrank.statistics.chi_square import upper_tail
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


def looked(strata: Strata, pairs: int) -> tuple[Scores, dict[str, Groups]]:
    """What the sample says of neighbours."""
    return scores(strata, pairs), {"next above": by_neighbour(strata, -1), "next below": by_neighbour(strata, 1)}


def by_neighbour(strata: Strata, step: int) -> Groups:
    """Pairs by the pair that stands `step` further down, over all positions.

    In a stratum of n impressions with C clicks, a neighbour's share of the clicks is hypergeometric. Their squared
    deviations, summed over neighbours and divided by their mean, are a chi-square whose degrees of freedom give the
    right variance (Satterthwaite): strata may be as thin as they like.
    """
    found = neighbour_sums(
        strata.rows, strata.clicks, strata.number, strata.cell, step, strata.pair, *strata.rates()
    )  # fmt: skip
    statistic, mean, second, clicks = found.tolist()
    return Groups(statistic, mean, 2 * mean**2 / second if second > 0 else 0.0, clicks)


def neighbours(tested: Tested, estimators: Mapping[str, Estimator], rows: Mapping[str, Row]) -> list[Finding]:
    """Whether other items matter for a click, and how much that moves each answer."""
    names = [name for name, each in estimators.items() if each.weighs in ADDITIVE and rows[name].value is not None]
    if not names:
        return []
    strata = tested.strata
    found, groups = tested.remembered("neighbours", lambda own: looked(own, len(tested.pair_rows)))
    chance = min(1.0, 3 * min(found.chance, *(each.chance for each in groups.values())))
    numbers: dict[str, Any] = {
        "chance": chance, "statistic": found.statistic, "freedom": found.freedom,
        "slopes": dict(zip(NAMES, found.slopes.tolist(), strict=True)),
        "misfit": {of: each.size for of, each in groups.items()}, "sampled": strata.share,
    }  # fmt: skip
    if chance >= CHANCE:
        words = "clicks on an item do not depend on what stands beside it, but for chance"
        return [Finding("neighbours", "trust", words, names, numbers)]
    means = tested.remembered("around", lambda own: own.means(tested.own_appeal(own).around(own.rows)))
    bias, error = tested.bias(found, means, tested.around)
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


def after_clicks(strata: Strata) -> Scores:
    """Of one direction: whether something further up was clicked."""
    return strata.score([(np.cumsum(strata.clicks, axis=1) - strata.clicks > 0).astype(np.float64)])


def stopping(tested: Tested, estimators: Mapping[str, Estimator], rows: Mapping[str, Row]) -> list[Finding]:
    """Whether a click makes clicks further down rarer: then what stands above matters, though few lists tell it.

    Clicks that make others likelier are no sign of that: some users click much, whatever they are shown.
    """
    names = [name for name, each in estimators.items() if each.weighs in ADDITIVE and rows[name].value is not None]
    found = tested.remembered("stopping", after_clicks)
    if not names or found.variance[0, 0] <= 0:
        return []
    z = float(found.total[0] / found.variance[0, 0] ** 0.5)
    chance = NormalDist().cdf(z)
    slope = float(found.slopes[0])
    numbers = {"chance": chance, "z": z, "slope": slope, "sampled": tested.strata.share}
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
