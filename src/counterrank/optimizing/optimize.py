"""`optimize`: the ranking that a log says is best, by several ways."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from inspect import signature
from typing import Any

from counterrank.errors import InputError, unknown
from counterrank.log import read_log
from counterrank.optimizing.pessimistic.pessimistic import pessimistic_from_log
from counterrank.optimizing.pi_opt.from_log import pi_opt_from_log
from counterrank.optimizing.programs.programs import PROGRAMS
from counterrank.optimizing.programs.solved import solve_from_log
from counterrank.optimizing.result import Optimization

OPTIMIZERS: dict[str, Callable[..., Optimization]] = {
    "pessimistic": pessimistic_from_log,
    "pi-opt": pi_opt_from_log,
    **{name: partial(solve_from_log, name) for name in PROGRAMS},
}


def optimize(log: Any, *, by: str = "pessimistic", **options: Any) -> Optimization:
    """A policy learnt from a log.

    by="pessimistic" (default): the ranking with the best lower bound per query, with `click_model`, `bound`, `delta`,
    `prior` and more. "pi-opt": swaminathan2017's PI-OPT, with `features`. "lp-list", "lp-ip", "lp-pbm", "lp-item": the
    policy that is best under an estimator; "ips", "ip-ips", "pi": the one best ranking under it. The docs of the
    command explain all options.

    >>> log = {"query": ["q"] * 3, "items": [["a", "b"], ["b", "a"], ["a", "b"]], "clicks": [[0, 1], [1, 0], [0, 0]]}
    >>> optimize(log, click_model="cm", bound="bayes", delta=0.2).policy.rank("q")
    ['b', 'a']
    """
    if by not in OPTIMIZERS:
        raise unknown("by", by, OPTIMIZERS)
    chosen = OPTIMIZERS[by]
    known = signature(chosen).parameters
    for name in options:
        if name not in known:
            takes = [other for other, way in OPTIMIZERS.items() if name in signature(way).parameters]
            hint = f"it is for `by` {', '.join(takes)}" if takes else f"choose from {', '.join(list(known)[1:])}"
            raise InputError(f"`{name}` is not an option of `by={by}`: {hint}")
    return chosen(read_log(log), **options)
