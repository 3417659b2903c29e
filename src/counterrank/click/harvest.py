"""The examination curve by intervention harvesting: the same item at two positions is an experiment of its own."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from counterrank.click.base import Floats
from counterrank.click.examination import ExaminationFit, fit_examination, on_curve
from counterrank.compiled import njit
from counterrank.errors import Unanswerable
from counterrank.statistics.cells import Cells, Tally

HARVESTED = 100  # positions, each beside every other: memory grows with their third power
_U = np.uint64  # indices that compilers know not to be negative


def harvest_examination(shown: ArrayLike, clicked: ArrayLike) -> ExaminationFit:
    """The curve from pairs of positions, each compared only on items that were shown at both.

    For positions j and k and each pair shown at both, clicks per impression at j and at k are averaged with the same
    weight, min(shown at j, shown at k): what stands there is then alike, and the ratio is that of examination. All
    ratios together are fitted by the likelihood of `fit_examination`. A check of the curve that other fits find: it
    takes less on trust, as no pair's attraction is modelled, and is noisier. Biased where an item
    attracts differently on days when it stands higher. `attraction` is that of each two positions' common items.
    Of long lists the first 100 positions are looked at. The covariance takes (query, item) pairs as units.

    >>> harvest_examination([[100, 100], [200, 50]], [[40, 20], [40, 5]]).examination.round(6).tolist()
    [1.0, 0.5]

    Reference: Agarwal et al., WSDM 2019 (AllPairs).
    """
    n, c = (np.asarray(given)[:, :HARVESTED] for given in (shown, clicked))
    cells, (some, hits) = Cells.of_tables(n, c)
    return harvest_of(Tally(cells, some, hits))


def harvest_of(counted: Tally, depth: int = HARVESTED) -> ExaminationFit:
    """As `harvest_examination`, of the first `depth` positions."""
    positions = min(counted.cells.depth, depth)
    seen = _Seen(counted.cells.starts, counted.cells.positions, counted.shown, counted.clicked)
    both, hits = np.zeros((2, positions, positions))  # of j beside k: at j
    _experiments(seen, both, hits)
    if not both.any():
        raise Unanswerable("no item was shown at two positions: the log holds no experiment to harvest")
    for found, lacks in (
        (both, "was shown at another position too"),
        (hits, "that stood elsewhere too was clicked there"),
    ):
        if not found[0].any():
            raise Unanswerable(f"no item of position 1 {lacks}: the harvested curve has no scale")
    one, other = np.triu_indices(positions, 1)
    rows = np.arange(len(one))
    trials, won = np.zeros((len(one), positions)), np.zeros((len(one), positions))
    for at, beside in ((one, other), (other, one)):
        trials[rows, at], won[rows, at] = both[at, beside], np.minimum(hits[at, beside], both[at, beside])
    fit = fit_examination(trials, won)
    chance = np.zeros((positions, positions))
    for at, beside in ((one, other), (other, one)):
        chance[at, beside] = np.minimum(fit.attraction * fit.examination[at], 1 - 1e-9)
    return replace(fit, covariance=_covariance(seen, both, chance, fit.examination))


def _covariance(seen: _Seen, both: Floats, chance: Floats, curve: Floats) -> Floats:
    """Of the curve: the bend of the likelihood, and between its inverses how much each pair pulls."""
    told = both * chance / (1.0 - chance)  # what each of two positions tells of its own rate
    shared = told + told.T
    part = np.divide(told, shared, out=np.zeros_like(told), where=shared > 0)
    bend = -told * part.T
    bend -= np.diag(bend.sum(axis=1))
    pull = np.zeros_like(bend)
    own = part.T / (1.0 - chance)
    middle = own * chance
    _pulls(seen, own, middle - middle.T, pull)
    pull += np.tril(pull, -1).T
    inside = np.flatnonzero((np.diag(bend) > 0) & (np.arange(len(curve)) > 0))
    inverse = np.linalg.pinv(bend[np.ix_(inside, inside)], rcond=1e-12, hermitian=True)
    spread = np.full((len(curve), len(curve)), np.nan)
    spread[0], spread[:, 0] = 0.0, 0.0
    spread[np.ix_(inside, inside)] = inverse @ pull[np.ix_(inside, inside)] @ inverse
    return on_curve(spread, curve)


class _Seen(NamedTuple):
    """The cells of a tally, pair by pair."""

    starts: Any  # (P+1,)
    positions: Any  # (C,) rising within a pair
    shown: Any  # (C,)
    clicked: Any  # (C,)


@njit(nogil=True)
def _taken(seen: Any, p: Any, at: Any, looks: Any, rate: Any) -> Any:
    """How many of the first positions pair p was shown at; these, how often it was, and its click rates there."""
    cells = _U(0)
    for c in range(_U(seen.starts[p]), _U(seen.starts[p + _U(1)])):
        if seen.positions[c] < len(at) and seen.shown[c] > 0:
            at[cells], looks[cells] = seen.positions[c], seen.shown[c]
            rate[cells] = seen.clicked[c] / seen.shown[c]
            cells += _U(1)
    return cells


@njit(nogil=True)
def _experiments(seen: Any, both: Any, hits: Any) -> None:
    """Weights of every two positions' common pairs, and clicks at the one of them."""
    at, looks, rate = np.empty(len(both), dtype=np.uint64), np.empty(len(both)), np.empty(len(both))
    for p in range(_U(len(seen.starts) - 1)):
        for i in range(_taken(seen, p, at, looks, rate)):
            j = at[i]
            for o in range(i):
                k, weight = at[o], min(looks[i], looks[o])
                both[j, k] += weight
                hits[j, k] += weight * rate[i]
                hits[k, j] += weight * rate[o]
    for j in range(len(both)):
        for k in range(j):
            both[k, j] = both[j, k]


@njit(nogil=True)
def _pulls(seen: Any, own: Any, middle: Any, out: Any) -> None:
    """The sum over pairs of outer products of their pulls on log e, the common items' rates being fitted along (its
    lower half): at j beside k a pair pulls by its rates there, each times `own`, less what is to be expected."""
    size = len(out)
    at, looks, rate, pull = np.empty(size, dtype=np.uint64), np.empty(size), np.empty(size), np.empty(size)
    for p in range(_U(len(seen.starts) - 1)):
        cells = _taken(seen, p, at, looks, rate)
        for i in range(cells):
            j = at[i]
            pull[i] = 0.0
            for o in range(i):
                k = at[o]
                apart = min(looks[i], looks[o]) * (own[j, k] * rate[i] - own[k, j] * rate[o] - middle[j, k])
                pull[i] += apart
                pull[o] -= apart
        for i in range(cells):
            for o in range(i + _U(1)):
                out[at[i], at[o]] += pull[i] * pull[o]
