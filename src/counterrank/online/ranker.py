"""What an online ranker is: it learns from a memory, and ranks a query's items by a score.

A member is a small file: how it learns (`fit`), what its model says of an item (`beliefs`), and `score`, a compiled
function that simulations and services run alike. What is known is in the memory; a ranker holds only its model.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from counterrank.compiled import njit
from counterrank.errors import InputError
from counterrank.online.memory import TRAINING, VALIDATION, Memory, totals
from counterrank.records import dataclass
from counterrank.regress import Seen

Vector = NDArray[np.float64]
EVIDENCE = ("ips", "exposure")
BEHAVIOURS = ("none", "concat")
EXPLORATION, BY_EXPOSURE, BEHAVIOUR, OWN = 0, 1, 2, 3  # places in `params`; what follows is a ranker's own
NOTHING: Vector = np.zeros(0)


@dataclass(frozen=True, kw_only=True)
class Options:
    """How evidence is counted and a model learnt. Each ranker takes what it needs."""

    examination: Vector  # (K,) chance that a position is looked at
    exploration: float | None = None  # none: the ranker's own default
    evidence: str = "ips"  # C = Σ click/examination over n, or clicks over summed examination
    behaviour: str = "none"  # concat: C/n is one more feature
    beta: float | None = 5.0  # none: learnt
    model: str = "linear"  # of the prior
    feature: int = 0  # of `bm25`


class Ranker:
    """A ranker that does nothing yet: members give `fit`, `beliefs` and `score`."""

    name: ClassVar[str]
    says: ClassVar[str]  # what it is, in half a sentence
    exploration: ClassVar[float] = 0.0  # by default
    grid: ClassVar[tuple[float, ...]] = (0.0,)  # of which tuning chooses
    behaviours: ClassVar[tuple[str, ...]] = ("none",)  # how it may use clicks as features
    told: ClassVar[bool] = False  # a simulation tells it the truth
    score: ClassVar[Any]  # compiled: (rows, first, size, examination, params, key, out)
    observe: ClassVar[Any]  # compiled: (rows, first, size, examination, params, key, page, clicks), before they count

    def __init__(self, options: Options) -> None:
        if options.evidence not in EVIDENCE:
            raise InputError(f"`evidence` is {options.evidence!r}: choose from {', '.join(EVIDENCE)}")
        self.options = options
        self.params = np.zeros(OWN)
        self.params[EXPLORATION] = self.exploration if options.exploration is None else options.exploration
        self.params[BY_EXPOSURE] = float(options.evidence == "exposure")

    def learn(self, memory: Memory) -> None:
        """Learn anew from what the memory holds, and say what the model thinks of every item in it."""
        self.fit(memory)
        at = memory.rows_of()
        memory.rows.belief[at] = self.beliefs(memory.rows.features[at])

    def fit(self, memory: Memory) -> None:
        """Learn from the queries that are there for it. Most have nothing to learn."""

    def beliefs(self, features: NDArray[np.float64]) -> NDArray[np.float64]:
        """(N, 2): what the model says of items with these features."""
        return np.zeros((len(features), 2))

    def rank(self, memory: Memory, query: str, rng: np.random.Generator) -> list[str]:
        """A query's items, best first; of equal ones the first that came."""
        order = np.argsort(-self.scores(memory, query, rng), kind="stable")
        items = memory.items_of(query)
        return [items[i] for i in order]

    def scores(self, memory: Memory, query: str, rng: np.random.Generator) -> Vector:
        """What a query's items are sorted by."""
        code = memory.query(query)
        size = int(memory.rows.size[code])
        out = np.empty(size)
        key = rng.integers(2**64, dtype=np.uint64)
        begin = int(memory.rows.begin[code])
        type(self).score(memory.rows, begin, size, self.options.examination, self.params, key, out)
        return out

    def uncertainty(self, memory: Memory, queries: NDArray[np.int64]) -> float | None:
        """The mean over queries of U(q) = Σ Var[R̂] (eq. 8); None of a ranker that has no posterior."""
        return None

    def evidence(self, memory: Memory, part: int) -> Seen:
        """Features, clicks and looks of a part's items: C and n, or clicks and exposure."""
        at = memory.rows_in(part)
        found = totals(memory.rows, at, self.options.examination)
        columns = (1, 3) if self.options.evidence == "exposure" else (2, 0)
        return Seen(memory.rows.features[at], found[:, columns[0]], found[:, columns[1]])

    def training(self, memory: Memory) -> Seen:
        return self.evidence(memory, TRAINING)

    def validation(self, memory: Memory) -> Seen:
        return self.evidence(memory, VALIDATION)


@njit()
def unmoved(rows, first, size, examination, params, key, page, clicks):  # type: ignore[no-untyped-def]
    """Most rankers learn nothing from one page."""


Ranker.observe = unmoved
