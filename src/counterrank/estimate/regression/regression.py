"""A regression of rewards on the features of a page, fitted on other queries than those it speaks of."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field, replace
from itertools import pairwise
from typing import Any, Protocol

import numpy as np

from counterrank.errors import InputError
from counterrank.estimate.base import Model, Vector
from counterrank.estimate.groups import unranked
from counterrank.estimate.regression.page_features import PageFeatures
from counterrank.ids import Codes
from counterrank.records import dataclass
from counterrank.setting.cache import shared
from counterrank.setting.evidence import Evidence, LogEvidence
from counterrank.statistics.pairs import Table, sum_by
from counterrank.statistics.rankings import Rankings

DRAWS = 200_000  # rankings drawn in all where the target's cannot be listed
ROWS = 1 << 20  # impressions whose rankings are grouped at a time
FEWEST, MOST = 20, 1000  # a query


class Prediction(Protocol):
    """r̂ of every query's rankings, from the rewards' origin."""

    def of(self, queries: Codes, rankings: Codes) -> Vector:
        """r̂(q, s) of each ranking."""

    def expected(self, evidence: Evidence) -> tuple[Vector, Vector, list[str]]:
        """E_target[r̂] of each query, its variance from drawn rankings, and what to say of that."""


@dataclass(frozen=True)
class Additive:
    """A linear r̂: a query's base, and what each pair adds at each position."""

    base: Vector  # (Q,)
    worth: Table  # (P, K)

    def of(self, queries: Codes, rankings: Codes) -> Vector:
        added = np.where(rankings >= 0, self.worth[rankings, np.arange(rankings.shape[1])], 0.0)
        return np.asarray(self.base[queries] + added.sum(axis=1))

    def expected(self, evidence: Evidence) -> tuple[Vector, Vector, list[str]]:
        none, added = np.zeros(len(self.base)), np.zeros(len(self.worth))
        for mine, shown in evidence.target.parts():
            added[mine] = (shown * self.worth[mine]).sum(axis=1)
        return self.base + evidence.per_query(added), none, []


@dataclass(frozen=True)
class Whole:
    """Any r̂: each ranking is looked at as a whole, by the model of its query's fold."""

    page: PageFeatures
    models: dict[int, Any]  # by fold
    fold: Codes  # (Q,)

    def of(self, queries: Codes, rankings: Codes) -> Vector:
        out = np.empty(len(queries))
        for block in self.page.blocks(rankings):
            x, fold = self.page.of(rankings[block]), self.fold[queries[block]]
            part = out[block]
            for number in np.unique(fold):
                part[fold == number] = self.models[int(number)].predict(x[fold == number])
        return out

    def expected(self, evidence: Evidence) -> tuple[Vector, Vector, list[str]]:
        size = len(evidence.counts.impressions)
        listed = evidence.target.support()
        if listed is not None:
            queries, rankings, chance = listed
            return sum_by(queries, chance * self.of(queries, rankings), size), np.zeros(size), []
        draws = int(np.clip(DRAWS // size, FEWEST, MOST))
        rng = np.random.default_rng(0)
        mean, spread = np.empty(size), np.empty(size)
        step = max(DRAWS // draws, 1)
        for start in range(0, size, step):
            some = np.arange(start, min(start + step, size))
            queries = np.repeat(some, draws)
            drawn = self.of(queries, evidence.target.sample(queries, rng)).reshape(len(some), draws)
            mean[some], spread[some] = drawn.mean(axis=1), drawn.var(axis=1, ddof=1)
        share = evidence.counts.impressions / evidence.counts.total
        variance = float((share**2 * spread).sum() / draws)
        return mean, spread / draws, [
            f"the model's mean over the target's rankings was drawn, {draws} rankings a query: it adds a standard "
            f"error of {variance**0.5:.2g}, which the interval holds"
        ]  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Regression:
    """The fitted models, and what they leave of the log's rewards; whatever the target."""

    page: PageFeatures
    fold: Codes  # (Q,)
    models: dict[int, Any]  # by fold
    prediction: Prediction
    predicted: Vector  # (Q,) Σr̂
    predicted2: float  # Σr̂²
    reward: Vector  # (Q,) Σ(r − r̂)
    reward2: Vector  # (Q,) Σ(r − r̂)²
    model: Model
    said: list[str]
    _latest: list[tuple[Rankings, Vector]] = field(default_factory=list, repr=False)

    @property
    def linear(self) -> bool:
        return isinstance(self.prediction, Additive)

    def of(self, chunk: Rankings) -> Vector:
        """r̂ of each group; 0 where its ranking is not known. Two policies ask for the same chunk."""
        if unranked(chunk):
            return np.zeros(len(chunk))
        latest = self._latest[0] if self._latest else None
        if latest is None or latest[0] is not chunk:
            latest = chunk, self.prediction.of(chunk.queries, chunk.rows)
            self._latest[:] = [latest]
        return latest[1]


@shared(target=False, clip=False)
def regression(evidence: LogEvidence) -> Regression:
    """The regression of this evidence; estimators and policies that need one share it."""
    counts = evidence.counts
    size = len(counts.impressions)
    page = PageFeatures(evidence)
    fold, models = _models(evidence, page)
    prediction = _prediction(evidence, page, fold, models)
    predicted, left, left2 = np.zeros((3, size))
    predicted2 = 0.0
    if counts.pages is None:
        raise InputError("the rankings of the log were not counted")
    for chunk in counts.pages.chunks():
        guess = prediction.of(chunk.queries, chunk.rows)
        rest = less(chunk, guess)
        predicted += sum_by(chunk.queries, chunk.impressions * guess, size)
        predicted2 += float((chunk.impressions * guess**2).sum())
        left += sum_by(chunk.queries, rest.reward, size)
        left2 += sum_by(chunk.queries, rest.reward2, size)
    spread = float(counts.reward2.sum() - counts.reward.sum() ** 2 / counts.total)
    r2 = 1 - float(left2.sum()) / spread if spread > 0 else None
    fit = Model(evidence.model, list(dict.fromkeys(model.chosen for model in models.values())), len(models), r2)
    said = [*_words(fit), *dict.fromkeys(note for model in models.values() for note in model.notes)]
    return Regression(
        page=page,
        fold=fold,
        models=models,
        prediction=prediction,
        predicted=predicted,
        predicted2=predicted2,
        reward=left,
        reward2=left2,
        model=fit,
        said=said,
    )


def less(chunk: Rankings, predicted: Vector) -> Rankings:
    """The same groups, with what the prediction leaves of their rewards."""
    n = chunk.impressions
    reward = chunk.reward - n * predicted
    squares = chunk.reward2 - 2 * predicted * chunk.reward + n * predicted**2
    return replace(chunk, reward=reward, reward2=np.maximum(squares, reward**2 / n))


def _models(evidence: LogEvidence, page: PageFeatures) -> tuple[Codes, dict[int, Any]]:
    """The fold of each query, and for each fold the model that was fitted without it."""
    from counterrank.regress import REGRESSIONS, folds_of  # scikit-learn is slow to import

    fold = folds_of(evidence.counts.pairs.query_ids.texts)
    training = REGRESSIONS[evidence.model](page.width)
    for chunk in _grouped(evidence):
        mean, of = chunk.reward / chunk.impressions, fold[chunk.queries]
        for block in page.blocks(chunk.rows):
            training.add(page.of(chunk.rows[block]), mean[block], chunk.impressions[block], of[block])
    used = np.unique(fold).tolist()
    return fold, {number: training.fit(without=number if len(used) > 1 else None) for number in used}


def _prediction(evidence: LogEvidence, page: PageFeatures, fold: Codes, models: dict[int, Any]) -> Prediction:
    counts = evidence.counts
    if not all(hasattr(model, "coefficients") for model in models.values()):
        return Whole(page, models, fold)
    base, worth = np.empty(len(fold)), np.empty((len(counts.pairs), counts.pairs.positions))
    of_pair = fold[counts.pairs.queries]
    for number, model in models.items():
        base[fold == number] = model.intercept
        worth[of_pair == number] = page.worth(model.coefficients)[of_pair == number]
    return Additive(base, worth)


def _words(model: Model) -> list[str]:
    """Which model it is, and how well it does."""
    name = f"{model.name} ({'; '.join(model.chosen)})"
    if model.folds == 1:
        return [f"{name} was fitted on the very rewards it explains: all queries are in one fold"]
    if model.r2 is None:
        return [f"{name} has nothing to learn: all rewards are alike"]
    if model.r2 <= 0:
        return [f"{name} predicts queries it has not seen no better than the mean does (R² {model.r2:.2g})"]
    return [f"{name} explains {model.r2:.1%} of the variance of rewards of queries it has not seen"]


def _grouped(evidence: LogEvidence) -> Iterator[Rankings]:
    """Each ranking of the log once: a tree must not depend on how rows were counted."""
    pages, rows = evidence.counts.pages, np.cumsum(evidence.counts.impressions)
    assert pages is not None  # noqa: S101 - the plan asked for them
    if not pages.quick:
        yield from pages.without_propensity().chunks()
        return
    number = rows // ROWS
    edges = np.flatnonzero(np.r_[True, number[1:] != number[:-1], True]).tolist()
    for low, high in pairwise(edges):
        chunks = list(pages.chunks(low, high))
        if chunks:
            yield Rankings.joined(chunks).merged()
