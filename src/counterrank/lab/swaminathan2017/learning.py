"""Section 4.2, appendix G: policies learnt from page-level rewards (PI-OPT) and from labels (SUP), on held-out parts.

Fold i tests on one part and learns from the other four; hyper-parameters are chosen by cross-validation over these four
(the paper tunes on one of them). Five slots; candidates are the best 20 by body score, which is what reproduces the
paper's printed values of the uniform logger. SUP learns from all documents, PI-OPT from what is logged.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from counterrank.estimate.pseudoinverse import uniform as pi_uniform
from counterrank.ids import Codes
from counterrank.lab.progress import tell
from counterrank.lab.swaminathan2017.documents import PARTS, Documents
from counterrank.lab.swaminathan2017.runs import RunLog, draw_log
from counterrank.lab.swaminathan2017.world import SlateWorld, make_world
from counterrank.optimizing.pi_opt.examples import Examples
from counterrank.optimizing.pi_opt.pi_opt import pi_opt
from counterrank.records import dataclass
from counterrank.regress import REGRESSIONS
from counterrank.regress.base import Matrix, Vector
from counterrank.statistics.pairs import Table

SLOTS = 5
MODELS = ("tree", "lasso", "ridge")  # tables 3, 4 and 5
LEARNERS = ("sup-rel", "sup-gain", "pi-opt", "pi-opt-gains")
IMPRESSIONS = 100_000


@dataclass(frozen=True)
class LearningPlan:
    """How much to simulate: runs of the tables, and sizes of figure 7 by model."""

    runs: int
    curve: dict[str, list[int]]
    models: tuple[str, ...] = MODELS


@dataclass(frozen=True)
class LearntPolicy:
    """Test NDCG. `values[model, learner]` is (runs, Q): of each query, by what was learnt without its part."""

    parts: Codes  # (Q,) of each query
    logged: Vector  # (Q,) of uniform logging
    values: dict[tuple[str, str], NDArray[np.float64]]
    curves: dict[str, dict[int, float]]  # figure 7: by model and n, the mean over folds, one run

    @property
    def models(self) -> list[str]:
        return list(dict.fromkeys(model for model, _ in self.values))

    def by_fold(self, model: str, learner: str) -> NDArray[np.float64]:
        """(runs, folds): the mean of each test part; fold i tests on part i + 4."""
        found = self.values[model, learner]
        return np.stack([found[:, self.parts == tested(fold)].mean(axis=1) for fold in range(PARTS)], axis=1)

    def average(self, model: str, learner: str) -> float:
        """Over folds, and over runs."""
        return float(self.by_fold(model, learner).mean())

    def logger(self, *, test: bool) -> Vector:
        """(folds,): uniform logging on each fold's test part, or on its three training parts."""
        used = [[tested(f)] if test else [(f + j) % PARTS for j in range(3)] for f in range(PARTS)]
        return np.array([self.logged[np.isin(self.parts, parts)].mean() for parts in used])

    def difference(self, model: str, learner: str, other: str) -> tuple[float, float]:
        """By how much one is above the other on the same queries, and its standard error; `logger` is a learner too."""
        gap = self.per_query(model, learner) - self.per_query(model, other)
        return float(gap.mean()), float(gap.std(ddof=1) / np.sqrt(len(gap)))

    def per_query(self, model: str, learner: str) -> Vector:
        """(Q,): the mean over runs."""
        return self.logged if learner == "logger" else np.asarray(self.values[model, learner].mean(axis=0))

    def errors(self, model: str, learner: str) -> Vector | None:
        """(folds,): the standard error over runs of each test part's mean; None for one run."""
        found = self.by_fold(model, learner)
        return None if len(found) < 2 else np.asarray(found.std(axis=0, ddof=1) / np.sqrt(len(found)))

    def best_sup(self, model: str) -> str:
        """Of the two that learn from labels, the one with the higher average."""
        return max(("sup-rel", "sup-gain"), key=lambda learner: self.average(model, learner))

    def to_dict(self) -> dict[str, Any]:
        return {
            "logger_training_parts": self.logger(test=False).tolist(),
            "logger_test_part": self.logger(test=True).tolist(),
            "test_ndcg": {m: {x: self.by_fold(m, x).tolist() for x in LEARNERS} for m in self.models},
            "figure7": {m: {str(n): value for n, value in curve.items()} for m, curve in self.curves.items()},
        }


def tested(fold: int) -> int:
    """The part that a fold tests on."""
    return (fold + PARTS - 1) % PARTS


def learn(documents: Documents, body: Vector, plan: LearningPlan) -> LearntPolicy:
    """Tables 3 to 5, and figure 7."""
    world = make_world(documents, body, body, slots=SLOTS)
    parts = documents.parts[world.kept]
    values = {
        (m, x): np.zeros((plan.runs if x.startswith("pi") else 1, world.queries)) for m in plan.models for x in LEARNERS
    }
    curves = {model: dict.fromkeys(sizes, 0.0) for model, sizes in plan.curve.items()}
    for fold in range(PARTS):
        tell(f"learning, fold {fold + 1} of {PARTS}: {plan.runs} runs")
        test = parts == tested(fold)
        learning, testing = world.only(~test), world.only(test)
        for run in range(plan.runs):
            log = draw_log(learning, IMPRESSIONS, 1000 * (fold + 1) + run)
            examples = examples_of(learning, log, documents)
            for model in plan.models:
                values[model, "pi-opt"][run, test] = testing.worth(plain(model, examples, testing))
                values[model, "pi-opt-gains"][run, test] = testing.worth(with_gains(model, examples, testing))
        for model in plan.models:
            for learner in ("sup-rel", "sup-gain"):
                values[model, learner][0, test] = testing.worth(_supervised(model, learner, documents, fold, testing))
        for model, sizes in plan.curve.items():
            log = draw_log(learning, max(sizes), 1000 * (fold + 1))
            for n in sizes:
                start = RunLog(log.queries[:n], log.slates[:n], log.rewards[:n])
                slates = plain(model, examples_of(learning, start, documents), testing)
                curves[model][n] += float(testing.worth(slates).mean()) / PARTS
    return LearntPolicy(parts, world.logged_value(), values, curves)


def examples_of(world: SlateWorld, log: RunLog, documents: Documents) -> Examples:
    """φ̂ = Γ†θ̂ of each query under uniform logging, the mean over its impressions; each of these weighs alike."""
    size = len(world.pairs)
    theta = np.stack([np.bincount(log.slates[:, k], log.rewards, size) for k in range(world.slots)], axis=1)
    count = np.bincount(log.queries, minlength=world.queries).astype(np.float64)
    starts = world.pairs.starts
    phi: Table = np.zeros(theta.shape)
    for q in np.flatnonzero(count):
        rows = slice(starts[q], starts[q + 1])
        phi[rows] = pi_uniform.solved(theta[rows] / count[q])
    weight = np.repeat(count[world.pairs.queries][:, None], world.slots, axis=1)
    return Examples(starts, world.features, phi, weight, documents.parts[world.kept])


def plain(model: str, examples: Examples, testing: SlateWorld) -> Codes:
    """As the paper has it: a regression of every φ̂(a, j) on the features of a, and slates by its scores.

    The examples of an item share its features, so that their mean has the same least squares.
    """
    training = REGRESSIONS[model](examples.features.shape[1], PARTS)
    used = examples.weight[:, 0] > 0
    fold = examples.fold[examples.queries[used]]
    training.add(examples.features[used], examples.phi[used].mean(axis=1), examples.weight[used, 0], fold)
    return _best(testing, training.fit().predict(testing.features))


def with_gains(model: str, examples: Examples, testing: SlateWorld) -> Codes:
    """As `counterrank optimize` has it: φ̂ centred within queries, and a gain per position."""
    learnt = pi_opt(examples, model, folds=PARTS)
    return learnt.rank(testing.features, testing.pairs.starts, testing.pairs.lengths)[0]


def _supervised(model: str, learner: str, documents: Documents, fold: int, testing: SlateWorld) -> Codes:
    part = documents.parts[documents.queries]
    rows = part != tested(fold)
    y = documents.labels if learner == "sup-rel" else 2.0**documents.labels - 1
    training = REGRESSIONS[model](documents.features.shape[1], PARTS)
    training.add(documents.features[rows], y[rows], np.ones(int(rows.sum())), part[rows])
    return _best(testing, training.fit().predict(testing.features))


def _best(world: SlateWorld, scores: Vector | Matrix) -> Codes:
    """(Q, ℓ): the candidates with the best scores; of equal ones, the first."""
    order = np.lexsort((-scores, world.pairs.queries))
    return np.asarray(order[world.pairs.starts[:-1, None] + np.arange(world.slots)])
