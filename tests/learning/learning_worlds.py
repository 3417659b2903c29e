"""Examples to learn from: made up, and the LETOR data with clicks drawn for them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from counterrank.learning.examples import Examples
from counterrank.learning.models import MODELS
from counterrank.log.letor import read_letor

Vector = NDArray[np.float64]
PARTS = {"mq2007-partial": [339, 339, 339, 339, 336], "mq2008": [157, 157, 157, 157, 156]}


def dcg(size: int) -> Vector:
    return 1 / np.log2(np.arange(2, size + 2))


def made(queries: int = 60, features: int = 5, seed: int = 0, longest: int = 12) -> Examples:
    """Worth that follows the first two features, with noise, never below 0; ragged queries."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(2, longest + 1, queries)
    x = rng.normal(size=(sizes.sum(), features))
    worth = np.maximum(x[:, 0] - 2 * x[:, 1] + 0.5 * rng.normal(size=len(x)), 0.0)
    return labelled(np.concatenate([[0], np.cumsum(sizes)]), x, worth)


def labelled(starts: NDArray[np.int64], x: NDArray[np.float64], worth: Vector) -> Examples:
    """Each query shown once, each item looked at."""
    return Examples(
        starts=np.asarray(starts, dtype=np.int64),
        features=np.asarray(x, dtype=np.float64),
        names=[f"f{k + 1}" for k in range(x.shape[1])],
        worth=np.asarray(worth, dtype=np.float64),
        clicks=(np.asarray(worth) > 0).astype(float),
        shown=np.ones(len(x)),
        impressions=np.ones(len(starts) - 1),
        propensity=np.ones(len(x)),
    )


def letor(data: Path, name: str) -> list[Examples]:
    """Fold 1: training, validation and test queries, with labels for worth."""
    table = read_letor(sorted((data / name).glob("*.txt.gz")))
    query = np.array(table["query"].to_pylist(), dtype=np.int64)
    order = np.argsort(query, kind="stable")
    x = np.column_stack([table[f"f{k + 1}"].to_numpy() for k in range(46)])[order]
    sizes = np.unique(query, return_counts=True)[1]
    whole = labelled(np.concatenate([[0], np.cumsum(sizes)]), x, table["label"].to_numpy()[order].astype(float))
    ends = np.cumsum([0, *PARTS[name]])
    return [whole.of(np.arange(ends[a], ends[b])) for a, b in ((0, 3), (3, 4), (4, 5))]


def ndcg(scores: Vector, labels: Examples) -> float:
    """Without a cut-off, linear gain, queries without a relevant document left out."""
    weights = dcg(labels.longest)
    best = labels.values(labels.worth, weights)
    return float((labels.values(scores, weights)[best > 0] / best[best > 0]).mean())


@dataclass(frozen=True)
class Clicked:
    """Clicks on training and validation queries, and the labels they were drawn from."""

    train: Examples
    validation: Examples
    logging_test: float


def clicked(parts: list[Examples], *, clicks: float, alpha: float, seed: int) -> Clicked:
    """Clicks on what a ranker trained on 1 % of the training queries' labels shows: 1/rank · (0.2 + α·label).

    That ranker is plain least squares. How good it is decides how good raw clicks are, which follow what was shown.
    """
    rng = np.random.default_rng(seed)
    few = np.sort(rng.choice(len(parts[0]), max(1, len(parts[0]) // 100), replace=False))
    logging = MODELS["ridge"].fit(parts[0].of(few), weights=dcg(parts[0].longest))
    ranks = [ranks_of(each, logging.score(each.features)) for each in parts[:2]]
    chances = [(0.2 + alpha * each.worth) / rank for each, rank in zip(parts[:2], ranks, strict=True)]
    total = len(parts[0]) + len(parts[1])
    impressions = int(clicks / (sum(each.sum() for each in chances) / total))
    shown = rng.multinomial(impressions, np.full(total, 1 / total))
    out, at = [], 0
    for each, rank, chance in zip(parts[:2], ranks, chances, strict=True):
        mine = shown[at : at + len(each)].astype(float)
        at += len(each)
        times = np.repeat(mine, each.sizes)
        drawn = rng.binomial(times.astype(np.int64), chance).astype(float)
        out.append(replace(each, worth=drawn * rank, clicks=drawn, shown=times, impressions=mine, propensity=1 / rank))
    return Clicked(*out, ndcg(logging.score(parts[2].features), parts[2]))


def ranks_of(examples: Examples, scores: Vector) -> Vector:
    out = np.empty(len(scores))
    for a, b in zip(examples.starts[:-1], examples.starts[1:], strict=True):
        out[a:b][np.argsort(-scores[a:b], kind="stable")] = np.arange(1, b - a + 1)
    return out
