"""Models of features by name: what ranks queries that were never seen."""

from counterrank.learning.models.base import Fitted, Model, Progress
from counterrank.learning.models.boosted import LambdaTrees
from counterrank.learning.models.linear import LambdaLoss
from counterrank.learning.models.logistic import Logistic
from counterrank.learning.models.ridge import Ridge

MODELS: dict[str, Model] = {
    "linear": LambdaLoss(),
    "lightgbm": LambdaTrees(),
    "ridge": Ridge(),
    "logistic": Logistic(),
}

__all__ = ["MODELS", "Fitted", "LambdaLoss", "LambdaTrees", "Logistic", "Model", "Progress", "Ridge"]
