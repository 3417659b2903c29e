"""counterrank: is the new ranking better, and is it safe to ship?

>>> import counterrank as cr
>>> log = cr.read_log({"query": ["q", "q"], "items": [["a", "b"], ["b", "a"]], "clicks": [[1, 0], [0, 1]]})
>>> cr.evaluate(log, {"q": ["a", "b"]}).value("item")
1.0
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from counterrank.stopping import watch_command
from counterrank.version import __version__

watch_command()  # before what takes a second to import

if TYPE_CHECKING:
    from counterrank import policy
    from counterrank.backtesting.backtest import backtest
    from counterrank.checking.check import check
    from counterrank.comparing.compare import compare
    from counterrank.comparing.comparison import Comparison
    from counterrank.comparing.several import compare_all
    from counterrank.errors import InputError
    from counterrank.fitting.clicks import clicks
    from counterrank.judging.evaluate import evaluate
    from counterrank.judging.evaluation import Evaluation
    from counterrank.learning.learn import learn
    from counterrank.learning.ranker import Ranker
    from counterrank.learning.result import Learning
    from counterrank.log import Log, Reading, read_log
    from counterrank.optimizing.optimize import optimize
    from counterrank.optimizing.result import Optimization
    from counterrank.policy import read_policy
    from counterrank.simulate.sessions import simulate_sessions

_MODULES = {  # where each name is from; it is imported when it is first asked for, so that the command starts at once
    "Comparison": "comparing.comparison",
    "Evaluation": "judging.evaluation",
    "InputError": "errors",
    "Learning": "learning.result",
    "Log": "log",
    "Optimization": "optimizing.result",
    "Ranker": "learning.ranker",
    "Reading": "log",
    "backtest": "backtesting.backtest",
    "check": "checking.check",
    "clicks": "fitting.clicks",
    "compare": "comparing.compare",
    "compare_all": "comparing.several",
    "evaluate": "judging.evaluate",
    "learn": "learning.learn",
    "optimize": "optimizing.optimize",
    "read_log": "log",
    "read_policy": "policy",
    "simulate_sessions": "simulate.sessions",
}


def __getattr__(name: str) -> Any:
    if name == "policy":
        return import_module("counterrank.policy")
    if name not in _MODULES:
        raise AttributeError(f"module 'counterrank' has no attribute {name!r}")
    globals()[name] = found = getattr(import_module(f"counterrank.{_MODULES[name]}"), name)
    return found


def __dir__() -> list[str]:
    return __all__


__all__ = [
    "Comparison",
    "Evaluation",
    "InputError",
    "Learning",
    "Log",
    "Optimization",
    "Ranker",
    "Reading",
    "__version__",
    "backtest",
    "check",
    "clicks",
    "compare",
    "compare_all",
    "evaluate",
    "learn",
    "optimize",
    "policy",
    "read_log",
    "read_policy",
    "simulate_sessions",
]
