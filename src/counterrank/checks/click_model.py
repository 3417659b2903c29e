"""The laws of click models and their fits, on clicks of a few made-up users."""

from __future__ import annotations

from functools import cached_property
from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from counterrank.checks.law import Law, expect, expect_near, hold
from counterrank.click import ClickCounts, ClickModel, Fit, Options, PositionBased
from counterrank.click.fit import Fitter
from counterrank.errors import InputError
from counterrank.ids import Codes, Ids
from counterrank.records import dataclass
from counterrank.statistics.pairs import Pairs
from counterrank.statistics.patterns import Patterns

Clicks = NDArray[np.int8]
LOGGED, DRAWS, PLACES = 12_000, 20_000, 3
VECTORS: Clicks = np.array(list(product((0, 1), repeat=PLACES)), dtype=np.int8)
RANKINGS = np.array([[0, 1, 2], [3, 0, 1], [2, 3, -1], [1, -1, -1], [4, 5, 6], [7, 4, -1]])
QUERIES = np.array([0, 0, 0, 0, 1, 1])


@dataclass(frozen=True)
class Tried:
    """A fit, and what it makes of the clicks of position-based users."""

    fit: Fitter

    @cached_property
    def model(self) -> ClickModel:
        """The model that the laws are about: as fitted, so that its parameters are some that can be."""
        return self.fit(drawn(USERS, 1), Options()).model

    @cached_property
    def own(self) -> tuple[ClickCounts, Fit]:
        """Clicks drawn from that model, and what is fitted to them."""
        counts = drawn(self.model, 2)
        return counts, self.fit(counts, Options())


def check_click_model(mine: Any) -> None:
    """Run the laws on a click model: a class with `fit`, or a function that fits one to `ClickCounts`, with `Options`.

    `LawBroken` says which law it breaks, and how. It takes a few seconds.
    """
    if isinstance(mine, type) and not issubclass(mine, ClickModel):
        raise InputError(f"a click model is a counterrank.click.ClickModel, but {mine!r} came: subclass it")
    name = getattr(mine, "__name__", type(mine).__name__)
    hold(f"click model {name!r}", Tried(getattr(mine, "fit", mine)), CLICK_MODEL_LAWS)


def the_assumption_is_a_sentence(tried: Tried) -> None:
    """It says what it assumes of users, in one sentence."""
    said = getattr(tried.model, "assumption", None)
    whole = isinstance(said, str) and said.endswith(".") and "\n" not in said
    expect(whole, f"assumption {said!r}", "a sentence with its full stop")


def chances_are_chances(tried: Tried) -> None:
    """Chances of clicks lie between 0 and 1, and are 0 beyond the end of a ranking."""
    clicks = np.zeros(RANKINGS.shape, dtype=np.int8)
    for found in (
        tried.model.click_probabilities(QUERIES, RANKINGS),
        tried.model.conditional_probabilities(QUERIES, RANKINGS, clicks),
    ):
        expect(found.shape == RANKINGS.shape, f"chances of shape {found.shape}", RANKINGS.shape)
        wrong = ~((found >= 0) & (found <= 1))
        expect(not wrong.any(), f"a chance of {found[wrong][:1]}", "one from 0 to 1")
        expect(not found[RANKINGS < 0].any(), "a chance beyond the end of a ranking", "none")


def all_clicks_sum_to_one(tried: Tried) -> None:
    """The chances of all ways to click on a ranking sum to one, and those of a position to its chance of a click."""
    chance = _chances(tried.model)
    expect_near(chance.sum(axis=1), np.ones(len(RANKINGS)), "the sum of chances")
    expect_near(tried.model.click_probabilities(QUERIES, RANKINGS), chance @ VECTORS, "the chance of a click")
    expect_near(tried.model.value(QUERIES, RANKINGS), (chance @ VECTORS).sum(axis=1), "the value")


def samples_follow_the_chances(tried: Tried) -> None:
    """Clicks are drawn as often as they are likely, and the same ones from the same seed."""
    for query, ranking, chance in zip(QUERIES, RANKINGS, _chances(tried.model), strict=True):
        asked = np.full(DRAWS, query), np.tile(ranking, (DRAWS, 1))
        clicks, again = (tried.model.sample(*asked, np.random.default_rng(7)) for _ in range(2))
        expect((clicks == again).all(), "other clicks from the same seed", "the same")
        count = np.bincount(clicks.astype(np.int64) @ [4, 2, 1], minlength=8)
        far = np.abs(count - DRAWS * chance) > 5 * np.sqrt(DRAWS * chance * np.maximum(1 - chance, 0)) + 1e-6
        if far.any():
            expect(False, f"clicks {count[far][0]} times in {DRAWS}", f"{DRAWS * chance[far][0]:.6g} ± 5σ")


def a_fit_finds_its_own_model(tried: Tried) -> None:
    """Fitted to clicks drawn from it, it gives their chances again."""
    if tried.own[1].biased:
        return
    found = tried.own[1].model.click_probabilities(QUERIES, RANKINGS)
    expect_near(found, tried.model.click_probabilities(QUERIES, RANKINGS), "the chance of a click", least=0.05)


def a_fit_is_no_less_likely_than_a_constant(tried: Tried) -> None:
    """On clicks drawn from it, its fit is no less likely than one rate for all, nor much less than the truth."""
    counts, fit = tried.own
    if fit.biased:
        return
    seen = counts.need_patterns("a law")
    n = seen.impressions

    def likelihood(model: ClickModel) -> float:
        return float(n @ model.log_likelihood(seen.queries, seen.rankings, seen.clicks)) / LOGGED

    rate = counts.clicked.sum() / counts.shown.sum()
    shown = (seen.rankings >= 0).sum(axis=1)
    hits = seen.clicks.sum(axis=1)
    constant = float(n @ (hits * np.log(rate) + (shown - hits) * np.log1p(-rate))) / LOGGED
    own = likelihood(fit.model)
    expect(own >= constant - 1e-3, f"a log-likelihood of {own:.6g} an impression", f"{constant:.6g} of a constant")
    truth = likelihood(tried.model)
    expect(own >= truth - 0.02, f"a log-likelihood of {own:.6g} an impression", f"{truth:.6g} of the truth")


def parts_and_their_order_do_not_matter(tried: Tried) -> None:
    """Impressions counted in parts that are added, in any order, give the same fit."""
    counts = drawn(USERS, 1)
    seen = counts.need_patterns("a law")
    order = np.random.default_rng(4).permutation(len(seen))
    some, others = (seen.taken(np.where(np.isin(np.arange(len(seen)), part), seen.impressions, 0))
                    for part in (order[: len(order) // 3], order[len(order) // 3 :]))  # fmt: skip
    added = tried.fit(ClickCounts.of(counts.pairs, others + some), Options()).model
    expect_near(
        added.click_probabilities(QUERIES, RANKINGS), tried.model.click_probabilities(QUERIES, RANKINGS), "a chance"
    )


CLICK_MODEL_LAWS: tuple[Law[Tried], ...] = (
    the_assumption_is_a_sentence,
    chances_are_chances,
    all_clicks_sum_to_one,
    samples_follow_the_chances,
    a_fit_finds_its_own_model,
    a_fit_is_no_less_likely_than_a_constant,
    parts_and_their_order_do_not_matter,
)

PAIRS = Pairs.build(
    Ids(pa.array(["q0", "q1"])),
    Ids(pa.array(["a", "b", "c", "d"])),
    np.repeat(np.arange(2), 4),
    np.tile(np.arange(4), 2),
    np.full(2, PLACES),
    PLACES,
)
USERS = PositionBased([0.6, 0.3, 0.2, 0.7, 0.4, 0.25, 0.5, 0.15], [1.0, 0.7, 0.5])


def drawn(model: ClickModel, seed: int) -> ClickCounts:
    """Clicks of such users on random rankings, every third of them shorter."""
    rng = np.random.default_rng(seed)
    queries = rng.integers(0, 2, LOGGED)
    rankings = rng.random((LOGGED, 4)).argsort(axis=1)[:, :PLACES] + 4 * queries[:, None]
    length = np.where(np.arange(LOGGED) % 3 == 0, rng.integers(1, PLACES + 1, LOGGED), PLACES)
    rankings = np.where(np.arange(PLACES) < length[:, None], rankings, -1)
    return ClickCounts.of(PAIRS, _patterns(queries, rankings, model.sample(queries, rankings, rng)))


def _patterns(queries: Codes, rankings: Codes, clicks: Clicks) -> Patterns:
    coded = np.where(rankings >= 0, 2 * rankings + clicks, -1).astype(np.int32)
    return Patterns(queries, coded, np.ones(len(queries), dtype=np.int64)).merged()


def _chances(model: ClickModel) -> NDArray[np.float64]:
    """(rankings, 8): how likely each way to click is."""
    every = [np.tile(vector, (len(RANKINGS), 1)) for vector in VECTORS]
    with np.errstate(divide="ignore"):
        return np.exp(np.stack([model.log_likelihood(QUERIES, RANKINGS, clicks) for clicks in every], axis=1))
