"""Every click model keeps the laws of click models; and the laws find what they are there to find."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

from counterrank.checks import CLICK_MODEL_LAWS, LawBroken, check_click_model
from counterrank.checks.click_model import Tried
from counterrank.click import CLICK_MODELS, FITS, Fit
from counterrank.click.rates import GlobalRate, ItemRate, Rate, fit_item_rate
from counterrank.errors import InputError


@cache
def tried(name: str) -> Tried:
    return Tried(FITS[name])


@pytest.mark.parametrize("law", CLICK_MODEL_LAWS, ids=lambda law: law.__name__)
@pytest.mark.parametrize("name", FITS)
def test_every_click_model(name: str, law: Any) -> None:
    law(tried(name))


def test_every_model_has_a_fit() -> None:
    assert {type(tried(name).model) for name in FITS} == set(CLICK_MODELS.values())


class Mine(ItemRate):
    assumption = "The chance of a click depends on the item alone."

    @classmethod
    def fit(cls, counts: Any, options: Any) -> Fit:
        return Fit(cls(fit_item_rate(counts, options).model.attraction))  # type: ignore[attr-defined]


class Untold(Mine):
    assumption = "items"


class Above(Mine):
    def click_probabilities(self, queries: Any, rankings: Any) -> Any:
        return 2 * super().click_probabilities(queries, rankings)


class Everywhere(GlobalRate):
    fit = classmethod(lambda cls, counts, options: Fit(cls(0.3)))

    def click_probabilities(self, queries: Any, rankings: Any) -> Any:
        return np.full(rankings.shape, self.rate)


class Eager(Mine):
    def sample(self, queries: Any, rankings: Any, rng: Any) -> Any:
        return super().sample(queries, rankings, rng) | super().sample(queries, rankings, rng)


class Conditional(Mine):
    def conditional_probabilities(self, queries: Any, rankings: Any, clicks: Any) -> Any:
        return super().conditional_probabilities(queries, rankings, clicks) / 2


class Forgetful(Mine):
    @classmethod
    def fit(cls, counts: Any, options: Any) -> Fit:
        return Fit(cls(super().fit(counts, options).model.attraction / 2))  # type: ignore[attr-defined]


class Unfitted(Rate):
    assumption = "None."

    def click_probabilities(self, queries: Any, rankings: Any) -> Any:
        raise AssertionError


@pytest.mark.parametrize(
    ("broken", "law", "words"),
    [
        (Untold, "one sentence", "assumption 'items' came"),
        (Above, "between 0 and 1", "a chance of"),
        (Everywhere, "beyond the end", "none was expected"),
        (Conditional, "sum to", "the chance of a click"),
        (Eager, "as often as they are likely", "± 5σ"),
        (Forgetful, "gives their chances again", "the chance of a click"),
        (Unfitted, "one sentence", "InputError came: Unfitted cannot be fitted"),
    ],
)
def test_a_broken_law_is_told_in_one_line(broken: type, law: str, words: str) -> None:
    with pytest.raises(LawBroken) as caught:
        check_click_model(broken)
    said = str(caught.value)
    assert said.startswith(f"click model '{broken.__name__}' breaks a law: ")
    assert law in said
    assert words in said
    assert "\n" not in said


def test_what_keeps_the_laws_passes() -> None:
    check_click_model(Mine)
    check_click_model(FITS["pbm"])
    with pytest.raises(InputError, match="subclass it"):
        check_click_model(int)
