"""The best policy under an estimator: li2018's linear programs, and cief2024's deterministic baselines."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field, replace

import numpy as np
from numpy.typing import NDArray

from counterrank.errors import InputError, Unanswerable
from counterrank.estimate import Estimator, Item, ItemPosition, List, PositionBased, Pseudoinverse
from counterrank.estimate.list_weights import logging_chances
from counterrank.estimate.pseudoinverse.phi import page_credits
from counterrank.ids import Codes
from counterrank.optimizing.programs.assign import assign
from counterrank.optimizing.programs.birkhoff import rankings_of
from counterrank.optimizing.programs.exposure import best_exposure
from counterrank.optimizing.programs.transport import NUDGE, best_marginals
from counterrank.policy.base import BLOCK
from counterrank.records import dataclass
from counterrank.setting.evidence import LogEvidence, ratios
from counterrank.statistics.counts import sum_chunks
from counterrank.statistics.hashing import ranking_keys
from counterrank.statistics.pairs import Table, sum_by
from counterrank.statistics.rankings import Rankings

Vector = NDArray[np.float64]
ROUNDING = 1e-12  # smaller chances are errors of rounding


@dataclass(frozen=True)
class Task:
    """An estimator's evidence, and which items may be shown: `lengths` says how many positions are filled."""

    evidence: LogEvidence
    allowed: NDArray[np.bool_]  # (P,)
    lengths: Codes  # (Q,)


@dataclass(frozen=True)
class Some:
    """Some queries of a task, whose (pair × position) tables are in memory at a time."""

    task: Task
    first: int
    last: int

    @property
    def mine(self) -> slice:
        """The rows of their pairs."""
        starts = self.task.evidence.counts.pairs.starts
        return slice(int(starts[self.first]), int(starts[self.last]))

    @property
    def starts(self) -> Codes:
        return np.asarray(self.task.evidence.counts.pairs.starts[self.first : self.last + 1] - self.mine.start)

    @property
    def allowed(self) -> NDArray[np.bool_]:
        return self.task.allowed[self.mine]

    @property
    def lengths(self) -> Codes:
        return self.task.lengths[self.first : self.last]

    @property
    def queries(self) -> Codes:
        """The query of each pair, from 0."""
        return np.repeat(np.arange(self.last - self.first), np.diff(self.starts))

    @property
    def logging(self) -> Table:
        return self.task.evidence.logging.part(self.first, self.last)

    def table(self, values: Vector) -> Table:
        """Numbers of cells as a table."""
        return self.task.evidence.cells.dense(values, self.mine.start, self.mine.stop)

    def drawn(self, shown: Table, gained: Vector) -> Solution:
        """Rankings with these marginals."""
        queries, rows, chances = rankings_of(self.starts, shown, self.lengths)
        return self.solution(queries, rows, chances, gained)

    def solution(self, queries: Codes, rows: Codes, chances: Vector, gained: Vector) -> Solution:
        rows = np.where(rows >= 0, rows + self.mine.start, -1)
        return Solution(queries + self.first, rows, chances, gained)


def _by_blocks(task: Task, solve: Callable[[Some], Solution]) -> Solution:
    """Solved some queries at a time: none depends on another."""
    found = [solve(Some(task, *ends)) for ends in task.evidence.counts.pairs.blocks(BLOCK)]
    return Solution(
        np.concatenate([each.queries for each in found]),
        np.concatenate([each.rows for each in found]),
        np.concatenate([each.probability for each in found]),
        np.concatenate([each.value for each in found]),
    )


@dataclass(frozen=True)
class Solution:
    """Rankings with their chances, and each query's value by the estimator."""

    queries: Codes  # (G,)
    rows: Codes  # (G, K) rows of the pairs
    probability: Vector  # (G,)
    value: Vector  # (Q,)
    notes: list[str] = field(default_factory=list)

    def without_empty(self) -> Solution:
        """Without rankings of no items: queries that have no candidates."""
        some = (self.rows >= 0).any(axis=1)
        return replace(self, queries=self.queries[some], rows=self.rows[some], probability=self.probability[some])


def lp_list(task: Task) -> Solution:
    """max Σ_A F(A)·min(h(A)/π(A), M): a query's lists, the best mean first, each up to M·π(A).

    The program of li2018 (section 4.3) is separable: a fractional knapsack, which the greedy choice solves.
    """
    return _best_lists(task, True)


def ips(task: Task) -> Solution:
    """The one logged list with the largest Σ reward·min(1/π(A), M): cief2024, eq. 10."""
    return _best_lists(task, False)


def lp_ip(task: Task) -> Solution:
    """max Σ θ·clicks·min(h(a,k)/π(a,k), M) over chances h of (item, position)."""
    evidence = task.evidence
    clicks = evidence.weights[evidence.cells.positions] * evidence.counts.clicked

    def solve(some: Some) -> Solution:
        logging = some.logging
        worth = ratios(some.table(clicks), logging)
        cap = evidence.clip * logging if np.isfinite(evidence.clip) else np.where(logging > 0, np.inf, 0.0)
        shown = best_marginals(worth, cap, logging, some.allowed, some.starts, some.lengths)
        gained = sum_by(some.queries, (worth * np.minimum(shown, cap)).sum(axis=1), len(some.lengths))
        return some.drawn(shown, gained / evidence.counts.impressions[some.first : some.last])

    return _by_blocks(task, solve)


def lp_pbm(task: Task) -> Solution:
    """max Σ θ·clicks·min(⟨θ∘p, h(a)⟩/⟨θ∘p, π(a)⟩, M)."""
    return _best_exposure(task, task.evidence.examination)


def lp_item(task: Task) -> Solution:
    """The same with every position examined."""
    return _best_exposure(task, np.ones_like(task.evidence.weights))


def ip_ips(task: Task) -> Solution:
    """The one ranking with the largest Σ clicks·min(1/π(a,k), M), items assigned to positions: cief2024, eq. 11."""
    evidence, counts = task.evidence, task.evidence.counts
    weight = np.minimum(ratios(np.ones(len(evidence.cells)), evidence.shown_by_logging), evidence.clip)
    value = (
        evidence.weights[evidence.cells.positions] * counts.clicked * weight / counts.impressions[counts.cell_queries]
    )
    return _assigned(task, lambda some: some.table(value), float(np.abs(value).max(initial=0.0)))


def pi(task: Task) -> Solution:
    """The one ranking with the largest Σ φ̂(a,k), φ̂ the pseudoinverse estimate: cief2024, eq. 12.

    Items are assigned to positions, which is best; the paper fills positions greedily.
    """
    phi = page_credits(task.evidence)
    found = _assigned(task, lambda some: phi.values[some.mine], float(np.abs(phi.values).max(initial=0.0)))
    return Solution(found.queries, found.rows, found.probability, found.value, list(phi.notes))


def _assigned(task: Task, value: Callable[[Some], Table], largest: float) -> Solution:
    def solve(some: Some) -> Solution:
        worth = value(some)
        nudged = np.where(some.allowed[:, None], worth + NUDGE * max(largest, 1e-300) * some.logging, -np.inf)
        rows = assign(nudged, some.starts, some.lengths)
        gained = np.where(rows >= 0, worth[rows, np.arange(rows.shape[1])], 0.0).sum(axis=1)
        return some.solution(np.arange(len(rows)), rows, np.ones(len(rows)), gained)

    return _by_blocks(task, solve)


def _best_exposure(task: Task, examination: Vector) -> Solution:
    evidence = task.evidence
    counts = evidence.counts
    theta = np.where(examination > 0, evidence.weights, 0.0)
    looks = theta * examination
    logging = evidence.logging.exposure(looks)
    worth = ratios(evidence.cells.weighed(counts.clicked, theta), logging)
    cap = evidence.clip * logging if np.isfinite(evidence.clip) else np.where(logging > 0, np.inf, 0.0)
    liked = evidence.logging.exposure(1 / np.arange(1, len(looks) + 1))  # often, and high up

    def solve(some: Some) -> Solution:
        of, most, often = (each[some.mine] for each in (worth, cap, liked))
        shown = best_exposure(of, most, often, some.allowed, looks, some.starts, lengths=some.lengths)
        gained = sum_by(some.queries, of * np.minimum(shown @ looks, most), len(some.lengths))
        return some.drawn(shown, gained / counts.impressions[some.first : some.last])

    return _by_blocks(task, solve)


def _best_lists(task: Task, several: bool) -> Solution:
    """Logged lists; each piece of a list's chance is worth Σ F/π over the groups whose cap M·π it has not reached."""
    counts, clip = task.evidence.counts, task.evidence.clip
    if counts.rankings is None:
        raise InputError("the rankings of the log were not counted")
    groups = sum_chunks(counts.rankings).shifted(counts.origin)
    if several and (groups.reward < 0).any():
        raise Unanswerable(
            "rewards below 0 came, but lp-list needs rewards of 0 or more: add a number to all, or use ips"
        )
    groups = groups.taken(np.flatnonzero(np.append(task.allowed, True)[groups.rows].all(axis=1)))
    if len(groups) == 0:
        raise Unanswerable("no logged list consists of candidates alone: give more candidates, or another `by`")
    groups = groups.taken(np.lexsort((*groups.rows.T[::-1], groups.queries)))  # for ties
    chance = logging_chances(task.evidence, groups)
    lists, of = _lists(groups)
    with np.errstate(over="ignore"):
        value = np.divide(groups.reward, chance, out=np.zeros(len(groups)), where=chance > 0)
        inverse = np.divide(1.0, chance, out=np.zeros(len(groups)), where=chance > 0)
    if not (np.isfinite(value).all() and np.isfinite(inverse).all()):
        raise Unanswerable(
            f"a logged list has a chance of {chance[chance > 0].min():.2g}: its weight is too large to compute with; "
            "leave such rows out, or take the log's shares with `logging='log'`"
        )
    if several:
        piece_list, length, slope = _pieces(of, np.minimum(clip * chance, 1.0), value)
        order = np.lexsort((piece_list, -lists.impressions[piece_list], -slope, lists.queries[piece_list]))
        piece_list, length, slope = piece_list[order], length[order], slope[order]
        starts = np.searchsorted(lists.queries[piece_list], np.arange(len(counts.impressions)))
        before = np.cumsum(length) - length
        before -= before[starts[lists.queries[piece_list]]]
        taken = np.clip(1.0 - before, 0.0, length)
        taken[taken < ROUNDING] = 0.0
        share = sum_by(piece_list, taken, len(lists))
    else:
        gain = np.bincount(of, groups.reward * np.minimum(inverse, clip))
        share = np.zeros(len(lists))
        share[_first(lists, np.lexsort((np.arange(len(lists)), -lists.impressions, -gain, lists.queries)))] = 1.0
    most = _first(lists, np.lexsort((np.arange(len(lists)), -lists.impressions, lists.queries)))
    whole = np.bincount(lists.queries, share, len(counts.impressions))
    lack = 1.0 - whole[lists.queries[most]]
    share[most] += np.where(lack > ROUNDING, lack, 0.0)  # where nothing more pays: the most logged list
    paid = value * np.minimum(share[of], clip * chance)
    gained = np.bincount(groups.queries, paid, len(counts.impressions)) / counts.impressions
    used = np.flatnonzero(share > 0)
    used = used[np.lexsort((used, -share[used], lists.queries[used]))]
    return Solution(lists.queries[used], lists.rows[used], share[used], gained)


def _pieces(of: Codes, cap: Vector, value: Vector) -> tuple[Codes, Vector, Vector]:
    """The list, length and slope of each linear piece of Σ value·min(h, cap) over a list's groups."""
    if len(np.unique(of)) == len(of):
        return of, cap, value
    order = np.lexsort((cap, of))
    which, ends, slopes = of[order], cap[order], value[order]
    new = np.r_[True, which[1:] != which[:-1]]
    length = np.where(new, ends, ends - np.r_[0.0, ends[:-1]])
    total = np.cumsum(slopes[::-1])[::-1]  # from each piece to the end
    last = np.flatnonzero(np.r_[new[1:], True])
    after = np.r_[total, 0.0][last + 1]
    return which, length, total - np.repeat(after, np.diff(np.r_[-1, last]))


def _lists(groups: Rankings) -> tuple[Rankings, Codes]:
    """The lists of these groups, which come sorted by list, and the list of each group."""
    keys = ranking_keys(groups.queries, groups.rows, groups.lengths)
    new = np.r_[True, keys[1:] != keys[:-1]]
    of, first = np.cumsum(new) - 1, np.flatnonzero(new)
    impressions = sum_by(of, groups.impressions, len(first))
    return replace(groups.taken(first), impressions=impressions, propensity=None), of


def _first(lists: Rankings, order: Codes) -> Codes:
    """The first of each query's, in this order."""
    return order[np.r_[True, lists.queries[order][1:] != lists.queries[order][:-1]]]


@dataclass(frozen=True)
class Program:
    """How to find the best policy under an estimator; `sure`: it shows one ranking a query, else it is drawn from."""

    solve: Callable[[Task], Solution]
    estimator: Estimator
    sure: bool = False


PROGRAMS = {
    "lp-list": Program(lp_list, List()),
    "lp-ip": Program(lp_ip, ItemPosition()),
    "lp-pbm": Program(lp_pbm, PositionBased()),
    "lp-item": Program(lp_item, Item()),
    "ips": Program(ips, List(), sure=True),
    "ip-ips": Program(ip_ips, ItemPosition(), sure=True),
    "pi": Program(pi, Pseudoinverse(), sure=True),
}
