"""PDGD: pages drawn in proportion to exp(score), and a gradient for each pair that clicks tell apart."""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np

from counterrank.compiled import njit
from counterrank.online.gradient import STEP, WEIGHTS, Gradient, by_weights, table
from counterrank.statistics.hashing import uniform


@njit(nogil=True)
def score(rows, first, size, examination, params, key, out):  # type: ignore[no-untyped-def]
    """w·z + ε·Gumbel noise: sorted, with ε = 1, a draw from Plackett–Luce."""
    z = table(rows, first, size, examination, params)
    plain = by_weights(z, params[WEIGHTS : WEIGHTS + z.shape[1]])
    for i in range(size):
        out[i] = plain[i]
    if params[0] != 0:
        for i in range(size):
            out[i] -= params[0] * math.log(-math.log(1.0 - uniform(key, i) + 1e-300) + 1e-300)


@njit()
def log_chance(power, total, page, length, a, b):  # type: ignore[no-untyped-def]
    """log P(page) with places a and b swapped, under Plackett–Luce; `power` is exp(score)."""
    left, chance = total, 0.0
    for place in range(length):
        at = b if place == a else a if place == b else place
        chance += math.log(power[page[at]] / max(left, 1e-300) + 1e-300)
        left -= power[page[at]]
    return chance


@njit(nogil=True)
def observe(rows, first, size, examination, params, key, page, clicks):  # type: ignore[no-untyped-def]
    """Each clicked item is above each unclicked one down to the first below the last click; the pair counts by how
    likely the page with both swapped was."""
    length, last = min(size, len(page)), -1
    for j in range(length):
        if clicks[j]:
            last = j
    if last < 0 or params[0] == 0:
        return
    z = table(rows, first, size, examination, params)
    width = z.shape[1]
    power = by_weights(z, params[WEIGHTS : WEIGHTS + width])
    top, total = -np.inf, 0.0
    for i in range(len(power)):
        power[i] /= params[0]
        top = max(top, power[i])
    for i in range(len(power)):
        power[i] = math.exp(power[i] - top)
        total += power[i]
    here = log_chance(power, total, page, length, 0, 0)
    moved = np.zeros(width)
    for a in range(length):
        for b in range(min(last + 2, length)):
            if clicks[a] and not clicks[b]:
                there = log_chance(power, total, page, length, a, b)
                fair = 1.0 / (1.0 + math.exp(min(here - there, 700.0)))
                one, other = power[page[a]], power[page[b]]
                both = max(one + other, 1e-300)
                slope = fair * (one / both) * (other / both)
                for j in range(width):
                    moved[j] += slope * (z[page[a], j] - z[page[b], j])
    for j in range(width):
        params[WEIGHTS + j] += params[STEP] * moved[j]


class PDGD(Gradient):
    """Pairwise differentiable gradient descent (Oosterhuis and de Rijke), step 0.1. Nothing is interleaved."""

    name: ClassVar[str] = "pdgd"
    says: ClassVar[str] = "draws pages, learns from pairs"
    exploration: ClassVar[float] = 1.0
    grid: ClassVar[tuple[float, ...]] = (0.1, 0.2, 0.5, 1.0)
    step: ClassVar[float] = 0.1
    score = score
    observe = observe
