"""Laws of all models of features, by their names, and what is particular to each."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from learning_worlds import dcg, labelled, made
from scipy.optimize import minimize

from counterrank.errors import InputError, Unanswerable
from counterrank.learning.examples import Examples
from counterrank.learning.models import MODELS, Fitted
from counterrank.policy import Linear, read_policy

TRAIN, HELD, NEW = made(seed=0), made(queries=30, seed=1), made(queries=200, seed=2)


def fitted(name: str, train: Examples = TRAIN, held: Examples | None = HELD, **options) -> Fitted:
    return MODELS[name].fit(train, held, weights=options.pop("weights", dcg(12)), **options)


def share(found: Fitted, examples: Examples = NEW) -> float:
    """Of the highest value that any order has."""
    weights = dcg(examples.longest)
    return examples.value(found.score(examples.features), weights) / examples.value(examples.worth, weights)


@pytest.mark.parametrize("name", MODELS)
class TestEveryModel:
    def test_learns_an_order_that_holds_for_new_queries(self, name: str) -> None:
        assert share(fitted(name)) > 0.94
        assert NEW.value(np.zeros(len(NEW.worth)), dcg(12)) / NEW.value(NEW.worth, dcg(12)) < 0.8

    def test_the_same_seed_gives_the_same_model(self, name: str) -> None:
        np.testing.assert_array_equal(*(fitted(name, seed=7).score(NEW.features) for _ in range(2)))

    def test_what_is_kept_is_the_best_of_the_curve(self, name: str) -> None:
        found = fitted(name)
        best = max(step["value"] for step in found.curve)
        assert HELD.value(found.score(HELD.features), dcg(12)) == pytest.approx(best, rel=1e-3)
        assert all(np.isfinite(step["loss"]) for step in found.curve)

    def test_the_policy_scores_the_same_and_comes_back_from_its_directory(self, name: str, tmp_path) -> None:
        found = fitted(name)
        found.policy.save(tmp_path / "policy")
        again = read_policy(tmp_path / "policy")
        np.testing.assert_array_equal(again.score(NEW.features), found.score(NEW.features))
        assert again.features == TRAIN.names

    def test_the_unit_of_worth_and_of_features_does_not_matter(self, name: str) -> None:
        if name == "logistic":
            pytest.skip("rates above 1 count as 1, so the unit matters")
        unit = np.array([1e49, 1.0, 1e-49, 1e3, 1.0])
        larger = [
            replace(each, worth=each.worth * 1e6, features=each.features * unit + [0, 5, 0, 0, 0])
            for each in (TRAIN, HELD)
        ]
        found = fitted(name, *larger)
        scores = found.score(NEW.features * unit + [0, 5, 0, 0, 0])
        assert NEW.value(scores, dcg(12)) == pytest.approx(
            NEW.value(fitted(name).score(NEW.features), dcg(12)), rel=0.01
        )

    def test_constant_features_and_pairs_without_features_have_no_say(self, name: str) -> None:
        features = np.column_stack([TRAIN.features, np.full(len(TRAIN.worth), 0.1)])
        features[3] = np.nan
        odd = replace(TRAIN, features=features, names=[*TRAIN.names, "constant"])
        held = replace(HELD, features=np.column_stack([HELD.features, np.ones(len(HELD.worth))]))
        found = fitted(name, odd, held)
        assert "1 item of a query of the training part left out" in found.notes[0]
        rows = np.column_stack([NEW.features, np.zeros(len(NEW.worth))])
        other = np.column_stack([NEW.features, np.ones(len(NEW.worth))])
        np.testing.assert_allclose(found.score(rows), found.score(other), rtol=1e-9)

    def test_without_validation_nothing_is_chosen_and_that_is_said(self, name: str) -> None:
        found = fitted(name, held=None)
        assert "nothing chosen" in found.notes[-1]
        assert share(found) > 0.9
        quiet = replace(HELD, worth=np.zeros(len(HELD.worth)))
        assert "no clicks that tell items apart" in fitted(name, held=quiet).notes[0]

    def test_a_model_like_another_has_its_hyper_parameters_and_chooses_nothing(self, name: str) -> None:
        first = fitted(name)
        assert first.setting is not None
        same = fitted(name, like=first)
        assert (same.chosen, same.setting) == (first.chosen, first.setting)
        np.testing.assert_allclose(same.score(NEW.features), first.score(NEW.features), rtol=1e-3, atol=1e-3)
        other = made(seed=5)
        again = fitted(name, other, like=first)  # other clicks, of which validation might choose otherwise
        assert (again.chosen, again.setting) == (first.chosen, first.setting)
        alone = fitted(name, other, held=None, like=first)
        np.testing.assert_array_equal(alone.score(NEW.features), again.score(NEW.features))
        assert not any("nothing chosen" in note for note in alone.notes)
        assert [step["value"] for step in alone.curve] == [None] * len(alone.curve)
        unchosen = fitted(name, held=None)
        assert unchosen.setting is None
        assert fitted(name, like=unchosen).chosen == first.chosen  # it had nothing to choose by: choose now

    def test_nothing_to_learn_is_said_in_one_line(self, name: str) -> None:
        with pytest.raises(Unanswerable, match="no click on an item with features"):
            fitted(name, replace(TRAIN, worth=np.zeros(len(TRAIN.worth))))
        with pytest.raises(Unanswerable, match="two items of different worth"):
            fitted(name, replace(TRAIN, worth=np.ones(len(TRAIN.worth))))
        with pytest.raises(Unanswerable, match="all positions weigh the same"):
            fitted(name, weights=np.ones(12))
        with pytest.raises(InputError, match="`weights`"):
            fitted(name, weights=np.array([1.0, np.nan]))

    def test_progress_is_told(self, name: str) -> None:
        told: list[int] = []
        fitted(name, progress=told.append)
        assert sum(told) >= len(fitted(name).curve)

    def test_one_query_is_enough_and_more_clicked_queries_than_steps_too(self, name: str) -> None:
        one = labelled(np.array([0, 3]), np.array([[0.0], [1.0], [2.0]]), np.array([0.0, 0.0, 1.0]))
        scores = fitted(name, one, None).score(one.features)
        if name != "lightgbm":  # a leaf needs twenty items
            assert scores.argmax() == 2
        assert np.isfinite(scores).all()

    def test_the_first_positions_alone_can_count(self, name: str) -> None:
        found = fitted(name, weights=dcg(3))
        value = NEW.value(found.score(NEW.features), dcg(3)) / NEW.value(NEW.worth, dcg(3))
        assert value > 0.9


def test_debiased_clicks_beat_raw_ones_where_position_bias_is_strong() -> None:
    """The log shows the worst first, so raw clicks favour it."""
    rng = np.random.default_rng(5)
    examples = made(queries=300, seed=5)
    queries = examples.queries
    order = np.lexsort([examples.worth, queries])
    rank = np.empty(len(order))
    rank[order] = np.arange(len(order)) - examples.starts[queries[order]] + 1
    attraction = 0.1 + 0.8 * examples.worth / examples.worth.max()
    clicks = rng.binomial(2000, attraction / rank**1.5).astype(float)
    seen = replace(examples, clicks=clicks, worth=clicks * rank**1.5, impressions=np.full(300, 2000.0))
    train, held = seen.of(np.arange(200)), seen.of(np.arange(200, 300))
    assert share(fitted("linear", train, held)) > 0.94
    assert share(fitted("linear", train.naive(), held.naive())) < 0.8


def test_ridge_is_the_minimum_of_its_loss() -> None:
    shown = np.random.default_rng(6).integers(1, 50, len(TRAIN)).astype(float)
    train = replace(TRAIN, impressions=shown)
    found = fitted("ridge", train, None)
    assert isinstance(found.policy, Linear)
    z = (train.features - found.policy.mean) / found.policy.scale
    count = np.repeat(shown, train.sizes)
    rate, count = train.worth / count, count / count.sum()

    def loss(at):
        return count @ (rate - at[0] - z @ at[1:]) ** 2 + 0.1 * at[1:] @ at[1:]

    best = minimize(loss, np.zeros(6), tol=1e-12).x
    np.testing.assert_allclose(found.policy.weights, best[1:], rtol=1e-3, atol=1e-6)


def test_logistic_is_the_minimum_of_its_loss() -> None:
    found = fitted("logistic", held=None)
    assert isinstance(found.policy, Linear)
    z, rate = (TRAIN.features - found.policy.mean) / found.policy.scale, np.clip(TRAIN.worth, 0, 1)

    def loss(at):
        score = at[0] + z @ at[1:]
        return (np.logaddexp(0, score) - rate * score).mean() + 0.005 * at[1:] @ at[1:]

    best = minimize(loss, np.zeros(6), tol=1e-12).x
    np.testing.assert_allclose(found.policy.weights, best[1:], rtol=1e-3, atol=1e-5)
    assert f"{(TRAIN.worth > 1).sum()} debiased click rates above 1" in found.notes[0]


def test_the_best_weights_are_a_copy_that_the_descent_does_not_change() -> None:
    """A validation part that likes early weights: what is kept is worth what the curve says at that epoch."""
    against = replace(HELD, worth=np.random.default_rng(8).permutation(HELD.worth))
    found = fitted("linear", held=against)
    values = [step["value"] for step in found.curve]
    assert values.index(max(values)) < len(values) - 1  # it went on after the best
    assert against.value(found.score(against.features), dcg(12)) == pytest.approx(max(values), rel=1e-6)


def test_trees_see_what_no_weighted_sum_can() -> None:
    examples = made(queries=300, seed=9)
    bent = replace(examples, worth=np.maximum(1.0 - np.abs(examples.features[:, 0]), 0.0))
    train, held, new = bent.of(np.arange(150)), bent.of(np.arange(150, 200)), bent.of(np.arange(200, 300))
    assert share(fitted("lightgbm", train, held), new) > 0.93
    assert share(fitted("linear", train, held), new) < 0.8
