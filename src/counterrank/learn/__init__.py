"""Learning policies from a log."""

from counterrank.learn.examples import Examples
from counterrank.learn.greedy import greedy
from counterrank.learn.optimize import OPTIMIZERS, optimize
from counterrank.learn.pi_opt import PiOpt, pi_opt
from counterrank.learn.result import Optimization

__all__ = ["OPTIMIZERS", "Examples", "Optimization", "PiOpt", "greedy", "optimize", "pi_opt"]
