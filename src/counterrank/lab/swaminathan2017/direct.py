"""The direct method (DM): a regression of rewards on the features of a slate, read off at the target's slates."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

from counterrank.ids import Codes
from counterrank.lab.swaminathan2017.documents import FOLDS
from counterrank.lab.swaminathan2017.runs import draw_log
from counterrank.lab.swaminathan2017.weights import THREADS
from counterrank.lab.swaminathan2017.world import SlateWorld
from counterrank.regress import REGRESSIONS
from counterrank.regress.base import Matrix

CHUNK = 20_000  # rows whose features are gathered at a time


def direct(world: SlateWorld, model: str, sizes: list[int], runs: range) -> NDArray[np.float64]:
    """The estimates, (runs, sizes): trained on the first n/2 impressions, read off on the other n/2.

    A slate's features are those of its slots, one after the other. Penalties and depths are chosen by cross-validation
    over disjoint queries.
    """
    threads = THREADS if REGRESSIONS[model].linear else 1  # trees have threads of their own
    with ThreadPoolExecutor(threads) as pool:
        return np.array(list(pool.map(lambda run: _one_run(world, model, sizes, run), runs)))


def _one_run(world: SlateWorld, model: str, sizes: list[int], run: int) -> list[float]:
    log = draw_log(world, max(sizes), run)
    training = REGRESSIONS[model](world.slots * world.features.shape[1], FOLDS)
    targets = _features(world, world.slates)
    out, done = [], 0
    for size in sizes:
        for first in range(done, size // 2, CHUNK):
            rows = slice(first, min(first + CHUNK, size // 2))
            x, fold = _features(world, log.slates[rows]), log.queries[rows].astype(np.int64) % FOLDS
            training.add(x, log.rewards[rows], np.ones(len(x)), fold)
        done = size // 2
        share = np.bincount(log.queries[done:size], minlength=world.queries) / (size - done)
        out.append(float(share @ training.fit().predict(targets)))
    return out


def _features(world: SlateWorld, slates: Codes | NDArray[np.int32]) -> Matrix:
    return np.asarray(world.features[slates].reshape(len(slates), -1))
