"""Regressions by name: the hyper-parameter of each is chosen by cross-validation over disjoint queries."""

from counterrank.regress._lightgbm import load as load_lightgbm
from counterrank.regress.base import FOLDS, Fitted, Training, folds_of
from counterrank.regress.boosted import LightGBM
from counterrank.regress.lasso import Lasso
from counterrank.regress.prior import PriorModel, Scale, Seen, without_features
from counterrank.regress.prior_boosted import BoostedPrior
from counterrank.regress.prior_linear import LinearPrior
from counterrank.regress.ridge import Ridge
from counterrank.regress.tree import Tree

REGRESSIONS: dict[str, type[Training]] = {"ridge": Ridge, "lasso": Lasso, "tree": Tree, "lightgbm": LightGBM}
PRIOR_MODELS: dict[str, type[PriorModel]] = {"linear": LinearPrior, "lightgbm": BoostedPrior}

__all__ = [
    "FOLDS", "PRIOR_MODELS", "REGRESSIONS", "Fitted", "Lasso", "LightGBM", "LinearPrior", "PriorModel", "Ridge",
    "Scale", "Seen", "Training", "Tree", "folds_of", "load_lightgbm", "without_features",
]  # fmt: skip
