"""Models of features by name: what ranks queries that were never seen."""

from counterrank.learning.models.base import Fitted, Model, Progress

MODELS: dict[str, Model] = {}

__all__ = ["MODELS", "Fitted", "Model", "Progress"]
