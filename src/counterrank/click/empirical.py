"""The examination curve by empirical Bayes: attraction is integrated out over a Beta prior fitted with the curve."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from functools import cached_property
from math import lgamma, log

import numpy as np
from numpy.typing import ArrayLike, NDArray

from counterrank.click.ascent import ascend, polished
from counterrank.click.base import Floats
from counterrank.click.examination import never_clicked, no_scale, tally_of
from counterrank.click.lattice import FINE, REACH, Lattice, lattice, steps_of
from counterrank.click.marginal import Prior, attractions, likelihood, span
from counterrank.click.tally import Alike
from counterrank.posterior.priors import HIGH, LOW
from counterrank.records import dataclass
from counterrank.statistics.cells import Tally
from counterrank.threads import side_by_side

FITTED = 100  # positions; below these, examination is the click rate of the position over the mean attraction
TOP = 9.0  # logits of examination go from −TOP to TOP
ITERATIONS = 200
_FIRST = 1 << 15  # cells of a first look, where there are many more
_FEW = 1 << 12  # cells of which a gradient costs next to nothing
_WORTH = 1 << 13  # cells below which a second thread costs more than it brings


@dataclass(frozen=True, kw_only=True)
class EmpiricalFit:
    """One curve for the whole log, the prior of all attractions, and each pair's attraction under both."""

    examination: Floats  # (K,) 1 at position 1; 0 where a position was never shown or never clicked (see notes)
    prior: tuple[float, float]  # α, β
    covariance: Floats  # (K, K) of the curve; 0 where it is not fitted
    log_likelihood: float
    iterations: int
    converged: bool
    edge: bool  # a parameter ended on an edge of its box
    posterior: Callable[[], Floats] = field(repr=False, compare=False)
    notes: tuple[str, ...] = ()

    @cached_property
    def attraction(self) -> Floats:
        """(P,) the posterior mean."""
        return self.posterior()

    @property
    def stderr(self) -> Floats:
        """(K,) the standard error of the curve."""
        return np.sqrt(np.maximum(np.diag(self.covariance), 0.0))


def fit_empirical(shown: ArrayLike, clicked: ArrayLike, *, tolerance: float = 1e-5) -> EmpiricalFit:
    """As `empirical_of`, from (P, K) counts.

    >>> fit = fit_empirical([[100, 100], [200, 50]], [[40, 20], [40, 5]])
    >>> fit.examination.round(2).tolist()
    [1.0, 0.51]
    """
    return empirical_of(tally_of(shown, clicked), tolerance=tolerance)


def empirical_of(counted: Tally, *, tolerance: float = 1e-5) -> EmpiricalFit:
    """The curve and the Beta prior that make the clicks most likely, whatever the attraction of single pairs is.

    Assumes the position-based model, a click at k having chance γ·e_k with e_1 = 1, and attractions γ that are drawn
    from Beta(α, β) for each pair, wherever it is shown. So thin logs do not mislead it, where maximum likelihood of
    each attraction collapses to e = 1. Biased where the logging policy puts attractive items first and the log is thin:
    what stands high attracts more than the prior says, and the curve comes out too steep. Compare it with
    `harvest_examination`.

    e_k lies in [1/8104, 8103/8104], α and β in [2⁻¹⁰, 2²⁰]; a note says where
    one ends on an edge. The covariance is the inverse of the sum over pairs of outer products of the score.

    Reference: Robbins, An empirical Bayes approach to statistics, 1956; for the model, Craswell et al., WSDM 2008.
    """
    cells, positions = counted.cells, counted.cells.depth
    at_position, clicks_at = (cells.by_position(each).astype(np.float64) for each in (counted.shown, counted.clicked))
    no_scale(at_position, clicks_at)
    columns = np.flatnonzero(clicks_at[:FITTED] > 0)
    tally = Alike.of_counts(counted, columns)
    rate = clicks_at[columns] / at_position[columns]
    curve = np.clip(rate / rate[0], 1e-3, 1 - 1e-3)
    mean = min(max(float(rate[0]), 1e-4), 0.9)
    start = np.concatenate([np.log(curve[1:] / (1 - curve[1:])), np.log([4 * mean, 4 * (1 - mean)])])
    low = np.concatenate([np.full(len(columns) - 1, -TOP), np.full(2, log(LOW))])
    high = np.concatenate([np.full(len(columns) - 1, TOP), np.full(2, log(HIGH))])
    if len(tally.places) > 4 * _FIRST:
        some = tally.sample(len(tally.places) // _FIRST)
        start = ascend(_Likelihood(some, len(columns)), start, low, high, 0.1, ITERATIONS).at
    likely = _Likelihood(tally, len(columns))
    climbed = ascend(likely, start, low, high, tolerance, ITERATIONS)
    if len(tally.places) <= _FEW or not climbed.converged:
        climbed = polished(likely, climbed, low, high)
    # the step that was left costs nothing, and ends nearer to the top than the last look was
    at = climbed.at if climbed.left is None else climbed.at + climbed.left
    curve, alpha, beta = parameters(at)

    examination = np.zeros(positions)
    examination[columns] = curve
    rest = np.arange(positions) >= FITTED
    below = np.divide(clicks_at, at_position, out=np.zeros(len(rest)), where=at_position > 0) * (alpha + beta) / alpha
    examination[rest] = np.minimum(below[rest], 1.0)
    covariance = np.zeros((positions, positions))
    covariance[np.ix_(columns[1:], columns[1:])] = _covariance(climbed.information, climbed.at, low, high)
    ends = (at <= low) | (at >= high)
    return EmpiricalFit(
        examination=examination,
        prior=(alpha, beta),
        posterior=lambda: _attractions(tally, curve, alpha, beta)[tally.of],
        covariance=covariance,
        log_likelihood=climbed.value,
        iterations=climbed.iterations,
        converged=climbed.converged,
        edge=bool(ends.any()),
        notes=(*never_clicked(at_position, clicks_at), *_notes(columns, ends, climbed.converged, bool(rest.any()))),
    )


def parameters(at: Floats) -> tuple[Floats, float, float]:
    """The curve, α and β."""
    alpha, beta = np.exp(at[-2:]).tolist()
    return np.concatenate([[1.0], 1.0 / (1.0 + np.exp(-at[:-2]))]), alpha, beta


@dataclass(frozen=True)
class _Likelihood:
    """The log-likelihood of a tally in logit e_2, …, log α, log β."""

    tally: Alike
    positions: int

    def __call__(self, at: Floats) -> tuple[float, Floats, Floats]:
        curve, alpha, beta = parameters(at)
        own = self.tally
        prior = Prior(curve, alpha, beta)
        parts = [_Part.empty(self.positions + 2) for _ in range(2)]
        grouped = own.grouped()

        def run(part: _Part, begin: int, end: int, steps: Lattice) -> None:
            part.total += likelihood(begin, end, grouped, prior, steps, part.gradient, part.information)

        shared = [(begin, end, _lattice(own, begin, end, prior, step)) for begin, end, step in levels(own, alpha)]
        large = [own.starts[end] - own.starts[begin] > _WORTH for begin, end, _ in shared]

        def first() -> None:
            for (begin, end, steps), halved in zip(shared, large, strict=True):
                run(parts[0], begin, (begin + end) // 2 if halved else end, steps)

        def second() -> None:
            for (begin, end, steps), halved in zip(shared, large, strict=True):
                if halved:
                    run(parts[1], (begin + end) // 2, end, steps)

        if any(large):
            side_by_side(first, second)
        else:
            first()
        constant = lgamma(alpha + beta) - lgamma(alpha) - lgamma(beta)
        total = parts[0].total + parts[1].total + constant * float(own.count.sum())
        gradient = parts[0].gradient + parts[1].gradient
        lower = parts[0].information + parts[1].information
        information = lower + lower.T - np.diag(np.diag(lower))
        order = np.r_[3 : len(gradient), :2]
        scale = np.concatenate([1 - curve[1:], [alpha, beta]])  # of logit e, log α, log β
        return total, gradient[order] * scale, information[np.ix_(order, order)] * np.outer(scale, scale)


@dataclass
class _Part:
    total: float
    gradient: Floats
    information: Floats

    @classmethod
    def empty(cls, size: int) -> _Part:
        return cls(0.0, np.zeros(size), np.zeros((size, size)))


def levels(tally: Alike, alpha: float) -> list[tuple[int, int, float]]:
    """Patterns begin to end, and the step of the lattice that they take."""
    most = float(tally.clicks[-1]) if len(tally) else 0.0
    steps = steps_of(alpha + most)
    ends = np.searchsorted(tally.clicks, [FINE**2 / step**2 - alpha for step in steps[:-1]], side="right")
    edges = [0, *ends.tolist(), len(tally)]
    return [(edges[i], edges[i + 1], step) for i, step in enumerate(steps) if edges[i] < edges[i + 1]]


def _lattice(tally: Alike, begin: int, end: int, prior: Prior, step: float) -> Lattice:
    """What the integrands of patterns begin to end need: where they are few, that is little of a fine lattice."""
    size = round(2 * REACH / step)
    few = tally.starts[end] - tally.starts[begin] < size
    first, last = span(begin, end, tally.grouped(), prior, step) if few else (-size, size)
    found: Lattice = lattice(step, prior.curve, first, last)
    return found


def _attractions(tally: Alike, curve: Floats, alpha: float, beta: float) -> Floats:
    """(G,) the posterior mean of each pattern."""
    out, grouped = np.zeros(len(tally)), tally.grouped()
    prior = Prior(curve, alpha, beta)
    for begin, end, step in levels(tally, alpha):
        attractions(begin, end, grouped, prior, _lattice(tally, begin, end, prior, step), out)
    return out


def _covariance(information: Floats, at: Floats, low: Floats, high: Floats) -> Floats:
    """Of e_2, …: what is on an edge counts as known."""
    inside = np.flatnonzero((at > low) & (at < high))
    scale = 1.0 / np.sqrt(np.maximum(np.diag(information)[inside], 1e-12))
    matrix = information[np.ix_(inside, inside)] * np.outer(scale, scale)
    inverse = np.linalg.pinv(matrix, rcond=1e-9, hermitian=True) * np.outer(scale, scale)
    full = np.zeros((len(at), len(at)))
    full[np.ix_(inside, inside)] = inverse
    curve = parameters(at)[0][1:]
    slope = curve * (1 - curve)
    return np.asarray(full[:-2, :-2] * np.outer(slope, slope))


def _notes(columns: NDArray[np.int64], ends: NDArray[np.bool_], converged: bool, longer: bool) -> list[str]:
    said = []
    if ends[:-2].any():
        where = ", ".join(str(columns[1:][k] + 1) for k in np.flatnonzero(ends[:-2]))
        said.append(f"the examination of position {where} ended on an edge, 0 or 1: position 1 may not be the highest")
    if ends[-2:].any():
        said.append(
            f"the prior ended on an edge, α or β being {LOW:.3g} or {HIGH:,.0f}: pairs are too alike, or too few"
        )
    if longer:
        said.append(f"positions below {FITTED}: examination is the click rate over the mean attraction, not fitted")
    if not converged:
        said.append("the likelihood was still rising at the last iteration of the empirical Bayes fit")
    return said
