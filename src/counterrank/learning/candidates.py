"""The special policies of a query, each judged by the version that was trained on the training part alone."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from counterrank.learning.asked import How
from counterrank.learning.ground import Ground
from counterrank.learning.shrunk import shrunk
from counterrank.learning.verdicts import Verdicts, judged
from counterrank.records import dataclass

Vector = NDArray[np.float64]
ACTS = {"tabular": "special", "posterior": "posterior"}  # what the gate calls each


@dataclass(frozen=True)
class Candidate:
    """A special policy: the scores that are served, and what the gate says of the version it judged."""

    name: str
    scores: Vector  # (P,) from both parts
    weight: Vector  # (P,) rank weights of the judged version
    verdicts: Verdicts
    worse: int  # queries whose served version looks worse than the judged one, on all impressions


def candidates(
    ground: Ground, how: How, otherwise: Vector, says: tuple[Vector | None, Vector | None]
) -> list[Candidate]:
    """Those that are asked for, against what acts otherwise; `says`: what the general policy says of pairs."""
    found = []
    for name in how.candidates:
        scores = [
            ground.tabular(part)
            if name == "tabular"
            else shrunk(part.clicks, part.looks, ground.pairs.starts, prior).scores
            for part, prior in zip((ground.train, ground.whole), says, strict=True)
        ]
        mine, served = (ground.by_scores(each) for each in scores)
        verdicts = judged(ground, mine, otherwise, how.gate, how.each)
        gained = ground.value(ground.whole, served - mine)
        size = ground.value(ground.whole, np.abs(served) + np.abs(mine))
        found.append(Candidate(name, scores[1], mine, verdicts, int((gained < -1e-9 * size).sum())))
    return found


@dataclass(frozen=True)
class Chosen:
    """Of each query the candidate with the highest lower bound, and whether it acts."""

    which: NDArray[np.int64]  # (Q,) number of the candidate
    acts: NDArray[np.bool_]  # (Q,)
    verdicts: Verdicts


def choose(found: Sequence[Candidate], bounded: bool) -> Chosen:
    """By the lower bound, or without bounds by the difference; of equal ones the first."""
    by = np.stack([each.verdicts.lower if bounded else each.verdicts.difference for each in found])
    which = np.argmax(np.where(np.isnan(by), -np.inf, by), axis=0)
    rows = np.arange(by.shape[1])
    first = found[0].verdicts
    picked = {
        name: np.stack([getattr(each.verdicts, name) for each in found])[which, rows]
        for name in ("difference", "lower", "upper")
    }
    verdicts = Verdicts(first.impressions, first.clicks, picked["difference"], picked["lower"], picked["upper"])
    return Chosen(which, verdicts.wins(bounded), verdicts)
