"""What an estimator is: a formula, and the traits by which the rest of the house knows it. Nobody asks for its name."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable
from enum import Enum
from typing import ClassVar

from counterrank.errors import InputError
from counterrank.estimate.base import Estimate, LinearEstimate, Vector
from counterrank.setting.evidence import Evidence
from counterrank.setting.need import Need


class Weighs(Enum):
    """What an estimator gives an importance weight to."""

    NOTHING = "no impression is weighted"
    POSITIONS = "each click, by the chances of its item at its position; the value is a sum over positions"
    ITEMS = "each click, by the chances that its item is looked at, which `curve` says of a position"
    RANKINGS = "whole rankings, by their chances"
    PREFIXES = "each click, by the chances of its item with all that stands above it"
    PAGES = "whole pages, by the chances of their (item, position) pairs; weights may be negative"


class Estimator(ABC):
    """States its formula in `estimate`; `ByClicks` and `ByRewards` have the common part of those that weigh.

    A class variable without a value must be given. The others say what holds for most.
    """

    name: ClassVar[str]
    assumption: ClassVar[str]  # what must hold of users, in one sentence
    needs: ClassVar[frozenset[Need]] = frozenset()
    weighs: ClassVar[Weighs] = Weighs.NOTHING
    clips: ClassVar[bool] = False  # a clip applies
    clip_bias: ClassVar[str] = " downwards"  # which way clipping moves the value, where that is known
    self_normalised: ClassVar[bool] = False  # divided by the sum of weights: what was not logged is taken to be alike
    assumes: ClassVar[int] = 6  # how much, from 0: of equal evidence, what assumes least is believed
    asked_for: ClassVar[bool] = False  # it costs more than the others, so that it runs where it is named
    modelled: ClassVar[str] = ""  # whose word stands where the log cannot tell, and is taken from what it can
    blind: ClassVar[str] = ""  # why its word does not rest on how the log bears on the target, where it does not
    biased: ClassVar[str] = ""  # why it does not find the truth though its assumption holds, where it does not
    log_mean: ClassVar[bool] = False  # every policy is worth the log's mean: what others must beat
    of_difference: ClassVar[str] = ""  # what to know of the difference of two policies
    has_deviation: ClassVar[bool] = False  # theorem 3 of swaminathan2017 bounds its error
    misfits: ClassVar[tuple[str, str] | None] = None  # what is wrong if clicks do not fit `curve`: by position, by pair

    @abstractmethod
    def estimate(self, evidence: Evidence) -> Estimate | LinearEstimate:
        """The value, with what intervals are made from."""

    def by_query(self, evidence: Evidence) -> Vector:
        """(Q,) the value of each query from its own impressions alone, NaN where it has none."""
        return self.estimate(evidence).per_query

    def gives(self, metric: str) -> bool:
        """Whether it can judge this metric."""
        return metric == "clicks" or Need.CLICKS not in self.needs

    def knows(self, evidence: Evidence) -> bool:
        """Whether the logging policy behind its weights was given, and not estimated by shares."""
        return not (evidence.estimated if self.weighs is Weighs.RANKINGS else evidence.shares)

    def by_item(self, evidence: Evidence) -> bool:
        """Whether its weights go by the propensities that impressions carry for their items."""
        return False

    def chances(self, evidence: Evidence) -> tuple[Vector, Vector]:
        """What target and logging policy show, of the log's cells, (C,), or, for those that weigh items, of its pairs.

        A click's weight is the one over the other.
        """
        return evidence.shown_by_target, evidence.shown_by_logging

    def curve(self, evidence: Evidence) -> Vector:
        """(K,) how a pair's clicks go by position, if its assumption holds: for those that weigh items."""
        raise InputError(f"{self.name} weighs items but does not say how clicks go by position: give it a method curve")

    def largest_weight(self, evidence: Evidence) -> float:
        """Of all logged impressions, or more; 0 where nothing can be clipped."""
        return math.inf if self.clips else 0.0


def needs_of(estimators: Iterable[Estimator]) -> frozenset[Need]:
    """What these need, together."""
    return frozenset(need for estimator in estimators for need in estimator.needs)
