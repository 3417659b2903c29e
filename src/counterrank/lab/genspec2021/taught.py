"""Models of features after a million clicks: taught by labels, by debiased clicks and by raw ones."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from counterrank.lab.genspec2021.runs import Logs, RunPlan, examples, growing, worlds
from counterrank.lab.progress import counted
from counterrank.lab.result import PaperFinding, PaperTable
from counterrank.learning.examples import Examples
from counterrank.learning.gate import tied_weights
from counterrank.learning.models import MODELS
from counterrank.records import dataclass
from counterrank.simulate.labelled import Labelled, Split, Vector
from counterrank.simulate.logger import labels_of
from counterrank.simulate.ndcg import Ndcg, dcg_weights
from counterrank.simulate.users import NOISE, LoggedWorld
from counterrank.statistics.pairs import sum_by

CLICKS = 10**6
SHOWN = ("linear", "ridge", "logistic")  # trees take ten times as long, and are in the docs of models
CLIP = 10.0
LABELS, DEBIASED, RAW, CLIPPED = "labels", "clicks", "raw clicks", f"clicks, clip {CLIP:g}"
ENOUGH, TOO_MUCH = 0.99, 0.92  # of what labels teach: debiased clicks reach the first, raw ones not the second


@dataclass(frozen=True, kw_only=True)
class Taught:
    """What rankings of test queries are worth, by model and teacher, run by run."""

    name: str
    alpha: float
    value: dict[tuple[str, str], Vector]  # discounted clicks on a page where everything is looked at
    ndcg: dict[tuple[str, str], Vector]

    @property
    def title(self) -> str:
        return f"{self.name}, α = {self.alpha:g}"

    def share(self, model: str, teacher: str) -> float:
        """Test NDCG as a share of what labels teach the same model."""
        return float(self.ndcg[model, teacher].mean() / self.ndcg[model, LABELS].mean())

    def to_dict(self) -> dict[str, Any]:
        def said(found: dict[tuple[str, str], Vector]) -> dict[str, list[float]]:
            return {", ".join(key): each.tolist() for key, each in found.items()}

        return {"clicks": CLICKS, "value": said(self.value), "ndcg": said(self.ndcg)}


def teach(name: str, split: Split, alpha: float, runs: int) -> Taught:
    """All models by all teachers; each run has a logging ranker and clicks of its own."""
    found: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for seed in counted(f"{name}, α = {alpha:g}, models of features", range(runs), runs):
        plan = RunPlan(alpha=alpha, clicks=(CLICKS,), gates=(), general=False)
        train, validation, logger = worlds(split, plan, seed)
        (logs,) = growing(train, validation, (CLICKS,), np.random.default_rng([seed, 2]))
        measure = Worth(split.test, alpha)
        found.setdefault(("logging", ""), []).append(measure(logger.score(split.test.features)))
        weights = dcg_weights(max(split.train.longest, split.validation.longest))
        for teacher, lessons in _lessons(split, (train, validation), logs):
            for model in SHOWN if teacher != CLIPPED else SHOWN[:1]:
                fitted = MODELS[model].fit(*lessons, weights=weights, seed=seed)
                found.setdefault((model, teacher), []).append(measure(fitted.score(split.test.features)))
    value, ndcg = ({key: np.array([run[i] for run in each]) for key, each in found.items()} for i in (0, 1))
    return Taught(name=name, alpha=alpha, value=value, ndcg=ndcg)


def _lessons(
    split: Split, worlds: tuple[LoggedWorld, LoggedWorld], logs: Logs
) -> Iterator[tuple[str, tuple[Examples, Examples]]]:
    """What each teacher gives to train and to validate on."""
    yield LABELS, (labels_of(split.train), labels_of(split.validation))
    train, validation = examples(worlds[0], logs.train + logs.selection), examples(worlds[1], logs.validation)
    yield DEBIASED, (train, validation)
    yield RAW, (train.naive(), validation.naive())
    yield CLIPPED, (_clipped(train), _clipped(validation))


def _clipped(each: Examples) -> Examples:
    assert each.propensity is not None  # noqa: S101 - simulated logs have them
    return replace(each, worth=each.clicks * np.minimum(1 / each.propensity, CLIP))


class Worth:
    """Of scores of documents: discounted clicks a query on average, and NDCG by labels."""

    def __init__(self, data: Labelled, alpha: float) -> None:
        self.data, self.attraction, self.ndcg = data, NOISE + alpha * data.labels, Ndcg(data)

    def __call__(self, scores: Vector) -> tuple[float, float]:
        weight = tied_weights(self.data.starts, scores, self.ndcg.weights)
        clicks = sum_by(self.data.queries, self.attraction * weight, len(self.data))
        return float(clicks.mean()), self.ndcg(weight)


def table(found: Taught) -> PaperTable:
    rows = []
    for model, teacher in found.ndcg:
        value, ndcg = found.value[model, teacher], found.ndcg[model, teacher]
        share = f"{found.share(model, teacher):.1%}" if teacher else "–"
        rows.append([model, teacher, f"{value.mean():.4f}", f"{ndcg.mean():.4f} ± {ndcg.std(ddof=1):.4f}", share])
    runs = len(found.ndcg["logging", ""])
    title = f"Models of features, {found.title}: {CLICKS:,} clicks, {runs} runs, on test queries"
    return PaperTable(title, ["model", "taught by", "click value", "NDCG ± sd", "of labels' NDCG"], rows)


def finding(found: Taught) -> PaperFinding:
    """Ours: the paper does not train on labels."""
    debiased, raw = found.share("linear", DEBIASED), found.share("linear", RAW)
    value = [float(found.value["linear", teacher].mean()) for teacher in (LABELS, DEBIASED, RAW)]
    holds = [debiased >= ENOUGH, raw < TOO_MUCH]
    claim = (
        f"ours: a million debiased clicks teach {ENOUGH:.0%} of the test NDCG that labels do, raw clicks less than "
        f"{TOO_MUCH:.0%}"
    )
    values = ", ".join(f"{who} {each:.4f}" for who, each in zip(("labels", "debiased", "raw"), value, strict=True))
    said = f"{debiased:.1%} and {raw:.1%}; click values: {values}"
    return PaperFinding(claim, found.title, "yes" if all(holds) else "in part" if any(holds) else "no", said)
