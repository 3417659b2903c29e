"""Two estimates of one policy from the same impressions: by how much they differ, and the error of that."""

from __future__ import annotations

import math

import numpy as np

from counterrank.estimate import Estimate, Weighs
from counterrank.estimate.groups import moments
from counterrank.estimate.influence import of_difference
from counterrank.findings.case import Case
from counterrank.findings.strata import Matrix, Strata
from counterrank.findings.tested import Tested
from counterrank.ids import Codes
from counterrank.records import dataclass
from counterrank.statistics.memo import remembered
from counterrank.statistics.order import row_order
from counterrank.statistics.pairs import sum_by
from counterrank.statistics.rankings import Rankings


@dataclass(frozen=True)
class Gap:
    """A difference of two values; `supported`: both are of what the log shows, and what it lacks has no part in it."""

    difference: float
    error: float
    supported: bool = False


def of_clicks_and_pages(case: Case, tested: Tested, pages: str, least: float) -> Gap | None:
    """What clicks by item and position give, less what pages give by the weights of the estimator called `pages`.

    Both on what the log shows: Σ (v − its mean in the stratum)·θ·click, v being a page's weight. Inside a stratum the
    weights of pages must not go with the clicks: given the rankings, the mean is 0 if other items do not matter.
    None where fewer than `least` pages carry it.
    """
    strata = tested.strata
    groups, of = rankings(tested)
    weight = _weights(case, pages, groups)[of]
    found = strata.score([weight[:, None] * tested.theta[: strata.rows.shape[1]]])
    if found.pages[0] < least or found.variance[0, 0] <= 0:
        return None
    n = float(strata.number.sum())
    return Gap(-float(found.total[0]) / n, float(found.variance[0, 0]) ** 0.5 / n, supported=True)


def of_pages(case: Case, tested: Tested, one: Estimate, other: Estimate) -> float | None:
    """The standard error of the difference of two estimates that both weigh pages; None where the sample is a part of
    the log or pages carry propensities, so that rankings do not tell their weights."""
    evidence = tested.evidence
    if one.influence is None or other.influence is None or evidence.by_propensity or tested.strata.share < 1:
        return None
    groups, _ = rankings(tested)
    found = moments(evidence, lambda: iter([groups]), of_difference(one.influence, other.influence))
    n = evidence.counts.total
    return math.sqrt(float(found.squares.sum() + found.thin.sum()) / n / (n - 1))


def rankings(tested: Tested) -> tuple[Rankings, Codes]:
    """The sample's rankings, and which of them each group of impressions shows."""
    theta = tested.theta[: tested.strata.rows.shape[1]]

    def moved() -> tuple[Rankings, Codes]:
        groups, of = tested.remembered("rankings", lambda own: _grouped(own, theta), theta.tobytes())
        return (groups if tested.strata is tested.own else groups.moved(tested.pair_rows)), of

    return remembered(tested.memo, "rankings", (tested.strata,), moved)


def _grouped(strata: Strata, theta: Matrix) -> tuple[Rankings, Codes]:
    order, starts = row_order(strata.queries, strata.rows)
    of = np.empty(len(order), dtype=np.int64)
    of[order] = np.repeat(np.arange(len(starts)), np.diff([*starts, len(order)]))
    worth = strata.clicks @ theta
    sums = [sum_by(of, strata.number * each, len(starts)) for each in (np.ones(len(of)), worth, worth**2)]
    first = order[starts]
    groups = Rankings(
        queries=strata.queries[first], rows=strata.rows[first], impressions=sums[0], reward=sums[1], reward2=sums[2]
    )
    return groups, of


def _weights(case: Case, name: str, groups: Rankings) -> Matrix:
    """Of whole rankings: by the shares of the log where no policy was given, since any weights will do for a test."""
    evidence, influence = case.evidence, case.estimates[name].influence
    if case.estimator(name).weighs is not Weighs.RANKINGS and influence is not None:
        return influence(groups).weight
    chance = evidence.target.probability(groups.queries, groups.rows)
    if evidence.shares:
        logged = groups.impressions / evidence.counts.impressions[groups.queries]
    else:
        logged = evidence.logging.probability(groups.queries, groups.rows)
    with np.errstate(over="ignore"):
        weight = np.divide(chance, logged, out=np.zeros_like(chance), where=logged > 0)
    return np.minimum(weight, np.finfo(np.float64).max ** 0.25)
