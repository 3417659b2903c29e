"""Features on one scale, and the directions in which they differ within queries."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from counterrank.compiled import njit
from counterrank.learning.examples import Examples, Matrix, Vector
from counterrank.policy.scorer import Linear
from counterrank.records import dataclass

CONSTANT = 1e-12  # a feature that varies by less than this share of its size is constant: the rest is rounding
MOST_ROWS = 100_000  # rows that tell how features vary together


@dataclass(frozen=True)
class Scale:
    """z = (x − mean) / scale; a constant feature has scale 0, and z = 0."""

    mean: Vector
    scale: Vector

    @classmethod
    def of(cls, features: Matrix) -> Scale:
        """Mean and standard deviation of each column.

        >>> Scale.of(np.array([[1.0, 7.0], [3.0, 7.0]]))
        Scale(mean=array([2., 7.]), scale=array([1., 0.]))
        """
        unit = np.abs(features).max(axis=0, initial=0.0)
        unit[unit == 0] = 1.0  # numbers are divided by it first, so that no square overflows
        mean, scale = np.zeros(len(unit)), np.zeros(len(unit))
        _spread(features, unit, mean, scale)
        return cls(mean * unit, np.where(scale > CONSTANT, scale * unit, 0.0))

    def apply(self, features: Matrix) -> NDArray[np.float32]:
        """The rows on one scale, in 32 bits: half the memory, and twice as many at a time."""
        out = np.empty(features.shape, dtype=np.float32)
        _scaled(features, self.mean, self.scale, out)
        return out

    def linear(self, names: list[str], weights: Vector) -> Linear:
        """The policy with these weights of features on one scale; a constant feature has none."""
        return Linear(names, np.where(self.scale > 0, weights, 0.0), self.mean, self.scale)


@njit(nogil=True)
def _spread(features: Any, unit: Any, mean: Any, scale: Any) -> None:  # pragma: no cover
    rows, width = features.shape
    for i in range(rows):
        for f in range(width):
            mean[f] += features[i, f] / unit[f]
    mean /= max(rows, 1)
    for i in range(rows):
        for f in range(width):
            scale[f] += (features[i, f] / unit[f] - mean[f]) ** 2
    for f in range(width):
        scale[f] = np.sqrt(scale[f] / max(rows, 1))


@njit(nogil=True)
def _scaled(features: Any, mean: Any, scale: Any, out: Any) -> None:  # pragma: no cover
    rows, width = features.shape
    inverse = np.zeros(width)
    for f in range(width):
        if scale[f] > 0:
            inverse[f] = 1.0 / scale[f]
    for i in range(rows):
        for f in range(width):
            out[i, f] = (features[i, f] - mean[f]) * inverse[f]


@dataclass(frozen=True)
class Directions:
    """Directions of features along which scores vary about alike within queries: weights = turn @ u.

    Features of documents go together (the 46 of MQ2007 in about 12 directions), and steps that are right for the widest
    direction are tiny for the others. `floor`: directions narrower than this share of the widest are not stretched
    further.
    """

    turn: Matrix  # (F, F)
    stiffness: Vector  # (F,) of |weights|² ∝ Σ stiffness · u²; 1 for the widest

    @classmethod
    def of(cls, examples: Examples, rows: NDArray[np.float32], floor: float) -> Directions:
        """From the rows, scaled, of these examples; from the first of them where there are very many."""
        stop = int(np.searchsorted(examples.starts, MOST_ROWS, side="right")) - 1
        starts = examples.starts[: max(stop, 1) + 1]
        some, sizes = rows[: starts[-1]], np.diff(starts)
        means = np.add.reduceat(some, starts[:-1][sizes > 0], axis=0) / sizes[sizes > 0, None].astype(np.float32)
        centred = some - np.repeat(means, sizes[sizes > 0], axis=0)
        widths, axes = np.linalg.eigh((centred.T @ centred).astype(np.float64) / max(len(some), 1))
        widest = max(float(widths.max(initial=0.0)), np.finfo(float).tiny)
        narrow = np.maximum(widths, 0.0) + floor * widest
        return cls(axes / np.sqrt(narrow), widest * (1.0 + floor) / narrow)
