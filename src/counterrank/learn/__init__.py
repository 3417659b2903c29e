"""Learning policies from a log."""

from counterrank.learn.examples import Examples
from counterrank.learn.greedy import greedy
from counterrank.learn.optimize import OPTIMIZERS, optimize
from counterrank.learn.pessimistic_result import Pessimistic
from counterrank.learn.pi_opt import PiOpt, pi_opt
from counterrank.learn.result import Optimization
from counterrank.learn.solved import Solved
from counterrank.learn.worth import CLICK_WORTHS

__all__ = [
    "CLICK_WORTHS",
    "OPTIMIZERS",
    "Examples",
    "Optimization",
    "Pessimistic",
    "PiOpt",
    "Solved",
    "greedy",
    "optimize",
    "pi_opt",
]
