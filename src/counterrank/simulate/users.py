"""Users of a semi-synthetic world: who look at 1/rank and click by the label, and how often they do so."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from counterrank.errors import InputError
from counterrank.ids import Codes
from counterrank.records import dataclass
from counterrank.simulate.labelled import Labelled, Vector

NOISE = 0.2  # the chance of a click on an examined document of label 0


@dataclass(frozen=True)
class Clicked:
    """What a log says, by query and by document. Two logs of the same queries add.

    >>> one = Clicked(np.array([2]), np.array([1, 0]))
    >>> (one + one).clicks.tolist()
    [2, 0]
    """

    impressions: Codes  # (Q,)
    clicks: Codes  # (P,)

    def __add__(self, other: Clicked) -> Clicked:
        return Clicked(self.impressions + other.impressions, self.clicks + other.clicks)


@dataclass(frozen=True, kw_only=True)
class LoggedWorld:
    """Labelled queries, the rankings that are logged for each, and users (genspec2021, section 5.1).

    Every query has L rankings, of which the l-th is shown with chance shares[l]: with L = 1 logging is deterministic.
    An item at rank k is examined with chance 1/k; an examined item is clicked with chance 0.2 + alpha · label, one item
    independently of the other. So the clicks on a document at one rank are binomial, and 10⁹ are drawn as fast as 10⁴.
    """

    data: Labelled
    ranks: Codes  # (L, P) of each document in each logged ranking, from 0
    shares: Vector  # (L,)
    alpha: float

    def __post_init__(self) -> None:
        top = NOISE + self.alpha * float(self.data.labels.max(initial=0))
        if not (self.alpha >= 0 and top <= 1):
            raise InputError(
                f"alpha is {self.alpha:g}: a click would have chance {top:g}; give 0 or more, and less noise"
            )

    @cached_property
    def attraction(self) -> Vector:
        """(P,) the chance of a click on an examined document."""
        return NOISE + self.alpha * self.data.labels

    @cached_property
    def examined(self) -> Vector:
        """(L, P) the chance that a document is examined, in each ranking."""
        return np.asarray(1 / (self.ranks + 1.0))

    @cached_property
    def propensity(self) -> Vector:
        """(P,) the same on average over the rankings: eq. 8."""
        return np.asarray(self.shares @ self.examined)

    @cached_property
    def clicks_per_impression(self) -> float:
        """What to expect, queries coming uniformly."""
        return float(self.propensity @ self.attraction) / len(self.data)

    def draw(self, impressions: Codes, rng: np.random.Generator) -> Clicked:
        """A log of so many impressions of each query, (Q,)."""
        shown = rng.multinomial(impressions, self.shares).T if len(self.shares) > 1 else impressions[None, :]
        chance = self.attraction * self.examined
        return Clicked(impressions, rng.binomial(shown[:, self.data.queries], chance).sum(axis=0))


def coming(queries: int, impressions: int, rng: np.random.Generator) -> Codes:
    """(Q,) how often each query comes: uniformly.

    >>> int(coming(7, 100, np.random.default_rng(0)).sum())
    100
    """
    return rng.multinomial(impressions, np.full(queries, 1 / queries))
