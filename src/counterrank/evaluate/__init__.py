"""Judging policies from a log."""

from counterrank.evaluate.evaluate import evaluate
from counterrank.evaluate.result import Evaluation

__all__ = ["Evaluation", "evaluate"]
