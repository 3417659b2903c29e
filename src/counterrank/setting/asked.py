"""What a result was asked for: a page asks the log again, where it is given, for what the result does not hold."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from functools import partial
from inspect import signature
from typing import Any

import numpy as np
from numpy.typing import NDArray

from counterrank.records import dataclass
from counterrank.setting.question import Question
from counterrank.statistics.counts import Counts

_UNIT = {"clicks": "clicks an impression", "dcg": "discounted clicks an impression"}


@dataclass(frozen=True, kw_only=True)
class Asked:
    """The call, what the log is called and got by itself, and the question, but not the log."""

    call: str
    log: str  # its name
    has_days: bool
    unit: str  # what a value counts
    target_logged: bool  # whether the target is the logging policy itself
    baseline_logged: bool
    means: NDArray[np.float64]  # (Q,) in the order of the result's queries
    mean: float
    question: Callable[..., Question]  # the same question to `log=…`

    @classmethod
    def of(cls, question: Question, call: str, counts: Counts) -> Asked:
        kept = {each.name: getattr(question, each.name) for each in fields(Question) if each.name != "log"}
        return cls(
            call=call,
            log=question.log.name,
            has_days="day" in question.log.columns,
            unit=_unit(question),
            target_logged=question.same,
            baseline_logged=question.baseline_same,
            means=counts.origin + counts.reward / np.maximum(counts.impressions, 1),
            mean=float(counts.origin + counts.reward.sum() / counts.total),
            question=partial(Question, **kept),
        )


def _unit(question: Question) -> str:
    if question.metric == "reward":
        return "reward an impression"
    return _UNIT[question.weights] if isinstance(question.weights, str) else "weighted clicks an impression"


def called(function: Callable[..., Any], given: Mapping[str, Any]) -> str:
    """A call of ours as Python, with the options that differ from the usual ones.

    >>> def evaluate(log, target, top=None, clip=None): ...
    >>> called(evaluate, {"log": "a.csv", "target": object(), "top": 5, "clip": None})
    "cr.evaluate('a.csv', target, top=5)"
    """
    parameters = signature(function).parameters.values()
    usual = {p.name: p.default for p in parameters if p.default is not p.empty}
    first = [_shown(value, key) for key, value in given.items() if key not in usual]
    rest = [f"{key}={_shown(given[key], key)}" for key in usual if not _same(given[key], usual[key])]
    return f"cr.{function.__name__}({', '.join([*first, *rest])})"


def _same(a: Any, b: Any) -> bool:
    return a is b or (type(a) is type(b) and isinstance(a, str | int | float | bool) and a == b)


def _shown(value: Any, name: str) -> str:
    """What can be typed again as it is, anything else by its name."""
    plain = isinstance(value, str | int | float | bool | None) or (
        isinstance(value, list | tuple) and all(isinstance(v, str | int | float) for v in value)
    )
    text = repr(value) if plain else ""
    return text if plain and len(text) <= 200 else name
