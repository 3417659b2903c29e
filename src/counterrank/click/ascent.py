"""The top of a likelihood inside a box: steps that learn its curvature on the way, beginning from the information."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from counterrank.click.base import Floats
from counterrank.records import dataclass

Objective = Callable[[Floats], tuple[float, Floats, Floats]]  # the value, its gradient, and the information

_RIDGE = 1e-8  # relative to the information's diagonal: what the data do not tell stays where it is
_STRIDE = 2.0  # the longest step of a parameter
_TRIALS = 30
_POLISHES = 60
_LEVEL = 1e-4  # a slope that counts as none
_APART = 1e-4  # of the places between which a gradient's fall is measured


@dataclass(kw_only=True)
class Ascent:
    """Where the climb is, and how it went."""

    at: Floats
    value: float
    gradient: Floats
    information: Floats  # there: the sum of outer products of the gradient's terms
    left: Floats | None = (
        None  # the step that would have followed, where the climb ended as it promised next to nothing
    )
    iterations: int = 0
    converged: bool = False


def ascend(objective: Objective, start: Floats, low: Floats, high: Floats, tolerance: float, most: int) -> Ascent:
    """The nearest top with low ≤ x ≤ high. Ends when a step promises a rise of less than `tolerance`.

    Newton steps with the information for the curvature (Berndt, Hall, Hall and Hausman), which is put right by what
    each step shows of it (Broyden, Fletcher, Goldfarb and Shanno). A step is halved until the value rises.
    """
    at = _looked(objective, np.clip(start, low, high))
    bend, afresh = at.information + np.eye(len(start)), False  # few terms tell of few directions
    while at.iterations < most:
        at.iterations += 1
        free = ~(((at.at <= low) & (at.gradient < 0)) | ((at.at >= high) & (at.gradient > 0)))
        step = np.zeros(len(at.at))
        step[free] = _solved(bend[np.ix_(free, free)], at.gradient[free])
        gain = 0.5 * float(at.gradient @ step)
        if not free.any() or gain <= max(tolerance, 1e-13 * abs(at.value)):
            at.converged, at.left = True, np.clip(at.at + step, low, high) - at.at
            break
        found = _shortened(objective, at, np.clip(step, -_STRIDE, _STRIDE), low, high)
        if found is None:
            at.converged = gain <= 1e-9 * abs(at.value)  # no higher: what is left is rounding
            if at.converged or afresh:
                break
            bend, afresh = np.diag(np.maximum(np.diag(at.information), 1.0)), True
            continue
        afresh = False
        _learn(bend, found.at - at.at, at.gradient - found.gradient)
        found.iterations = at.iterations
        at = found
    return at


def _looked(objective: Objective, there: Floats) -> Ascent:
    value, gradient, information = objective(there)
    return Ascent(at=there, value=value, gradient=gradient, information=information)


def polished(objective: Objective, at: Ascent, low: Floats, high: Floats) -> Ascent:
    """The same with a curvature that takes no information on trust, from differences of the gradient: for few terms,
    of which that tells little, and of which a gradient costs next to nothing."""
    at.left = None
    for _ in range(_POLISHES):
        free = ~(((at.at <= low) & (at.gradient < 0)) | ((at.at >= high) & (at.gradient > 0)))
        if not free.any() or np.abs(at.gradient[free]).max() <= _LEVEL:
            at.converged = True
            break
        step = np.zeros(len(at.at))
        step[free] = _uphill(_curvature(objective, at.at, free, low, high), at.gradient[free])
        found = _shortened(objective, at, np.clip(step, -_STRIDE, _STRIDE), low, high)
        if found is None or found.value - at.value <= 1e-13 * abs(at.value):
            at.converged = True  # what is left is rounding
            break
        found.iterations = at.iterations + 1
        at = found
    return at


def _curvature(objective: Objective, at: Floats, free: NDArray[np.bool_], low: Floats, high: Floats) -> Floats:
    """How much the gradient falls with each free parameter, from two places beside it, inside the box."""
    rows = []
    for number in np.flatnonzero(free):
        one, other = at.copy(), at.copy()
        one[number], other[number] = max(at[number] - _APART, low[number]), min(at[number] + _APART, high[number])
        rows.append((objective(one)[1] - objective(other)[1])[free] / (other[number] - one[number]))
    bend = np.stack(rows)
    return np.asarray((bend + bend.T) / 2)


def _uphill(bend: Floats, slope: Floats) -> Floats:
    """A step of Newton's that goes up wherever it starts: what bends upwards counts as bending down."""
    values, vectors = np.linalg.eigh(bend)
    size = np.maximum(np.abs(values), max(1e-9 * float(np.abs(values).max()), 1e-12))
    return np.asarray(vectors @ ((vectors.T @ slope) / size))


def _solved(bend: Floats, slope: Floats) -> Floats:
    scale = 1.0 / np.sqrt(np.maximum(np.diag(bend), 1e-12))
    matrix = bend * np.outer(scale, scale) + _RIDGE * np.eye(len(scale))
    return np.asarray(scale * np.linalg.solve(matrix, scale * slope))


def _shortened(objective: Objective, at: Ascent, step: Floats, low: Floats, high: Floats) -> Ascent | None:
    for _ in range(_TRIALS):
        there = np.clip(at.at + step, low, high)
        found = _looked(objective, there)
        if found.value >= at.value + 1e-4 * float(at.gradient @ (there - at.at)):
            return found
        step = step / 2
    return None


def _learn(bend: Floats, moved: Floats, fell: Floats) -> None:
    """Put the curvature right: along the step the gradient fell by `fell`."""
    along, was = float(moved @ fell), bend @ moved
    if along > 1e-10 * float(np.linalg.norm(moved) * np.linalg.norm(fell)):
        bend += np.outer(fell, fell) / along - np.outer(was, was) / float(moved @ was)
