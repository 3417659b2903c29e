"""LightGBM, imported when it is first used."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from counterrank.errors import InputError
from counterrank.regress.base import Matrix, Vector

PARAMETERS: dict[str, Any] = {
    "objective": "regression", "verbosity": -1, "seed": 0, "deterministic": True, "force_row_wise": True,
    "num_threads": 2, "min_data_in_bin": 1,
}  # fmt: skip


def load() -> Any:
    """The package, or one line that says what is missing."""
    try:
        return import_module("lightgbm")
    except (ImportError, OSError) as error:
        why = str(error).splitlines()[0]
        raise InputError(
            f"trees need LightGBM, which cannot be loaded ({why}): pip install lightgbm and the system's libgomp1, "
            "or use --model ridge or lasso"
        ) from None


def dataset(x: Matrix, y: Vector, weight: Vector) -> Any:
    """Rows, binned once; `subset` takes some of them."""
    return load().Dataset(x, label=y, weight=weight, params=PARAMETERS, free_raw_data=False).construct()
