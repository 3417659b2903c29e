"""`optimize`: the ranking that a log says is best, by several ways."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from inspect import signature
from typing import Any

from counterrank.errors import InputError, unknown
from counterrank.log import Log, read_log
from counterrank.optimizing.holdout import NONE, SHARE, judged, parted, read_holdout
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


JUDGE = "ip"  # of policies that were not learnt by an estimator of their own


def optimize(log: Any, *, by: str = "pessimistic", holdout: float | str | None = None, **options: Any) -> Optimization:
    """A policy learnt from a log.

    by="pessimistic" (default): the ranking with the best lower bound per query, with `click_model`, `bound`, `delta`,
    `prior` and more. "pi-opt": swaminathan2017's PI-OPT, with `features`. "lp-list", "lp-ip", "lp-pbm", "lp-item": the
    policy that is best under an estimator; "ips", "ip-ips", "pi": the one best ranking under it. The docs of the
    command explain all options.

    `holdout`: a share, or "days" for the last ones. The policy is then learnt from the other impressions and judged on
    these. Policies that are best under an estimator are judged so in any case, by a twin learnt from four fifths,
    unless `holdout` is "none".

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
    source, held = read_log(log), read_holdout(holdout)
    judge = PROGRAMS[by].estimator.name if by in PROGRAMS else JUDGE
    if held is not None and held != NONE:
        parts = parted(source, held, options if "metric" in known else {**options, "metric": "clicks"})
        learnt = chosen(read_log(parts.train), **options | {"engine": "duckdb"})
        value = judged(learnt.policy, parts, judge, options, False)
        notes = [value.line(), *learnt.notes, *parts.reading.notes]
        return replace(learnt, holdout=value, reading=parts.reading, notes=notes)
    found = chosen(source, **options)
    return _with_twin(source, found, chosen, judge, options) if held is None and by in PROGRAMS else found


def _with_twin(
    log: Log, found: Optimization, chosen: Callable[..., Optimization], judge: str, options: dict[str, Any]
) -> Optimization:
    """The same, with what a policy learnt in the same way from a part of the log is worth on the rest."""
    try:
        parts = parted(log.again(found.reading), SHARE, {**options, "metric": found.metric})
        twin = chosen(read_log(parts.train), **options | {"engine": "duckdb"})
        value = judged(twin.policy, parts, judge, options, True)
    except InputError as reason:
        return replace(found, notes=[*found.notes, f"not judged on impressions held out: {reason}"])
    return replace(found, holdout=value, notes=[value.line(), *found.notes])
