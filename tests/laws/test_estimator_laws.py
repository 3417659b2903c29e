"""Every estimator keeps the laws of estimators; and the laws find what they are there to find."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from counterrank.checks import ESTIMATOR_LAWS, LawBroken, check_estimator
from counterrank.errors import InputError
from counterrank.estimate import ESTIMATORS, ByClicks, Estimate, Item, Need, RankClickThrough
from counterrank.estimate.estimator import Estimator


@pytest.mark.parametrize("law", ESTIMATOR_LAWS, ids=lambda law: law.__name__)
@pytest.mark.parametrize("name", ESTIMATORS)
def test_every_estimator(name: str, law: Any) -> None:
    law(ESTIMATORS[name])


def test_names_are_those_of_the_registry() -> None:
    assert {name: estimator.name for name, estimator in ESTIMATORS.items()} == {name: name for name in ESTIMATORS}
    assert [name for name, estimator in ESTIMATORS.items() if estimator.log_mean] == ["rctr"]


class Mine(ByClicks):
    name = "mine"
    assumption = "a click depends on the item and its position"


class Untold(Mine):
    assumption = ""


class Blind(Mine):
    blind = "it is not"


class Doubled(Mine):
    def weights(self, evidence: Any, target: Any, logging: Any) -> Any:
        weight, clipped = super().weights(evidence, target, logging)
        return 2 * weight, clipped


class Shrunk(Mine):
    def weights(self, evidence: Any, target: Any, logging: Any) -> Any:
        return evidence.ratio(target, 0.9 * logging + 0.1 * target)


class First(Mine):
    """Reads the order of items in the counts."""

    def weights(self, evidence: Any, target: Any, logging: Any) -> Any:
        weight, clipped = super().weights(evidence, target, logging)
        return (weight if evidence.same else weight * np.linspace(0.9, 1.1, weight.size).reshape(weight.shape)), clipped


class Raised(Mine):
    """A clip that raises the others."""

    def weights(self, evidence: Any, target: Any, logging: Any) -> Any:
        weight, clipped = super().weights(evidence, target, logging)
        return (weight + clipped.mean() * 3 if not evidence.same else weight), clipped


class NotANumber(RankClickThrough):
    name = "mine"
    log_mean = False
    value: float | None = float("nan")

    def estimate(self, evidence: Any) -> Estimate:
        return replace(super().estimate(evidence), value=self.value, second_moment=None)


class Speechless(NotANumber):
    value = None


class Fails(Mine):
    def estimate(self, evidence: Any) -> Any:
        raise ZeroDivisionError("of\nmine")


class PerQuery(Mine):
    def by_query(self, evidence: Any) -> Any:
        return super().by_query(evidence) + 1


class Largest(Mine):
    def largest_weight(self, evidence: Any) -> float:
        return 2 * super().largest_weight(evidence)


class ItemAsPosition(Item):
    name = "mine"
    needs = frozenset({Need.CLICKS, Need.MARGINALS, Need.RANKINGS})


@pytest.mark.parametrize(
    ("broken", "law", "words"),
    [
        (Untold, "says of itself", "assumption '' came, one sentence"),
        (Blind, "says of itself", "blind 'it is not' came"),
        (ItemAsPosition, "says of itself", "RANKINGS just to weigh them"),
        (Doubled, "gives the log's mean", "came"),
        (Shrunk, "the value is the truth", "1.175 was expected"),
        (First, "are called does not matter", "was expected"),
        (Raised, "never raises", "no less with the larger"),
        (NotANumber, "a finite number, or None", "the value nan came"),
        (Speechless, "a finite number, or None", "no warning came"),
        (Fails, "gives the log's mean", "ZeroDivisionError came: of"),
        (PerQuery, "single queries", "was expected"),
        (Largest, "largest weight", "0 clipped at 0.9 of"),
    ],
)
def test_a_broken_law_is_told_in_one_line(broken: type[Estimator], law: str, words: str) -> None:
    before = dict(ESTIMATORS)
    with pytest.raises(LawBroken) as caught:
        check_estimator(broken)
    said = str(caught.value)
    assert said.startswith("estimator 'mine' breaks a law: ")
    assert law in said
    assert words in said
    assert "\n" not in said
    assert dict(ESTIMATORS) == before


def test_what_keeps_the_laws_passes() -> None:
    check_estimator(Mine())
    check_estimator(type("Honest", (Shrunk,), {"biased": "weights are drawn towards 1"}))
    with pytest.raises(InputError, match="subclass it"):
        check_estimator(len)
