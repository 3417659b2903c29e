"""Regressions by name: the hyper-parameter of each is chosen by cross-validation over disjoint queries."""

from counterrank.regress._lightgbm import load as load_lightgbm
from counterrank.regress.base import FOLDS, Fitted, Training, folds_of
from counterrank.regress.boosted import LightGBM
from counterrank.regress.lasso import Lasso
from counterrank.regress.ridge import Ridge
from counterrank.regress.tree import Tree

REGRESSIONS: dict[str, type[Training]] = {"ridge": Ridge, "lasso": Lasso, "tree": Tree, "lightgbm": LightGBM}

__all__ = [
    "FOLDS",
    "REGRESSIONS",
    "Fitted",
    "Lasso",
    "LightGBM",
    "Ridge",
    "Training",
    "Tree",
    "folds_of",
    "load_lightgbm",
]
