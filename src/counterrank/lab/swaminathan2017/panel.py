"""One panel of the paper's figures 2 to 6: the error of every estimator against the size of the log."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from counterrank.lab.swaminathan2017.direct import direct
from counterrank.lab.swaminathan2017.runs import Estimates, rmse, simulated
from counterrank.lab.swaminathan2017.weights import Weights, deviation, weights
from counterrank.lab.swaminathan2017.world import CANDIDATES, SlateWorld
from counterrank.records import dataclass
from counterrank.regress.base import Vector

WORST = 3  # queries named
DRAWS = 1000  # resamplings of runs behind an interval
MODELS = ("ridge", "lasso", "tree")
COMPARED = 200_000  # the size at which DM's models are compared


@dataclass(frozen=True)
class PanelPlan:
    """How much of it to simulate: sizes of logs and numbers of runs, of DM's models too."""

    sizes: list[int]
    runs: int
    ridge: int = 0  # runs, at all sizes
    models: int = 0  # runs of lasso and tree, at `model_sizes`
    model_sizes: tuple[int, ...] = ()
    best: int = 20  # runs, at all sizes, of the best model where that is not ridge


@dataclass(frozen=True, kw_only=True)
class Panel:
    """What a world gave. `estimates` are (runs, sizes); those of DM have fewer runs, and of lasso and tree fewer sizes.

    The i-th run of one estimator saw the same log as the i-th run of another.
    """

    key: str
    world: SlateWorld
    weights: Weights
    sizes: dict[str, list[int]]  # by estimator
    estimates: Estimates
    no_match: Vector  # by size: the share of runs in which no logged slate is the target's
    sd: float  # PI's exact standard deviation per impression
    shares: Vector  # (Q,) of its variance

    @property
    def title(self) -> str:
        large = f", {CANDIDATES} documents or more" if self.key.endswith("large") else ""
        return f"ℓ={self.world.slots}, α={self.world.alpha:g}{large}"

    def errors(self, estimator: str, size: int) -> Vector:
        """(runs,): estimate less truth."""
        at = self.sizes[estimator].index(size)
        return np.asarray(self.estimates[estimator][:, at] - self.world.value)

    def has(self, estimator: str, size: int) -> bool:
        return size in self.sizes.get(estimator, [])

    def rmse(self, estimator: str, size: int) -> float:
        return float(np.sqrt((self.errors(estimator, size) ** 2).mean()))

    def best_direct(self) -> str | None:
        """DM's model with the smallest error at `COMPARED`, in the runs that all models have; ridge if none was run."""
        models = [name for name in MODELS if self.has(name, COMPARED)]
        if not models:
            return "ridge" if "ridge" in self.estimates else None
        runs = min(len(self.estimates[model]) for model in models)
        return min(models, key=lambda model: float((self.errors(model, COMPARED)[:runs] ** 2).mean()))

    def ratio(self, estimator: str, other: str, size: int) -> tuple[float, float, float]:
        """RMSE by RMSE, with an interval of 95 % from resampled runs: the same runs of both, if they have as many."""
        rng = np.random.default_rng(0)
        one, two = self.errors(estimator, size) ** 2, self.errors(other, size) ** 2
        drawn = rng.integers(0, len(one), (DRAWS, len(one)))
        other_drawn = drawn if len(one) == len(two) else rng.integers(0, len(two), (DRAWS, len(two)))
        with np.errstate(divide="ignore"):
            found = np.sqrt(one[drawn].mean(axis=1) / two[other_drawn].mean(axis=1))
        low, high = np.quantile(found, (0.025, 0.975))
        return self.rmse(estimator, size) / self.rmse(other, size), float(low), float(high)

    def p_value(self, estimator: str, other: str, size: int) -> float | None:
        """Of a t-test between squared errors, paired over the runs that both have."""
        from scipy.stats import ttest_rel  # slow to import

        one, two = self.errors(estimator, size) ** 2, self.errors(other, size) ** 2
        runs = min(len(one), len(two))
        return float(ttest_rel(one[:runs], two[:runs]).pvalue) if runs > 1 else None

    def worst(self) -> list[dict[str, Any]]:
        """The queries that most of PI's variance comes from."""
        names = self.world.pairs.query_ids.texts
        return [
            {
                "query": names[int(q)].as_py(),
                "candidates": int(self.world.pairs.sizes[q]),
                "share_of_variance": float(self.shares[q]),
                "sigma2": float(self.weights.sigma2[q]),
                "rho": float(self.weights.rho[q]),
                "condition": float(self.weights.condition[q]),
            }
            for q in np.argsort(-self.shares)[:WORST]
        ]

    def to_dict(self) -> dict[str, Any]:
        return {
            "title": self.title,
            "queries": self.world.queries,
            "value": self.world.value,
            "logged_value": float(self.world.logged_value().mean()),
            "standard_deviation": self.sd,
            "sigma2": float(self.weights.sigma2.mean()),
            "rho": float(self.weights.rho.max()),
            "rho_bar": float(self.weights.rho.mean()),
            "condition": float(self.weights.condition.max()),
            "worst": self.worst(),
            "rmse": {
                name: {"n": self.sizes[name], "runs": len(found), "rmse": rmse(found, self.world.value).tolist()}
                for name, found in self.estimates.items()
            },
            "runs_without_match": self.no_match.tolist(),
        }


def make_panel(key: str, world: SlateWorld, plan: PanelPlan) -> Panel:
    """Simulate all of it."""
    found = weights(world)
    sd, shares = deviation(world, found)
    estimates, no_match = simulated(world, found, plan.sizes, range(plan.runs))
    sizes = dict.fromkeys(estimates, plan.sizes)
    more: list[tuple[str, list[int], int]] = [("ridge", plan.sizes, plan.ridge)]
    more += [(model, list(plan.model_sizes), plan.models) for model in MODELS[1:]]
    for model, at, runs in more:
        if runs and at:
            sizes[model], estimates[model] = at, direct(world, model, at, range(runs))
    panel = Panel(
        key=key, world=world, weights=found, sizes=sizes, estimates=estimates, no_match=no_match, sd=sd, shares=shares
    )
    best = panel.best_direct()
    if best is not None and best != "ridge":  # figure 2 and table 2 show it at all sizes
        sizes[best], estimates[best] = plan.sizes, direct(world, best, plan.sizes, range(plan.best))
    return panel


def per_root(panel: Panel, size: int) -> float:
    """PI's RMSE·√n by its exact standard deviation: 1 if the error is what it must be."""
    return panel.rmse("pi", size) * float(np.sqrt(size)) / panel.sd


def crossing(panel: Panel, estimator: str, other: str) -> float | None:
    """The n from which `estimator` has the smaller error, on lines between the logarithms of sizes; None: never."""
    sizes = [n for n in panel.sizes[other] if panel.has(estimator, n)]
    gap: NDArray[np.float64] = np.log([panel.rmse(estimator, n) / panel.rmse(other, n) for n in sizes])
    below = np.flatnonzero(gap >= 0)
    if len(below) == len(gap) or (len(below) and below[-1] == len(gap) - 1):
        return None
    if not len(below):
        return float(sizes[0])
    i = int(below[-1])
    share = gap[i] / (gap[i] - gap[i + 1])
    return float(np.exp(np.log(sizes[i]) + share * (np.log(sizes[i + 1]) - np.log(sizes[i]))))
