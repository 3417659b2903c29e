"""Judging policies from a log."""

from counterrank.evaluate.backtest import backtest
from counterrank.evaluate.check import check
from counterrank.evaluate.evaluate import evaluate
from counterrank.evaluate.result import Evaluation

__all__ = ["Evaluation", "backtest", "check", "evaluate"]
