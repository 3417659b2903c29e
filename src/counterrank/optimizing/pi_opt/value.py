"""What a learnt policy is worth: as its own model says, and by `pi` on queries that the model had not seen."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from counterrank.ids import Codes
from counterrank.optimizing.pi_opt.examples import Examples, Vector
from counterrank.optimizing.pi_opt.greedy import greedy
from counterrank.optimizing.pi_opt.pi_opt import PiOpt, lifted
from counterrank.records import dataclass
from counterrank.statistics.pairs import Table, sum_by


@dataclass(frozen=True, kw_only=True)
class HeldOut:
    """Rankings by models that had not seen the query, judged by `pi`; errors take queries as units."""

    value: float
    stderr: float | None
    logged: float  # the mean reward of the same impressions
    difference: float
    difference_stderr: float | None
    queries: int
    unsupported: float  # share of the positions so filled that the log does not show: they count as 0


def held_out(
    examples: Examples, learnt: PiOpt, lengths: Codes, reward: Vector, impressions: NDArray[np.int64]
) -> HeldOut | None:
    """`reward` and `impressions`: each query's mean reward, and how often it came."""
    if learnt.scored is None:
        return None
    known = np.asarray(np.isfinite(examples.features).all(axis=1))
    ranked = np.repeat(known[:, None], examples.phi.shape[1], axis=1)
    items = sum_by(examples.queries, known, len(lengths)).astype(np.int64)
    rows = greedy(lifted(learnt.scored, examples.starts, ranked), examples.starts, np.minimum(lengths, items))
    inside, place = rows >= 0, np.arange(rows.shape[1])
    counted = np.where(inside, examples.phi[rows, place], 0.0).sum(axis=1)
    lost = (inside & (examples.weight[rows, place] <= 0)).sum(axis=1) / np.maximum(inside.sum(axis=1), 1)
    used = np.flatnonzero(inside.any(axis=1))
    share = impressions[used] / impressions[used].sum()
    value, logged = float(share @ counted[used]), float(share @ reward[used])
    return HeldOut(
        value=value,
        stderr=_error(counted[used] - value, share),
        logged=logged,
        difference=value - logged,
        difference_stderr=_error(counted[used] - reward[used] - (value - logged), share),
        queries=len(used),
        unsupported=float(share @ lost[used]),
    )


def _error(off: Vector, share: Vector) -> float | None:
    """The standard error of a mean over queries, of which the log is taken for a sample."""
    size = len(off)
    return math.sqrt(float(((share * off) ** 2).sum()) * size / (size - 1)) if size > 1 else None


def random_page(
    examples: Examples, scores: Table, reward: Vector, impressions: NDArray[np.int64]
) -> tuple[Table, NDArray[np.bool_], float]:
    """What the model says of the items that were logged, and what a page of random items is worth on average.

    The first is the mean score of each query and position as logged, (Q, K), and where there is one; the query's mean
    reward is what such pages are worth. The last serves queries that the log does not have.
    """
    logged, seen = examples.means(scores), examples.sums((examples.weight > 0).astype(np.float64))
    plain = examples.sums(np.where(examples.weight > 0, scores, 0.0))
    random = np.divide(plain, seen, out=np.zeros_like(plain), where=seen > 0)
    used = seen.any(axis=1)
    worth = reward + (random - logged).sum(axis=1)
    return logged, seen > 0, float(worth[used] @ impressions[used] / impressions[used].sum())
