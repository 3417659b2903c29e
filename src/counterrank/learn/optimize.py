"""`optimize`: the ranking that a log says is best, by several ways."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from counterrank.errors import InputError, unknown
from counterrank.learn.from_log import pi_opt_from_log
from counterrank.learn.result import Optimization
from counterrank.log import read_log

OPTIMIZERS: dict[str, Callable[..., Optimization]] = {"pi-opt": pi_opt_from_log}


def optimize(log: Any, *, by: str | None = None, **options: Any) -> Optimization:
    """A policy learnt from a log.

    by="pi-opt": swaminathan2017's PI-OPT. Its options: `features` (needed), `model`, `slots`, `k`, `candidates`,
    `logging`, `metric`, `weights` and `engine`; the docs of the command explain them.

    >>> log = {"query": ["q"] * 2, "items": [["a", "b"], ["b", "a"]], "reward": [1.0, 0.0]}
    >>> optimize(log, by="pi-opt", features={"query": ["q", "q"], "item": ["a", "b"], "x": [1, 0]}).policy.rank("q")
    ['a', 'b']
    """
    if by is None:
        raise InputError(f"say how with --by: this version has only {', '.join(OPTIMIZERS)}")
    if by not in OPTIMIZERS:
        raise unknown("by", by, OPTIMIZERS)
    return OPTIMIZERS[by](read_log(log), **options)
