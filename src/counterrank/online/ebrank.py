"""EBRank: a Beta posterior whose prior comes from features, and a bonus where showing an item teaches most."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from counterrank.compiled import njit
from counterrank.online.memory import Memory, sums, totals
from counterrank.online.ranker import Options, Ranker
from counterrank.regress import PRIOR_MODELS, without_features


@njit(inline="always")
def posterior(rows, row, examination, by_exposure):  # type: ignore[no-untyped-def]
    """Estimate (eq. 10) and strength: (C + α) / (n + α + β), or by exposure (clicks + α) / (E + α + β)."""
    return believed(sums(rows, row, examination), rows.belief[row, 0], rows.belief[row, 1], by_exposure)


@njit(inline="always")
def believed(seen, alpha, beta, by_exposure):  # type: ignore[no-untyped-def]
    """The same of an item of which impressions, clicks, clicks / examination and exposure are known."""
    n, clicks, weighted, exposure = seen
    strength = exposure + alpha + beta
    if by_exposure > 0:
        return (clicks + alpha) / strength, strength
    return (weighted + alpha) / (n + alpha + beta), strength


@njit(nogil=True)
def score(rows, first, size, examination, params, key, out):  # type: ignore[no-untyped-def]
    """R̂ + ε·R̂ / (E + α + β)²: eqs. 10 to 12, by the raw value, which may be above 1."""
    for i in range(size):
        estimate, strength = posterior(rows, first + i, examination, params[1])
        out[i] = estimate + params[0] * estimate / (strength * strength)


class EBRank(Ranker):
    """Sorts by R̂ + ε·MC (eq. 12), R̂ = (C + α)/(n + α + β), MC = R̂/(E + α + β)².

    Assumes position-based users whose examination is known, and that items with like features attract alike. R̂ is drawn
    towards the prior while there are few clicks. MC is the slope of an upper bound on Var[R̂] from which 1/ρ_min was
    dropped (§4.4); `ebrank-exact` has the variance itself. Reference: ebrank2023, algorithm 1.
    """

    name: ClassVar[str] = "ebrank"
    says: ClassVar[str] = "posterior mean with a prior from features, plus marginal certainty"
    exploration: ClassVar[float] = 20.0
    grid: ClassVar[tuple[float, ...]] = (0.0, 5.0, 10.0, 20.0, 35.0, 50.0, 100.0, 200.0, 500.0)
    score = score

    def __init__(self, options: Options) -> None:
        super().__init__(options)
        self.model = PRIOR_MODELS[options.model](options.beta)
        self.plain = (1.0, self.model.beta)  # the prior of items without features

    def fit(self, memory: Memory) -> None:
        seen = self.training(memory)
        self.model.fit(seen, self.validation(memory))
        if np.isnan(seen.x).all(axis=1).any() or not memory.names:
            self.plain = without_features(seen)

    def beliefs(self, features: NDArray[np.float64]) -> NDArray[np.float64]:
        """α and β."""
        out = np.empty((len(features), 2))
        out[:, 0], out[:, 1] = self.model.alpha(features), self.model.beta
        if not features.shape[1]:
            out[:] = self.plain
        else:
            out[np.isnan(features).all(axis=1)] = self.plain
        return out

    def uncertainty(self, memory: Memory, queries: NDArray[np.int64]) -> float | None:
        """With Var[R̂] ≈ R̂/(E + α + β), the bound of §4.4 without its constant 1/ρ_min."""
        at = memory.rows_of(queries)
        n, clicks, weighted, exposure = totals(memory.rows, at, self.options.examination).T
        prior = memory.rows.belief[at].sum(axis=1)
        by_exposure = self.options.evidence == "exposure"
        hits, looks = (clicks, exposure) if by_exposure else (weighted, n)
        estimate = (hits + memory.rows.belief[at, 0]) / (looks + prior)
        return float((estimate / (exposure + prior)).sum() / max(len(queries), 1))
