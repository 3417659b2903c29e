"""Judging policies from a log."""

from counterrank.evaluate.backtest import backtest
from counterrank.evaluate.check import check
from counterrank.evaluate.click_counts import count_clicks
from counterrank.evaluate.clicks import clicks
from counterrank.evaluate.compare import compare
from counterrank.evaluate.comparison import Comparison
from counterrank.evaluate.evaluate import evaluate
from counterrank.evaluate.result import Evaluation

__all__ = ["Comparison", "Evaluation", "backtest", "check", "clicks", "compare", "count_clicks", "evaluate"]
