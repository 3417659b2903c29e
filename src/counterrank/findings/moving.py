"""Does the logging policy move with the days, and do clicks move along?"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from counterrank.estimate import Estimator, Weighs
from counterrank.findings.case import merged
from counterrank.findings.diagnosis import Finding
from counterrank.findings.strata import Matrix, Strata
from counterrank.findings.tested import Tested, graded
from counterrank.ids import Codes
from counterrank.result.row import Row
from counterrank.statistics.sample import NO_DAY
from counterrank.words import number

CHANCE = 0.01
PRIOR = 2.0  # impressions of an average day that stand beside each day's own


def moving(tested: Tested, estimators: Mapping[str, Estimator], rows: Mapping[str, Row]) -> list[Finding]:
    """Shares of the whole log stand for the logging policy of every day. Where it shows an item more on the days on
    which that is clicked more, they are wrong, and every weight with them.

    The directions are how much the day shows of the pair at its position, and of the pair in all, beside other days.
    """
    evidence, strata = tested.evidence, tested.strata
    names = [
        name for name, each in estimators.items()
        if each.weighs is not Weighs.NOTHING and not each.knows(evidence) and rows[name].value is not None
    ]  # fmt: skip
    days = np.unique(strata.days[strata.days != NO_DAY])
    if not names or len(days) < 2:
        return []
    directions, fair = exposures(strata, np.searchsorted(days, strata.days), len(days))
    dated = np.where(strata.days == NO_DAY, 0.0, strata.number)
    found = strata.score(directions, dated)
    bias, error = found.moved(_gradient(tested, found.means, fair))
    numbers = {"days": len(days), "chance": found.chance, "statistic": found.statistic, "freedom": found.freedom,
               "slopes": found.slopes.tolist(), "bias": bias, "stderr": error, "sampled": strata.share}  # fmt: skip
    if found.chance >= CHANCE:
        words = "items are not clicked more on days that show them more, but for chance"
        return [Finding("moving", "trust", words, names, numbers)]
    out = []
    for name in names:
        level = graded(bias, error, rows[name])
        words = "items are clicked more, or less, on days that show them more, so that shares of the whole log mislead"
        words += f": by about {number(bias, 2)}" + (", which is little" if level == "trust" else "")
        out.append(Finding("moving", level, words, [name], numbers))
    return merged(out)


def exposures(strata: Strata, day: Codes, days: int) -> tuple[list[Matrix], Matrix]:
    """(G, K) directions, and (2, strata) what their means would be if every day showed all alike."""
    size = int(strata.queries.max(initial=0)) + 1
    dated = np.where(strata.days == NO_DAY, 0.0, strata.number)
    when = np.where(strata.days == NO_DAY, 0, day)
    busy = np.bincount(strata.queries * days + when, dated, size * days).reshape(size, days)
    whole = busy.sum(axis=1)
    query = np.zeros(len(strata.keys), dtype=np.int64)
    query[strata.cell[strata.inside]] = np.broadcast_to(strata.queries[:, None], strata.rows.shape)[strata.inside]
    pairs, of = np.unique(strata.pair, return_inverse=True)
    weight = 1 / (1.0 + strata.place)
    out, fair = [], []
    for unit, each, count in ((np.arange(len(query)), np.ones(len(query)), len(query)), (of, weight, len(pairs))):
        keys = np.append(unit, count)[strata.cell] * days + when[:, None]
        shown = (dated[:, None] * strata.at(each)).ravel()
        met = np.bincount(keys.ravel(), shown, (count + 1) * days).reshape(count + 1, days)[:-1]
        owner = np.zeros(count, dtype=np.int64)
        owner[unit] = query
        share = met.sum(axis=1) / np.maximum(whole[owner], 1.0)
        expected = share[:, None] * busy[owner]
        ratio = (met + PRIOR) / (expected + PRIOR)
        out.append(np.append(ratio, np.ones((1, days)), axis=0).ravel()[keys])
        even = (ratio * busy[owner]).sum(axis=1) / np.maximum(whole[owner], 1.0)
        fair.append(even[unit])
    return out, np.stack(fair)


def _gradient(tested: Tested, means: Matrix, fair: Matrix) -> Matrix:
    """By how much each direction's slope moves the answer: a stratum's clicks are of the days that show it most."""
    out = np.zeros(len(means))
    for sign, cell, _ in tested.around:
        worth = tested.chances(cell) * tested.theta[: cell.shape[1]]
        for d in range(len(means)):
            out[d] += sign * float((worth * np.append(means[d] - fair[d], 0.0)[cell]).sum()) / len(cell)
    return out
