"""One run: a logging ranker, a log that grows, and at every number of clicks what each method would serve."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import field

import numpy as np
from numpy.typing import NDArray

from counterrank.lab.genspec2021.gates import POSTERIOR, TABULAR, Gated, Let, candidates_of, let_through
from counterrank.learning.examples import Examples
from counterrank.learning.gate import PairClicks, levelled, tied_weights
from counterrank.learning.models import MODELS, Fitted
from counterrank.learning.shrunk import shrunk
from counterrank.records import dataclass
from counterrank.simulate.labelled import Labelled, Split, Vector
from counterrank.simulate.logger import logged_ranks, train_logger
from counterrank.simulate.ndcg import Ndcg, dcg_weights
from counterrank.simulate.users import Clicked, LoggedWorld, coming

SELECTED = 0.5  # of the clicks on training queries: what the gate judges by


@dataclass(frozen=True, kw_only=True)
class RunPlan:
    """What is simulated: the same world with other clicks for another seed."""

    alpha: float
    clicks: tuple[int, ...]  # on training queries
    gates: tuple[Gated, ...]
    general: bool = True  # whether a model of features is trained
    rankings: int = 1  # logged for each query; 1: deterministic
    temperature: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Run:
    """NDCG by method and number of clicks; methods are `logging`, `general`, `special`, and what each gate serves."""

    train: dict[str | Gated, Vector]  # (C,)
    test: dict[str | Gated, Vector]  # (C,); the special policy has none
    special: dict[Gated, NDArray[np.bool_]] = field(default_factory=dict)  # (C, Q) where it was let through
    general: dict[Gated, NDArray[np.bool_]] = field(default_factory=dict)  # (C,)


@dataclass(frozen=True, kw_only=True)
class Logs:
    """The log so far: training clicks in two parts, and validation clicks."""

    train: Clicked
    selection: Clicked
    validation: Clicked


def worlds(split: Split, plan: RunPlan, seed: int) -> tuple[LoggedWorld, LoggedWorld, Fitted]:
    """Training and validation queries with what is logged for them, and the ranker that logs."""
    logger = train_logger(split.train, seed)
    rng = np.random.default_rng([seed, 1])
    shares = np.full(plan.rankings, 1 / plan.rankings)

    def world(data: Labelled) -> LoggedWorld:
        ranks = logged_ranks(data, logger.score(data.features), rng, plan.rankings, plan.temperature)
        return LoggedWorld(data=data, ranks=ranks, shares=shares, alpha=plan.alpha)

    return world(split.train), world(split.validation), logger


def growing(
    train: LoggedWorld, validation: LoggedWorld, clicks: Sequence[int], rng: np.random.Generator
) -> Iterator[Logs]:
    """The log whenever so many clicks on training queries are to be expected; validation queries come as often."""

    def none(data: Labelled) -> Clicked:
        return Clicked(np.zeros(len(data), dtype=np.int64), np.zeros(len(data.labels), dtype=np.int64))

    logs, done = [none(train.data), none(train.data), none(validation.data)], 0
    for level in clicks:
        upto = round(level / train.clicks_per_impression)
        often = coming(len(train.data), upto - done, rng)
        chosen = rng.binomial(often, SELECTED)
        more = round((upto - done) * len(validation.data) / len(train.data))
        logs[0] += train.draw(often - chosen, rng)
        logs[1] += train.draw(chosen, rng)
        logs[2] += validation.draw(coming(len(validation.data), more, rng), rng)
        done = upto
        yield Logs(train=logs[0], selection=logs[1], validation=logs[2])


def examples(world: LoggedWorld, log: Clicked) -> Examples:
    """What a model learns from: clicks by their propensity."""
    data = world.data
    return Examples(
        starts=data.starts,
        features=data.features,
        names=data.names,
        worth=log.clicks / world.propensity,
        clicks=log.clicks.astype(np.float64),
        shown=log.impressions[data.queries].astype(np.float64),
        impressions=log.impressions.astype(np.float64),
        propensity=world.propensity,
    )


def memorised(world: LoggedWorld, log: Clicked, weights: Vector) -> Vector:
    """(P,) rank weights of the special policy: by r̂ of eq. 16, ties shared. Of a query r̂ is over one number only."""
    return tied_weights(world.data.starts, levelled(world.data.starts, log.clicks / world.propensity), weights)


def posterior(world: LoggedWorld, log: Clicked, says: Vector | None, weights: Vector) -> Vector:
    """(P,) rank weights of the shrunk special policy; `says`: what the model of features says of each document."""
    looks = log.impressions[world.data.queries] * world.propensity
    scores = shrunk(log.clicks, looks, world.data.starts, says).scores
    return tied_weights(world.data.starts, levelled(world.data.starts, scores), weights)


class Simulation:
    """A run, piece by piece."""

    def __init__(self, split: Split, plan: RunPlan, seed: int) -> None:
        self.split, self.plan, self.seed = split, plan, seed
        self.world, self.validation, logger = worlds(split, plan, seed)
        self.on_train, self.on_test = Ndcg(split.train), Ndcg(split.test)
        self.weights = dcg_weights(max(split.train.longest, split.validation.longest))
        self.logging = np.asarray(self.world.shares @ self.weights[self.world.ranks])
        self.logging_on_test = self.on_test.of_scores(logger.score(split.test.features))

    def play(self) -> Run:
        rng = np.random.default_rng([self.seed, 2])
        found = [self._judged(logs) for logs in growing(self.world, self.validation, self.plan.clicks, rng)]
        return Run(
            train={name: np.array([at[0][name] for at in found]) for name in found[0][0]},
            test={name: np.array([at[1][name] for at in found]) for name in found[0][1]},
            special={each: np.stack([at[2][each].special for at in found]) for each in self.plan.gates},
            general={each: np.array([at[2][each].general for at in found]) for each in self.plan.gates},
        )

    def _judged(self, logs: Logs) -> tuple[dict[str | Gated, float], dict[str | Gated, float], dict[Gated, Let]]:
        """NDCG on training and on test queries, and what was let through."""
        both = logs.train + logs.selection
        data = self.split.train
        before = after = None
        if self.plan.general:
            before = self._fit(logs.train, logs.validation)
            after = self._fit(both, logs.validation, like=before)
        general = None if before is None else self._weights(data, before)
        judged, served = self._special(logs.train, before), self._special(both, after)
        selection = PairClicks(
            starts=data.starts, impressions=logs.selection.impressions, clicks=logs.selection.clicks,
            propensity=self.world.propensity, positions=data.longest, most=float(self.weights[0]),
        )  # fmt: skip
        let = let_through(selection, judged, general, self.logging, list(self.plan.gates))
        ranked = {"logging": self.logging, **served}
        on_test: dict[str | Gated, float] = {"logging": self.logging_on_test}
        if after is not None:
            ranked["general"] = self._weights(data, after)
            on_test["general"] = self.on_test.of_scores(after.score(self.split.test.features))
        return self._values(ranked, on_test, let)

    def _values(
        self, ranked: dict[str, Vector], on_test: dict[str | Gated, float], let: dict[Gated, Let]
    ) -> tuple[dict[str | Gated, float], dict[str | Gated, float], dict[Gated, Let]]:
        each = {name: self.on_train.per_query(weight) for name, weight in ranked.items()}
        train: dict[str | Gated, float] = {name: float(np.nanmean(values)) for name, values in each.items()}
        test = dict(on_test)
        for gated, through in let.items():
            other = "general" if through.general else "logging"
            special = np.where(through.shrunk, each[POSTERIOR], each[TABULAR]) if POSTERIOR in each else each[TABULAR]
            train[gated] = float(np.nanmean(np.where(through.special, special, each[other])))
            test[gated] = on_test[other]
        return train, test, let

    def _special(self, log: Clicked, fitted: Fitted | None) -> dict[str, Vector]:
        """The special policies that gates choose from."""
        out = {TABULAR: memorised(self.world, log, self.weights)}
        if any(POSTERIOR in candidates_of(kind) for kind, _ in self.plan.gates):
            says = None if fitted is None else fitted.score(self.split.train.features)
            out[POSTERIOR] = posterior(self.world, log, says, self.weights)
        return out

    def _fit(self, log: Clicked, validation: Clicked, like: Fitted | None = None) -> Fitted:
        """`like`: what is judged, whose hyper-parameters what is served takes over."""
        lessons = examples(self.world, log), examples(self.validation, validation)
        return MODELS["linear"].fit(*lessons, weights=self.weights, seed=self.seed, like=like)

    def _weights(self, data: Labelled, fitted: Fitted) -> Vector:
        return tied_weights(data.starts, fitted.score(data.features), self.weights)
