"""Queries that are held out to choose by: the counterfactual value of weights on them."""

from __future__ import annotations

import numpy as np

from counterrank.learning.examples import Examples, Vector
from counterrank.learning.models.lambda_loss import scored
from counterrank.learning.models.scaled import Scale


class Held:
    """Validation queries, on the scale of the training queries."""

    def __init__(self, examples: Examples, scale: Scale, weights: Vector) -> None:
        self.examples, self.weights = examples, weights
        self.rows = scale.apply(examples.features)

    def value(self, weights: Vector) -> float:
        """Σ worth · λ(rank) of an impression, ranked by a weighted sum of features."""
        scores = np.empty(len(self.rows))
        scored(self.rows, weights.astype(np.float32), scores)
        return self.examples.value(scores, self.weights)
