"""Expectation–maximisation with longer strides: squared extrapolation that never goes downhill."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field

import numpy as np

from counterrank.click.base import Floats
from counterrank.records import dataclass

_EDGE = 1e-12
_FAR = float(np.log(1 / _EDGE))  # logits further out are not strode to: chances of 0 and 1 would never be left
_LONGEST = 256.0


@dataclass
class Climb:
    """`step` improves the parameters (chances) in place and gives the objective where they were before.

    Two plain steps tell where the sequence is heading; a stride goes there at once, in logits, so that chances stay
    chances. If the objective is lower there than before the second step, the plain step is taken after all. So every
    value in `trace` is at least the one before it.
    Reference: Varadhan and Roland, Scandinavian Journal of Statistics 2008 (SQUAREM).
    """

    step: Callable[[], float]
    parameters: Sequence[Floats]
    trace: list[float] = field(default_factory=list)
    converged: bool = False

    def run(self, iterations: int, tolerance: float, strides: bool = True) -> None:
        done = 0
        while done < iterations:
            start = self._taken()
            if self._settled(self.step(), tolerance):
                return
            once = self._taken()
            done += 1
            if done == iterations:
                return
            if self._settled(self.step(), tolerance):
                return
            done += 1
            if not strides or done == iterations:
                continue
            twice = self._taken()
            self._put(_stride(start, once, twice))
            there = self.step()
            done += 1
            if there >= self.trace[-1]:
                self.trace.append(there)
            else:
                self._put(twice)

    def _settled(self, now: float, tolerance: float) -> bool:
        self.trace.append(now)
        self.converged = len(self.trace) > 1 and now - self.trace[-2] <= tolerance * abs(now)
        return self.converged

    def _taken(self) -> list[Floats]:
        return [each.copy() for each in self.parameters]

    def _put(self, values: list[Floats]) -> None:
        for own, value in zip(self.parameters, values, strict=True):
            own[...] = value

    @property
    def notes(self) -> tuple[str, ...]:
        if self.converged:
            return ()
        return (f"the likelihood was still rising after {len(self.trace)} iterations: allow more",)


def _stride(start: list[Floats], once: list[Floats], twice: list[Floats]) -> list[Floats]:
    """Where two steps point to; never nearer than the second one."""
    first, second = 0.0, 0.0
    logits = []
    for a, b, c in zip(start, once, twice, strict=True):
        x, y, z = _logit(a), _logit(b), _logit(c)
        logits.append((x, y - x, (z - y) - (y - x)))
        first += float((logits[-1][1] ** 2).sum())
        second += float((logits[-1][2] ** 2).sum())
    length = min(max(np.sqrt(first / second), 1.0), _LONGEST) if second > 0 else 1.0
    out = []
    for (x, r, v), c in zip(logits, twice, strict=True):
        to = np.clip(x + 2 * length * r + length**2 * v, -_FAR, _FAR)
        out.append(np.where((c <= _EDGE) | (c >= 1 - _EDGE), c, 1.0 / (1.0 + np.exp(-to))))
    return out


def _logit(chance: Floats) -> Floats:
    safe = np.clip(chance, _EDGE, 1 - _EDGE)
    return np.asarray(np.log(safe / (1.0 - safe)))
