"""How much each position counts: the model's scores, scaled to each position's φ̂."""

from __future__ import annotations

import numpy as np

from counterrank.optimizing.pi_opt.examples import Examples, Vector

LEAST = 1e-6  # of the largest gain
ROUNDING = 1e-9  # scores of a query that differ by less of their size are one score


def slot_gains(examples: Examples, score: Vector) -> Vector:
    """v with φ(a, j) ≈ vⱼ·score(a) within each query; all 1 where the scores say nothing of φ̂, or are all alike.

    Each vⱼ is a regression through 0 of φ̂ on scores that were learnt from other queries. It is drawn towards the gain
    of all positions together by as much as its standard error, with queries as units, asks for (a normal prior whose
    variance is what the vⱼ differ by beyond their errors). What ends below 0 is next to 0: there the best of the items
    that are left still stand in order.
    """
    positions = examples.phi.shape[1]
    x = examples.centred(np.repeat(score[:, None], positions, axis=1))
    y = examples.centred(examples.phi)
    along, square = examples.sums(examples.weight * x * y), examples.sums(examples.weight * x * x)
    whole = square.sum(axis=0)
    size = examples.sums(examples.weight * score[:, None] ** 2).sum(axis=0)
    used = whole > ROUNDING**2 * size
    if not used.any() or along.sum() <= 0:
        return np.ones(positions)
    together = along.sum() / whole.sum()
    gain, error2 = np.zeros(positions), np.zeros(positions)
    gain[used] = along.sum(axis=0)[used] / whole[used]
    error2[used] = ((along - gain * square)[:, used] ** 2).sum(axis=0) / whole[used] ** 2
    spread = max(float(((gain - together)[used] ** 2).mean() - error2[used].mean()), 0.0)
    trust = np.divide(spread, spread + error2, out=np.zeros(positions), where=used & (spread + error2 > 0))
    shrunk = together + trust * (gain - together)
    return np.asarray(np.maximum(shrunk, LEAST * shrunk.max()))
