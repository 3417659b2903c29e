"""How rarely does the logging policy show what the target shows? Where both are known, no luck of the log hides it."""

from __future__ import annotations

import numpy as np

from counterrank.estimate import Estimator, Weighs
from counterrank.estimate.base import Vector
from counterrank.findings.case import Case, grade, merged
from counterrank.findings.diagnosis import LEVELS, Finding
from counterrank.findings.weights import SKEWED, VERY_FEW, VERY_SKEWED, few
from counterrank.ids import Codes
from counterrank.setting.evidence import Evidence
from counterrank.statistics.pairs import sum_by

LARGEST = 1e100  # weights beyond it are all the same: far too large
DRAWS = 200  # rankings of each query, where a target cannot list its own
Shown = tuple[Codes, Vector, Vector]  # of what the target shows: query, chance under the target, weight


def rarity(case: Case) -> list[Finding]:
    """The effective size and the skewness of the weights, as the two policies give them.

    A weight of 1,000 that a log of 500 impressions never met is in none of its sums. E_π[w²] = E_h[w] and
    E_π[w³] = E_h[w²], so that what the target shows tells both moments.
    """
    evidence, out = case.evidence, []
    for name, row in case.rows.items():
        estimator = case.estimator(name)
        if row.value is None or row.clipped > 0 or evidence.same or estimator.weighs is Weighs.NOTHING:
            continue
        shown = _shown(evidence, estimator)
        if shown is None:
            continue
        root = _mean(evidence, shown, 1) ** 0.5
        if root <= 0:
            continue
        n = evidence.counts.total
        expected = n / root**2 if root < 1e100 else 0.0
        skewness = _mean(evidence, shown, 2, root) / root / n**0.5
        thin = grade(-expected, -few(estimator, evidence), -VERY_FEW)
        level = max(thin, grade(skewness, SKEWED, VERY_SKEWED), key=LEVELS.index)
        words = f"as the two policies go, {expected:,.0f} impressions' worth of evidence are to be expected"
        if level != "trust":
            words = (
                f"the logging policy shows some of the target so rarely that about {expected:,.0f} impressions' worth "
                f"of evidence are to be expected, and the skewness of the estimate is {skewness:.2g}"
            )
        out.append(Finding("rarity", level, words, [name], {"expected_size": expected, "skewness": skewness}))
    return merged(out)


def _mean(evidence: Evidence, shown: Shown, power: int, unit: float = 1.0) -> float:
    """E_h[(w/unit)^power], averaged over impressions."""
    queries, chance, weight = shown
    size = len(evidence.counts.impressions)
    mass = sum_by(queries, chance, size)
    total = sum_by(queries, chance * np.minimum(weight / unit, LARGEST) ** power, size)
    return evidence.mean(np.divide(total, mass, out=np.zeros(size), where=mass > 0))


def _shown(evidence: Evidence, estimator: Estimator) -> Shown | None:
    """What an estimator weighs; None where the logging policy is known from this log alone."""
    if not estimator.knows(evidence) or estimator.by_item(evidence):
        return None
    if estimator.weighs is Weighs.RANKINGS:
        return _rankings(evidence) if not evidence.by_propensity else None
    if estimator.weighs is Weighs.ITEMS:
        return _weighed(evidence.counts.pairs.queries, *estimator.chances(evidence))
    return _positions(evidence)


def _positions(evidence: Evidence) -> Shown:
    """Items at positions, of those that the target shows."""
    queries, found = evidence.counts.pairs.queries, list[Shown]()
    for mine, target, logging in evidence.tables():
        row, position = np.nonzero(target)
        found.append(_weighed(queries[mine][row], target[row, position], logging[row, position]))
    of, chance, weight = (np.concatenate(each) for each in zip(*found, strict=True))
    return of, chance, weight


def _rankings(evidence: Evidence) -> Shown:
    listed = evidence.target.support()
    if listed is not None:
        queries, rankings, chance = listed
        return _weighed(queries, chance, evidence.logging.probability(queries, rankings))
    queries = np.repeat(np.arange(len(evidence.counts.impressions)), DRAWS)
    rankings = evidence.target.sample(queries, np.random.default_rng(0))
    chance = evidence.target.probability(queries, rankings)
    _, draws, weight = _weighed(queries, chance, evidence.logging.probability(queries, rankings))
    return queries, (draws > 0).astype(np.float64), weight


def _weighed(queries: Codes, target: Vector, logging: Vector) -> Shown:
    """What the logging policy never shows is another finding's."""
    there = (target > 0) & (logging > 0)
    with np.errstate(over="ignore"):
        weight = np.divide(target, logging, out=np.zeros(len(target)), where=there)
    return queries, np.where(there, target, 0.0), weight
