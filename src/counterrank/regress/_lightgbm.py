"""LightGBM, imported when it is first used."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from counterrank.errors import NotInstalled
from counterrank.regress.base import Matrix, Vector

PARAMETERS: dict[str, Any] = {
    "objective": "regression", "verbosity": -1, "seed": 0, "deterministic": True, "force_row_wise": True,
    "min_data_in_bin": 1, "feature_pre_filter": False,
}  # fmt: skip
LARGE = 2_000_000  # numbers from which a second thread pays; below it, threads mostly wait for each other


def load(instead: str = "ridge or lasso") -> Any:
    """The package, or one line that says what is missing, and which `model` does without."""
    try:
        return import_module("lightgbm")
    except (ImportError, OSError) as error:
        why = str(error).splitlines()[0]
        raise NotInstalled(
            f"trees need LightGBM, which cannot be loaded ({why}): pip install lightgbm and the system's libgomp1, "
            f"or use `model` {instead}"
        ) from None


def dataset(x: Matrix, y: Vector, weight: Vector) -> Any:
    """Rows, binned once; `subset` takes some of them. Weights count by their ratios, so penalties mean the same."""
    share = weight / max(float(weight.mean()), np.finfo(float).tiny)
    found = load().Dataset(x, label=y, weight=share, params=_threads(x.size), free_raw_data=False)
    return found.construct()


def train(data: Any, rounds: int, shape: dict[str, Any]) -> Any:
    """So many trees of this shape."""
    return load().train({**_threads(data.num_data() * data.num_feature()), **shape}, data, rounds)


def _threads(cells: int) -> dict[str, Any]:
    return {**PARAMETERS, "num_threads": 2 if cells > LARGE else 1}


def booster(data: Any, shape: dict[str, Any]) -> Any:
    """A booster without trees, to which `update` adds by slopes of one's own."""
    own = {"objective": "none", "boost_from_average": False}
    return load().Booster({**_threads(data.num_data() * data.num_feature()), **shape, **own}, data)


def of_text(text: str) -> Any:
    """A booster from its own text, which is data."""
    return load().Booster(model_str=text)
