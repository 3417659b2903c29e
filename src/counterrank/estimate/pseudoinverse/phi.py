"""What each item at each position adds to its page: φ̂ = Γ†θ̂, the pseudoinverse estimate of swaminathan2017."""

from __future__ import annotations

from dataclasses import field

import numpy as np

from counterrank.estimate.pseudoinverse import known as pi_known
from counterrank.estimate.pseudoinverse.gamma import LogGamma
from counterrank.estimate.pseudoinverse.page import ill_conditioned
from counterrank.records import dataclass
from counterrank.setting.evidence import LogEvidence
from counterrank.statistics.pairs import Table


@dataclass(frozen=True)
class Phi:
    """φ̂ of every (pair, position), and the chance that the logging policy shows the pair there.

    φ̂ is the least of all tables that explain the rewards equally well: what positions share by nature (a constant that
    moves from one to the other) is not told apart. Where the chance is 0 nothing is known, and φ̂ is 0.
    """

    values: Table  # (P, K)
    shown: Table  # (P, K)
    notes: list[str] = field(default_factory=list)


def page_credits(evidence: LogEvidence) -> Phi:
    """θ̂(a, j) is the mean over a query's impressions of reward·1{a at j}; Γ is of the log's shares, or as given.

    Σⱼ φ̂(aⱼ, j) is what `pi` estimates for the sure ranking (a₁, …, a_K).
    """
    counts, cells = evidence.counts, evidence.cells
    if evidence.shares:
        shares = counts.shown / counts.impressions[counts.cell_queries]
        gamma = LogGamma(counts, shares)
        values = gamma.phi + counts.origin * gamma.u  # Γ†·shares is the φ̂ of a reward of 1
        return Phi(cells.dense(values), cells.dense(shares), ill_conditioned(evidence, gamma.condition))
    known = pi_known.solve(evidence, pi_known.mean_reward(evidence), everywhere=True)
    shown = evidence.logging.marginals()
    said = ill_conditioned(evidence, known.condition)
    if known.drawn.any():
        said.append("chances of two items at once were drawn, not summed: what is learnt has some of their noise")
    outside = float(counts.shown[evidence.shown_by_logging <= 0].sum() / max(counts.shown.sum(), 1))
    if outside > 0:
        said.append(
            f"{outside:.1%} of what the log shows is never shown by the given logging policy: is it the right one?"
        )
    return Phi(np.where(shown > 0, known.u.reshape(shown.shape), 0.0), shown, said)
