"""Simulated logs of a world, and every estimate at each size of the log: a shorter log is the start of a longer one."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from counterrank.compiled import njit
from counterrank.lab.swaminathan2017.weights import THREADS, Weights
from counterrank.lab.swaminathan2017.world import SlateWorld
from counterrank.records import dataclass
from counterrank.regress.base import Vector

SEED = 2017
Estimates = dict[str, NDArray[np.float64]]  # by estimator: (runs, sizes)


@dataclass(frozen=True)
class RunLog:
    """Impressions: the query of each, its slate as rows of the pairs, its reward."""

    queries: NDArray[np.int32]  # (n,)
    slates: NDArray[np.int32]  # (n, ℓ)
    rewards: Vector  # (n,)


def rng_of(run: int) -> np.random.Generator:
    """The random numbers of a run: the same for every estimator."""
    return np.random.default_rng((SEED, run))


def draw_log(world: SlateWorld, impressions: int, run: int) -> RunLog:
    """The log of a run, the same that `simulated` sums over."""
    log = RunLog(
        np.empty(impressions, dtype=np.int32), np.empty((impressions, world.slots), dtype=np.int32),
        np.empty(impressions),
    )  # fmt: skip
    nothing, sizes = np.zeros((len(world.pairs), world.slots)), np.array([impressions])
    weights = (nothing, nothing, np.zeros(world.queries))
    sums = np.zeros((1, 5 + 2 * world.slots))
    _run(rng_of(run), _arrays(world), weights, sizes, sums, (log.queries, log.slates, log.rewards))
    return log


def simulated(world: SlateWorld, found: Weights, sizes: list[int], runs: range) -> tuple[Estimates, Vector]:
    """The estimates of PI, IPS, wIPS, SB, wSB and ONPOLICY, and the share of runs where wIPS has no value, by size.

    Where no logged slate is the target's, wIPS is 0/0; it counts as 0, as does a slot of wSB.
    """
    slots = world.slots
    sums = np.zeros((len(runs), len(sizes), 5 + 2 * slots))
    none = (np.empty(0, dtype=np.int32), np.empty((0, slots), dtype=np.int32), np.empty(0))

    def work(i: int) -> None:
        weights = (found.pi, found.slot, found.whole)
        _run(rng_of(runs[i]), _arrays(world), weights, np.array(sizes), sums[i], none)

    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(work, range(len(runs))))
    n = np.array(sizes, dtype=np.float64)
    part, weight = sums[..., 5 : 5 + slots], sums[..., 5 + slots :]
    estimates = {
        "pi": sums[..., 0] / n,
        "ips": sums[..., 2] / n,
        "wips": _ratio(sums[..., 2], sums[..., 3]),
        "sb": part.sum(axis=2) / n,
        "wsb": _ratio(part, weight).sum(axis=2),
        "onpolicy": sums[..., 4] / n,
    }
    return estimates, np.asarray((sums[..., 3] == 0).mean(axis=0))


def _arrays(world: SlateWorld) -> tuple[Any, ...]:
    return world.pairs.starts, world.rates, world.alpha == 0, world.phi, world.slates, world.values


def _ratio(above: NDArray[np.float64], below: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.divide(above, below, out=np.zeros_like(above), where=below > 0)


def rmse(estimates: NDArray[np.float64], value: float) -> Vector:
    """The root mean square error over runs, by size."""
    return np.asarray(np.sqrt(((estimates - value) ** 2).mean(axis=0)))


@njit(nogil=True)
def _draw(rng: Any, rate: Any, uniform: Any, order: Any, low: Any, high: Any, slate: Any) -> None:  # pragma: no cover
    """A slate without replacement from order[low:high], which stays a permutation of the same rows."""
    for k in range(len(slate)):
        first = low + k
        if uniform:
            chosen = first + int(rng.random() * (high - first))
        else:
            left = 0.0
            for i in range(first, high):
                left += rate[order[i]]
            aim, chosen = rng.random() * left, first
            while chosen < high - 1 and aim >= rate[order[chosen]]:
                aim -= rate[order[chosen]]
                chosen += 1
        order[first], order[chosen] = order[chosen], order[first]
        slate[k] = order[first]


@njit(nogil=True)
def _run(rng: Any, world: Any, weights: Any, sizes: Any, sums: Any, log: Any) -> None:  # pragma: no cover
    """Fills sums (sizes, 5 + 2ℓ): Σwr, Σw of PI, Σwr, Σw of IPS, Σ of the target's rewards, Σwr, Σw of each slot."""
    starts, rate, uniform, phi, target, values = world
    u, slot, whole = weights
    log_queries, log_slates, log_rewards = log
    slots = phi.shape[1]
    queries = len(starts) - 1
    order = np.arange(len(phi))
    slate = np.empty(slots, dtype=np.int64)
    held = np.zeros(5 + 2 * slots)
    done = 0
    for step in range(len(sizes)):
        for i in range(done, sizes[step]):
            q = int(rng.random() * queries)
            _draw(rng, rate, uniform, order, starts[q], starts[q + 1], slate)
            w, r, same = 0.0, 0.0, True
            for k in range(slots):
                row = slate[k]
                w += u[row, k]
                r += phi[row, k]
                if row != target[q, k]:
                    same = False
                else:
                    held[5 + k] += slot[row, k] * phi[row, k]
                    held[5 + slots + k] += slot[row, k]
            held[0] += w * r
            held[1] += w
            if same:
                held[2] += whole[q] * r
                held[3] += whole[q]
            held[4] += values[q]
            if i < len(log_queries):
                log_queries[i] = q
                log_rewards[i] = r
                for k in range(slots):
                    log_slates[i, k] = slate[k]
        done = sizes[step]
        sums[step] = held
