"""The examination curve by intervention harvesting: the same item at two positions is an experiment of its own."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from counterrank.click.base import Floats
from counterrank.click.examination import ExaminationFit, fit_examination, on_curve
from counterrank.compiled import njit
from counterrank.errors import Unanswerable

HARVESTED = 100  # positions, each beside every other: memory grows with their third power


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
    n, c = (np.ascontiguousarray(np.asarray(given)[:, :HARVESTED], dtype=np.float64) for given in (shown, clicked))
    positions = n.shape[1]
    both, hits = np.zeros((positions, positions)), np.zeros((positions, positions))  # of j beside k: at j
    _experiments(n, c, both, hits)
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
    return replace(fit, covariance=_covariance(n, c, both, chance, fit.examination))


def _covariance(n: Floats, c: Floats, both: Floats, chance: Floats, curve: Floats) -> Floats:
    """Of the curve: the bend of the likelihood, and between its inverses how much each pair pulls."""
    told = both * chance / (1.0 - chance)  # what each of two positions tells of its own rate
    shared = told + told.T
    part = np.divide(told, shared, out=np.zeros_like(told), where=shared > 0)
    bend = -told * part.T
    bend -= np.diag(bend.sum(axis=1))
    pull = np.zeros_like(bend)
    _pulls(n, c, chance, part, pull)
    inside = np.flatnonzero((np.diag(bend) > 0) & (np.arange(len(curve)) > 0))
    inverse = np.linalg.pinv(bend[np.ix_(inside, inside)], rcond=1e-12, hermitian=True)
    spread = np.full((len(curve), len(curve)), np.nan)
    spread[0], spread[:, 0] = 0.0, 0.0
    spread[np.ix_(inside, inside)] = inverse @ pull[np.ix_(inside, inside)] @ inverse
    return on_curve(spread, curve)


@njit(nogil=True)
def _experiments(n: Any, c: Any, both: Any, hits: Any) -> None:
    """Weights of every two positions' common pairs, and clicks at the one of them."""
    at = np.empty(n.shape[1], dtype=np.int64)
    for p in range(len(n)):
        cells = 0
        for k in range(n.shape[1]):
            if n[p, k] > 0.0:
                at[cells] = k
                cells += 1
        for i in range(cells):
            for o in range(cells):
                if i != o:
                    j, k = at[i], at[o]
                    weight = min(n[p, j], n[p, k])
                    both[j, k] += weight
                    hits[j, k] += weight * c[p, j] / n[p, j]


@njit(nogil=True)
def _pulls(n: Any, c: Any, chance: Any, part: Any, out: Any) -> None:
    """The sum over pairs of outer products of their pulls on log e, the common items' rates being fitted along."""
    positions = n.shape[1]
    pull = np.empty(positions)
    at = np.empty(positions, dtype=np.int64)
    for p in range(len(n)):
        cells = 0
        for k in range(positions):
            if n[p, k] > 0.0:
                at[cells] = k
                pull[cells] = 0.0
                cells += 1
        for i in range(cells):
            for o in range(i):
                j, k = at[i], at[o]
                weight = min(n[p, j], n[p, k])
                up = weight * (c[p, j] / n[p, j] - chance[j, k]) / (1.0 - chance[j, k])
                down = weight * (c[p, k] / n[p, k] - chance[k, j]) / (1.0 - chance[k, j])
                apart = part[k, j] * up - part[j, k] * down
                pull[i] += apart
                pull[o] -= apart
        for i in range(cells):
            for o in range(cells):
                out[at[i], at[o]] += pull[i] * pull[o]
