"""How far down users look: the examination curve of the position-based model, by maximum likelihood."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from counterrank.click.base import Floats
from counterrank.click.profile import em_step, gradient_and_curvature, maximise_attraction
from counterrank.errors import InputError, Unanswerable
from counterrank.records import dataclass
from counterrank.statistics.cells import Cells, Tally

_RIDGE = 1e-9  # relative to the curvature's diagonal
_TRIALS = 20


@dataclass(frozen=True, kw_only=True)
class ExaminationFit:
    """One curve for the whole log, and each pair's attraction on that scale."""

    examination: Floats  # (K,) 1 at position 1; 0 where a position was never shown or never clicked (see notes)
    attraction: Floats  # (P,) the chance of a click at position 1
    log_likelihood: float
    iterations: int
    converged: bool
    linked: NDArray[np.bool_]  # (K,) False: no clicked pair ties the position to position 1, its height is a guess
    notes: tuple[str, ...] = ()
    covariance: Floats | None = None  # (K, K) of the curve; NaN at positions of which it is not known

    @property
    def stderr(self) -> Floats:
        """(K,) the standard error of the curve."""
        assert self.covariance is not None  # noqa: S101 - fits give it
        return np.sqrt(np.maximum(np.diag(self.covariance), 0.0))


def fit_examination(
    shown: ArrayLike, clicked: ArrayLike, *, tolerance: float = 1e-8, max_iterations: int = 1000
) -> ExaminationFit:
    """The examination of each position and the attraction of each pair that make the clicks most likely.

    Assumes the position-based model: a click at k has chance a_p · e_k, with one curve e for all pairs. Maximises
    Σ clicked · log(a_p e_k) + (shown − clicked) · log(1 − a_p e_k) over a, e in [0, 1], then divides e by e_1. In
    log a, log e this is concave, so expectation–maximisation climbs to the one top, but slowly: here each attraction is
    solved for exactly and the curve jumps by Newton steps inside the box, shortened until the likelihood rises; failing
    that, the step of expectation–maximisation for the curve is taken in its place, which never lowers it.

    Biased where the model is wrong (for instance cascading users), and says nothing on positions that no clicked pair
    ties to position 1: those keep the ratio of their click-through rates, and `linked` is False.

    `shown` and `clicked` are (P, K) counts; `tolerance` is the rise of the log-likelihood not worth another step.

    >>> fit = fit_examination([[100, 100], [200, 50]], [[40, 20], [40, 5]])
    >>> fit.examination.round(6).tolist(), fit.attraction.round(6).tolist()
    ([1.0, 0.5], [0.4, 0.2])

    Reference: Chuklin, Markov and de Rijke, Click Models for Web Search, 2015, section 4.3; Wang et al., WSDM 2018.
    """
    n, c = checked_counts(shown, clicked)
    pairs, positions = n.shape
    at_position, clicks_at = n.sum(axis=0), c.sum(axis=0)
    no_scale(at_position, clicks_at)
    # A pair without clicks fits best at attraction 0, a position without clicks at examination 0: both then add 0.
    rows, columns = np.flatnonzero(c.any(axis=1)), np.flatnonzero(clicks_at > 0)
    hits = np.ascontiguousarray(c[np.ix_(rows, columns)])
    missed = np.ascontiguousarray(n[np.ix_(rows, columns)]) - hits
    rate = clicks_at[columns] / at_position[columns]
    climbed = _climb(hits, missed, 0.9 * rate / rate.max(), tolerance, max_iterations)

    examination, attraction = np.zeros(positions), np.zeros(pairs)
    examination[columns] = climbed.examination / climbed.examination[0]
    attraction[rows] = climbed.attraction * climbed.examination[0]
    linked = _linked(n[rows] > 0)
    return ExaminationFit(
        examination=examination,
        attraction=attraction,
        log_likelihood=climbed.log_likelihood,
        iterations=climbed.iterations,
        converged=climbed.converged,
        linked=linked,
        notes=_notes(at_position, clicks_at, linked, climbed.converged),
        covariance=_covariance(climbed, hits, missed, columns, examination),
    )


def on_curve(spread: Floats, curve: Floats) -> Floats:
    """The covariance of a curve from that of its logarithms."""
    return np.asarray(spread * np.outer(curve, curve))


def _covariance(climbed: _Climb, hits: Floats, missed: Floats, columns: NDArray[np.int64], curve: Floats) -> Floats:
    """By the bend of the likelihood at its top, the first position being fixed."""
    k = len(columns)
    bend = np.empty((k, k))
    gradient_and_curvature(hits, missed, climbed.examination, climbed.attraction, np.empty(k), bend, np.empty(k))
    spread = np.full((len(curve), len(curve)), np.nan)
    spread[0], spread[:, 0] = 0.0, 0.0
    spread[np.ix_(columns[1:], columns[1:])] = np.linalg.pinv(bend[1:, 1:], rcond=1e-12, hermitian=True)
    return on_curve(spread, curve)


@dataclass
class _Climb:
    examination: Floats
    attraction: Floats
    log_likelihood: float
    iterations: int = 0
    converged: bool = False


def _climb(clicked: Floats, missed: Floats, start: Floats, tolerance: float, max_iterations: int) -> _Climb:
    clicks = clicked.sum(axis=1)
    attraction = np.full(len(clicks), 0.5)
    at = _Climb(start, attraction, maximise_attraction(clicked, missed, clicks, start, attraction))
    k = len(start)
    gradient, curvature, diagonal = np.empty(k), np.empty((k, k)), np.empty(k)
    ridge = _RIDGE
    while at.iterations < max_iterations:
        at.iterations += 1
        gradient_and_curvature(clicked, missed, at.examination, at.attraction, gradient, curvature, diagonal)
        log_curve = np.log(at.examination)
        if _newton(log_curve, gradient, curvature, diagonal, _RIDGE)[1] <= max(
            tolerance, 1e-15 * abs(at.log_likelihood)
        ):
            at.converged = True
            break
        for _ in range(_TRIALS):
            step, gain = _newton(log_curve, gradient, curvature, diagonal, ridge)
            curve = np.minimum(at.examination * np.exp(step), 1.0)
            attraction = at.attraction.copy()
            log_likelihood = maximise_attraction(clicked, missed, clicks, curve, attraction)
            if log_likelihood >= at.log_likelihood + 0.1 * gain:
                ridge = max(ridge / 100, _RIDGE)
                break
            ridge *= 10  # too bold: a shorter step, nearer to the gradient
        else:
            em_step(clicked, missed, at.examination, at.attraction, curve)
            log_likelihood = maximise_attraction(clicked, missed, clicks, curve, attraction)
        at.examination, at.attraction, at.log_likelihood = curve, attraction, log_likelihood
    return at


def _newton(
    log_curve: Floats, gradient: Floats, curvature: Floats, diagonal: Floats, ridge: float
) -> tuple[Floats, float]:
    """The step that maximises the quadratic model inside log e ≤ 0, and the rise that the model promises.

    With s = −log e − step ≥ 0 that is a non-negative least squares problem. The curve's scale is flat, hence the ridge.
    """
    scale = 1.0 / np.sqrt(np.maximum(diagonal, 1e-6))
    matrix = curvature * np.outer(scale, scale)
    matrix = 0.5 * (matrix + matrix.T) + ridge * np.eye(len(scale))
    slope, room = gradient * scale, -log_curve / scale
    upper: Floats = np.asarray(np.linalg.cholesky(matrix).T, dtype=np.float64)
    slack = _not_negative(matrix, upper, matrix @ room - slope)
    step = room - slack
    return step * scale, float(slope @ step - 0.5 * step @ matrix @ step)


def _not_negative(matrix: Floats, upper: Floats, wanted: Floats) -> Floats:
    """The x ≥ 0 with the least ½ x'Ax − b'x, A being positive definite and `upper` its Cholesky factor.

    Free the one that would gain most, solve for those that are free, and go back to the edge where one would cross it
    (Lawson and Hanson, Solving Least Squares Problems, 1974). Solved once more by least squares with the factor, which
    is the more exact.
    """
    at, free = np.zeros(len(wanted)), np.zeros(len(wanted), dtype=bool)
    right = np.linalg.solve(upper.T, wanted)
    small = 10 * np.finfo(float).eps * max(np.abs(matrix).sum(axis=0).max(), 1.0) * len(wanted)
    for _ in range(3 * len(wanted)):
        gain = np.where(free, -np.inf, wanted - matrix @ at)
        if gain.max(initial=-np.inf) <= small:
            break
        free[int(np.argmax(gain))] = True
        while free.any():
            there = np.zeros(len(wanted))
            there[free] = np.linalg.lstsq(upper[:, free], right, rcond=None)[0]
            crossing = free & (there <= 0)
            if not crossing.any():
                at = there
                break
            from_edge, fall = at[crossing], (at - there)[crossing]
            share = np.divide(from_edge, fall, out=np.zeros_like(fall), where=fall > 0)  # on the edge already: none
            at += share.min() * (there - at)
            free &= at > small
            at[~free] = 0.0
    return at


def no_scale(at_position: Floats, clicks_at: Floats) -> None:
    """Refuse counts whose first position says nothing: a curve is relative to it."""
    for counts, lacks in ((at_position, "was never shown"), (clicks_at, "has no clicks")):
        if len(counts) == 0 or counts[0] == 0:
            raise Unanswerable(f"position 1 {lacks}, so the examination curve has no scale: give `examination` numbers")


def checked_counts(shown: ArrayLike, clicked: ArrayLike) -> tuple[Floats, Floats]:
    n, c = np.asarray(shown, dtype=np.float64), np.asarray(clicked, dtype=np.float64)
    check_counts(n, c)
    return n, c


def tally_of(shown: ArrayLike, clicked: ArrayLike) -> Tally:
    """(P, K) counts, checked, as cells."""
    n, c = np.asarray(shown), np.asarray(clicked)
    check_counts(n, c)
    cells, (some, hits) = Cells.of_tables(n, c)
    return Tally(cells, some.astype(np.int64), hits.astype(np.int64))


def check_counts(n: NDArray[Any], c: NDArray[Any]) -> None:
    """Refuse what cannot be counts of impressions and clicks."""
    if n.ndim != 2 or n.shape != c.shape:
        raise InputError(
            f"shown has shape {n.shape} and clicked {c.shape}: give two (pairs, positions) arrays of counts"
        )
    if not (np.isfinite(n).all() and (c >= 0).all() and (c <= n).all()):
        raise InputError("counts must be finite with 0 ≤ clicked ≤ shown everywhere: check how they were added up")


def _linked(seen: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Whether each position shares a clicked pair with position 1, directly or by way of other positions."""
    together = (seen.astype(np.float64).T @ seen) > 0
    found = np.zeros(len(together), dtype=bool)
    found[:1] = True
    while (more := found | together[found].any(axis=0)).sum() > found.sum():
        found = more
    return found


def never_clicked(at_position: Floats, clicks_at: Floats) -> list[str]:
    """What to say of positions without clicks."""
    cases = [
        (at_position == 0, "nobody was shown position {}: no data, examination taken as 0"),
        ((at_position > 0) & (clicks_at == 0), "position {} was never clicked: examination 0"),
    ]
    return [_at(which, text) for which, text in cases if which.any()]


def _at(which: NDArray[np.bool_], text: str) -> str:
    return text.format(", ".join(str(k + 1) for k in np.flatnonzero(which)))


def _notes(at_position: Floats, clicks_at: Floats, linked: NDArray[np.bool_], converged: bool) -> tuple[str, ...]:
    notes = never_clicked(at_position, clicks_at)
    if ((clicks_at > 0) & ~linked).any():
        notes.append(
            _at(
                (clicks_at > 0) & ~linked,
                "no clicked item was shown both at position {} and at positions tied to 1: "
                "its examination is only a ratio of click-through rates",
            )
        )
    if not converged:
        notes.append("the likelihood was still rising at the last iteration: allow more iterations")
    return tuple(notes)
