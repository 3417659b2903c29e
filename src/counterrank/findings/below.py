"""Does what stands below an item change how often it is clicked, all above being the same? Then users do not read from
the top alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from counterrank.estimate import Estimator, Weighs
from counterrank.findings.beside import NAMES, Appeal
from counterrank.findings.case import merged
from counterrank.findings.click_model import UNTESTED
from counterrank.findings.diagnosis import Finding
from counterrank.findings.strata import Matrix, Scores, Strata
from counterrank.findings.tested import Tested, graded
from counterrank.findings.weights import VERY_FEW
from counterrank.ids import Codes
from counterrank.result.row import Row
from counterrank.words import number

CHANCE = 0.01
FURTHER_DOWN = [NAMES.index("below"), NAMES.index("next below")]


def below(tested: Tested, estimators: Mapping[str, Estimator], rows: Mapping[str, Row]) -> list[Finding]:
    """Of those that weigh beginnings of rankings: within impressions that begin alike, does what follows matter?"""
    names = [
        name for name, each in estimators.items() if each.weighs is Weighs.PREFIXES and rows[name].value is not None
    ]
    if not names:
        return []
    strata = tested.strata
    found = _scores(strata, len(tested.evidence.counts.pairs))
    numbers = {
        "chance": found.chance, "statistic": found.statistic, "freedom": found.freedom,
        "slopes": found.slopes.tolist(), "sampled": strata.share,
    }  # fmt: skip
    if found.freedom == 0 or float(found.pages.max()) < VERY_FEW:
        words = "the log is too thin to test whether what stands below an item matters"
        return [Finding("below", "caution", words, names, numbers | {UNTESTED: True})]
    if found.chance >= CHANCE:
        words = "clicks on an item do not depend on what stands below it, but for chance"
        return [Finding("below", "trust", words, names, numbers)]
    means = strata.means(_picked(tested.appeal.around(strata.rows)))
    bias, error = tested.bias(found, means, [(sign, cell, _picked(each)) for sign, cell, each in tested.around])
    numbers |= {"bias": bias, "stderr": error}
    out = []
    for name in names:
        level = graded(bias, error, rows[name])
        words = f"what stands below an item changes how often it is clicked: about {number(bias, 2)} of the answer"
        out.append(Finding("below", level, words + (", which is little" if level == "trust" else ""), [name], numbers))
    return merged(out)


def _picked(directions: Sequence[Matrix] | Matrix) -> list[Matrix]:
    return [directions[at] for at in FURTHER_DOWN]


def _scores(strata: Strata, pairs: int) -> Scores:
    """As those of `neighbours`, one half telling how attractive items are, the other being tested."""
    one, other = strata.halves()
    alike = beginning_alike(strata)
    found = [
        alike.score(_picked(Appeal.of(strata, pairs, learned).around(strata.rows)), tried)
        for learned, tried in ((one, other), (other, one))
    ]
    return found[0] + found[1]


def beginning_alike(strata: Strata) -> Strata:
    """The same impressions in strata that show the same items down to a position, in the same order."""
    cell: Codes = np.full(strata.rows.shape, -1)
    above = np.zeros(len(strata.rows), dtype=np.int64)
    size, first = int(strata.rows.max(initial=0)) + 1, 0
    for k in range(strata.rows.shape[1]):
        there = strata.inside[:, k]
        _, code = np.unique(above[there] * size + strata.rows[there, k], return_inverse=True)
        above[there] = code
        cell[there, k] = first + code
        first += int(code.max(initial=-1)) + 1
    return replace(strata, keys=np.arange(first), cell=np.where(cell >= 0, cell, first))
