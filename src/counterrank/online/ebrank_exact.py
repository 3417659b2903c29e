"""EBRank whose bonus is the fall of the variance itself, not of its bound."""

from __future__ import annotations

from typing import ClassVar

from counterrank.compiled import njit
from counterrank.online.ebrank import EBRank, posterior
from counterrank.online.memory import sums


@njit(nogil=True)
def exact(rows, first, size, examination, params, key, out):  # type: ignore[no-untyped-def]
    """R̂ + ε·(the fall of Var[R̂] by one more look at the first position)."""
    for i in range(size):
        row = first + i
        n, _, _, _ = sums(rows, row, examination)
        alpha, beta = rows.belief[row, 0], rows.belief[row, 1]
        estimate, strength = posterior(rows, row, examination, params[1])
        mean = min(max(estimate, 0.0), 1.0)
        if params[1] > 0:
            # a Beta of this strength: mean·(1 − mean) / (strength + 1)
            now, then = mean * (1 - mean) / (strength + 1), mean * (1 - mean) / (strength + 2)
        else:
            spread = mean * (1.0 - mean) * (alpha + beta)  # the prior's own part, as of α + β looks
            for k in range(len(examination)):
                spread += rows.shown[row, k] * mean * (1.0 - examination[k] * mean) / examination[k]
            total = n + alpha + beta
            now = spread / (total * total)
            more = spread + mean * (1.0 - examination[0] * mean) / examination[0]
            then = more / ((total + 1.0) * (total + 1.0))
        out[i] = estimate + params[0] * (now - then)


class ExactVariance(EBRank):
    """EBRank with the fall of Var[R̂] = Σρ⁻²Var[c]/(n + α + β)² by one more look in place of eq. 11.

    A prior of strength α + β counts as that many looks, so that an item never shown has a variance too.
    """

    name: ClassVar[str] = "ebrank-exact"
    says: ClassVar[str] = "EBRank with the exact variance in its bonus"
    exploration: ClassVar[float] = 20.0
    score = exact
