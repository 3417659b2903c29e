"""counterrank: is the new ranking better, and is it safe to ship?

>>> import counterrank as cr
>>> log = cr.read_log({"query": ["q", "q"], "items": [["a", "b"], ["b", "a"]], "clicks": [[1, 0], [0, 1]]})
>>> cr.evaluate(log, {"q": ["a", "b"]}).value("item")
1.0
"""

from counterrank.stopping import watch_command  # isort: skip

watch_command()  # before the imports, which take a second

# ruff: noqa: E402
from counterrank import policy
from counterrank.errors import InputError
from counterrank.evaluate import Comparison, Evaluation, backtest, check, clicks, compare, evaluate
from counterrank.learn import Optimization, optimize
from counterrank.log import Log, Reading, read_log
from counterrank.policy import read_policy
from counterrank.version import __version__

__all__ = [
    "Comparison",
    "Evaluation",
    "InputError",
    "Log",
    "Optimization",
    "Reading",
    "__version__",
    "backtest",
    "check",
    "clicks",
    "compare",
    "evaluate",
    "optimize",
    "policy",
    "read_log",
    "read_policy",
]
