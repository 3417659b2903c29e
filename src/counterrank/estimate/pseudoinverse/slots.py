"""The pseudoinverse where each position has items of its own, filled independently: no matrix.

Let slot j of L have chances μ_j > 0 on its n_j items. Γ is μ_j(a) on its diagonal, 0 for two items of one slot and
μ_j(a)·μ_k(b) for items of two. Its null space is spanned by vectors that are a constant c_j on slot j, with Σc_j = 0.
So q is first freed of those, which leaves the same total t in every slot; then, on slots of equal totals,

    Γu = q   for   u(a, j) = q(a, j)/μ_j(a) − t·(L−1)/L,

and freeing u of the null space as well gives Γ†q. If q is a policy's on these slots, t = 1 and a page weighs
Σ_j q(a_j, j)/μ_j(a_j) − L + 1. For equal chances this is proposition 3 of swaminathan2017; it holds for all.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from counterrank.estimate.base import Vector
from counterrank.ids import Codes
from counterrank.policy.product import BoundSlots
from counterrank.setting.evidence import ROUNDING
from counterrank.statistics.pairs import sum_by


class Shown(Protocol):
    """A q of every query, as `known.Shown`."""

    def at(self, rows: Codes, positions: Codes) -> Vector: ...

    def squares(self) -> Vector: ...


def solve(logging: BoundSlots, target: Shown) -> tuple[Vector, Vector]:
    """Γ†q of the items that can be shown, `logging.rows`, each at its own position; and numbers of each query, (6, Q).

    These are qᵀΓ†q, ‖(I − ΓΓ†)q‖², the largest |weight|, κ, a bound on the condition number, and 0. κ compares with
    pages uniform over the product of the slots' items. The condition number is at most L·max μ/min μ, since
    Γ = D^½MD^½ with D = diag(μ) and an M whose eigenvalues are 0, 1 and L.
    """
    size, depth = len(logging.pairs.query_ids), logging.pairs.positions
    rows, slots, mu = logging.rows, logging.slots, logging.chance_of[logging.rows]
    of_slot, query = slots % depth, slots // depth
    shown, found, out = np.empty(len(rows)), np.zeros((6, size)), target.squares()
    found[2] = np.where(logging.shown > 0, 0.0, np.nan)
    rising = np.argsort(rows)
    shown[rising] = target.at(rows[rising], of_slot[rising])
    whole = out[rows]
    out[rows] = np.where(whole - shown**2 > ROUNDING * whole, whole - shown**2, 0.0)  # at other positions
    found[1] = sum_by(logging.pairs.queries, out, size)
    if len(rows) == 0:
        return shown, found
    items = np.bincount(slots, minlength=size * depth).astype(np.float64)  # n_j
    places = np.maximum(logging.shown, 1)

    def freed(values: Vector) -> tuple[Vector, Vector]:
        """Without the null space, and the total that is left in every slot of a query."""
        share = np.divide(1.0, items, out=np.zeros_like(items), where=items > 0).reshape(size, depth)
        totals = sum_by(slots, values, size * depth)
        level = (totals.reshape(size, depth) * share).sum(axis=1) / np.where(logging.shown > 0, share.sum(axis=1), 1.0)
        return values - ((totals - np.repeat(level, depth)) * share.ravel())[slots], level

    kept, level = freed(shown)
    weight, _ = freed(kept / mu - (level * (places - 1) / places)[query])
    found[0] = sum_by(query, kept * weight, size)
    found[1] += sum_by(query, (shown - kept) ** 2, size)
    heads = np.flatnonzero(np.r_[True, slots[1:] != slots[:-1]])
    of_head = query[heads]
    high = sum_by(of_head, np.maximum.reduceat(weight, heads), size)
    low = sum_by(of_head, np.minimum.reduceat(weight, heads), size)
    found[2] += np.maximum(high, -low)
    found[3] = np.where(sum_by(logging.pairs.queries, out, size) > 0, 0.0, _kappa(logging, mu, heads))
    top, least = np.zeros(size), np.full(size, np.inf)
    np.maximum.at(top, query, mu)
    np.minimum.at(least, query, mu)
    found[4] = places * top / least
    return weight, found


def _kappa(logging: BoundSlots, mu: Vector, heads: Codes) -> Vector:
    """The least μ_j(a)·μ_k(b)·m_j·m_k over two slots; of one slot alone, the least μ(a)·m."""
    least = np.full(logging.sizes.size, np.inf)
    least[logging.slots[heads]] = np.minimum.reduceat(mu, heads)
    count = np.diff(logging.starts)
    ratio = np.where(count < logging.sizes.ravel(), 0.0, least * logging.sizes.ravel())
    two = np.sort(ratio.reshape(logging.sizes.shape), axis=1)[:, :2]
    two = np.where(np.isfinite(two), two, 1.0)
    return np.asarray(np.where(logging.shown > 0, two.prod(axis=1), 0.0))
