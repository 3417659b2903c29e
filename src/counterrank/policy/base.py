"""What a policy is: a distribution over rankings, per query."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from counterrank.ids import Codes
from counterrank.statistics.pairs import Pairs, Table


class BoundPolicy(ABC):
    """A policy on the pairs of one run, cut to each query's ranking length: arrays in, arrays out."""

    pairs: Pairs

    @abstractmethod
    def marginals(self) -> Table:
        """(P, K): the chance that the pair's item is shown at the position."""

    @abstractmethod
    def probability(self, queries: Codes, rankings: Codes) -> NDArray[np.float64]:
        """(G,): the chance of each ranking. rankings is (G, K) rows of `pairs`, -1 beyond the ranking's end."""

    @abstractmethod
    def sample(self, queries: Codes, rng: np.random.Generator) -> Codes:
        """(G, K): a ranking for each query, as rows of `pairs`, -1 beyond the ranking's end."""


class Policy(ABC):
    """A distribution over rankings for each query it has."""

    @abstractmethod
    def queries(self) -> pa.Array | None:
        """The queries it has rankings for, as text; None where it answers every query."""

    @abstractmethod
    def items(self) -> tuple[pa.Array, pa.Array]:
        """The (query, item) pairs it names itself, as two text arrays of one length; may be empty."""

    @abstractmethod
    def bind(self, pairs: Pairs) -> BoundPolicy:
        """This policy on the pairs of a run. `pairs` holds every item that the policy names for a query of the run."""
