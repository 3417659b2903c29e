"""The special policy that does not trust few clicks: a Beta posterior per item, whose lower end is what ranks.

What clicks say of an item is shrunk to a prior: its mean is the general policy's, calibrated on the training clicks, or
one for all items where there is no general policy; its strength is the most likely one (empirical Bayes). Items are
ranked by a low quantile of the posterior (cief2024): with few clicks the order is that of the general policy.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from counterrank.ids import Codes
from counterrank.posterior.bounds import quantile
from counterrank.posterior.priors import choose_prior
from counterrank.records import dataclass

Vector = NDArray[np.float64]
DELTA = 0.2  # the quantile is δ/2
STRENGTHS = np.exp2(np.arange(-2.0, 16.25, 0.25))  # looks that a prior is worth
LEAST = 1e-6  # chance of a click that a prior may have
ROUNDS = 50


@dataclass(frozen=True)
class Shrunk:
    """Scores and what they were shrunk to."""

    scores: Vector  # (P,) the lower end of each posterior
    mean: Vector  # (P,) of the prior
    strength: float  # α + β


def shrunk(clicked: Codes, looked: Vector, starts: Codes, general: Vector | None) -> Shrunk:
    """From clicks and looks of pairs, those of query q being starts[q]:starts[q+1].

    `general` is what the general policy says of each pair, NaN where nothing; None: there is no such policy.
    Looks are the examination of all that was shown; where clicks are more than looks, all looks were clicks.
    """
    clicks = clicked.astype(np.float64)
    looks = np.maximum(looked, clicks)
    if general is None:
        prior = choose_prior("fit", clicks, looks, starts, "global")
        alpha, beta = prior.on(starts)
        return Shrunk(
            quantile(clicks, looks, DELTA / 2, alpha, beta), alpha / (alpha + beta), float(alpha[0] + beta[0])
        )
    mean = calibrated(general, clicks, looks)
    strength = _strength(clicks, looks, mean)
    lower = quantile(clicks, looks, DELTA / 2, mean * strength, (1 - mean) * strength)
    return Shrunk(lower, mean, strength)


def calibrated(score: Vector, clicks: Vector, looks: Vector) -> Vector:
    """(P,) the chance of a click that the score stands for: logit = a + b·score, by maximum likelihood on looks.

    Items without a score have the mean of all.

    >>> found = calibrated(np.array([0.0, 1.0, np.nan]), np.array([10.0, 30.0, 20.0]), np.array([100.0, 100.0, 100.0]))
    >>> found.round(3).tolist()
    [0.1, 0.3, 0.2]
    """
    known = np.isfinite(score)
    middle = float(np.clip(clicks.sum() / max(looks.sum(), 1.0), LEAST, 1 - LEAST))
    spread = float(np.std(score[known])) if known.any() else 0.0
    if spread <= 0:
        return np.full(len(score), middle)
    z = np.where(known, (np.where(known, score, 0.0) - np.mean(score[known])) / spread, 0.0)
    z = np.clip(z, -8.0, 8.0)
    n, c, x = looks[known], clicks[known], np.stack([np.ones(int(known.sum())), z[known]])
    fit = np.array([np.log(middle / (1 - middle)), 0.0])
    for _ in range(ROUNDS):
        p = 1 / (1 + np.exp(-(fit @ x)))
        slope = x @ (c - n * p) - np.array([0.0, 1e-6 * fit[1]])
        curve = (x * (n * p * (1 - p))) @ x.T + np.diag([1e-9, 1e-6])
        step = np.linalg.solve(curve, slope)
        step *= min(1.0, 2.0 / max(float(np.abs(step).max()), 1e-300))
        fit = fit + step
        if np.abs(step).max() < 1e-10:
            break
    fit[1] = max(fit[1], 0.0)  # a general policy that has it the wrong way round says nothing
    found = 1 / (1 + np.exp(-(fit[0] + fit[1] * z)))
    return np.where(known, np.clip(found, LEAST, 1 - LEAST), middle)


def _strength(clicks: Vector, looks: Vector, mean: Vector) -> float:
    """The most likely α + β, given the means: of the Beta-binomial likelihood, looks as trials."""
    from scipy.special import betaln

    seen = looks > 0
    c, n, m = clicks[seen], looks[seen], mean[seen]
    if not len(c):
        return float(STRENGTHS[len(STRENGTHS) // 2])
    best = [float((betaln(s * m + c, s * (1 - m) + n - c) - betaln(s * m, s * (1 - m))).sum()) for s in STRENGTHS]
    return float(STRENGTHS[int(np.argmax(best))])
