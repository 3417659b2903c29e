"""From what estimators need to what a log is counted for: decided here, and nowhere else."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Literal

import pyarrow as pa
import pyarrow.compute as pc

from counterrank.engine import Plan, WantedRankings
from counterrank.estimate import Estimator, Need
from counterrank.evaluate.options import position_weights

if TYPE_CHECKING:
    from counterrank.evaluate.question import Question


def needs_of(estimators: Iterable[Estimator]) -> frozenset[Need]:
    """What these need, together."""
    return frozenset(need for estimator in estimators for need in estimator.needs)


def plan_for(needs: frozenset[Need], question: Question, *, spare: bool = False, learns: bool = False) -> Plan:
    """What the first pass over the log must count.

    `spare`: all rankings are counted only if memory holds them, since nobody asked for what needs them. `learns`: a
    policy is looked for, not judged, so that every ranking of the log may be its own.
    """
    wanted = _rankings(question, learns) if Need.RANKINGS in needs else "none"
    pages: Literal["none", "fit", "all"] = "none" if Need.PAGES not in needs else "fit" if spare else "all"
    policies = [*(policy for policy, _ in question.sides), *([question.logging] if question.logging else [])]
    return Plan(
        metric=question.metric,
        weights=position_weights(question.weights),
        queries=_queries(question),
        top=question.top,
        rankings=wanted,
        pages=pages,
        by_propensity=question.by_propensity and wanted != "none",
        all_items=question.top is not None and any(policy.ranks_all for policy in policies),
        whole_log=isinstance(question.examination, str) and question.examination == "em",
        days="day" in question.log.columns,
        judged="the target has" if question.baseline is None else "target and baseline both have",
    )


def _rankings(question: Question, learns: bool) -> Literal["none", "all"] | WantedRankings:
    """Those that a judged policy can show; none of the logging policy itself, whose weights are 1."""
    if learns:
        return "all"
    judged = [policy for policy, same in question.sides if not same]
    listed = [policy.rankings() for policy in judged]
    known = [each for each in listed if each is not None]
    if not listed:
        return "none"
    return WantedRankings(*map(pa.concat_arrays, zip(*known, strict=True))) if len(known) == len(listed) else "all"


def _queries(question: Question) -> pa.Array | None:
    """The queries that every judged policy has; None: all."""
    known = [queries for policy, _ in question.sides if (queries := policy.queries()) is not None]
    if len(known) < 2:
        return known[0] if known else None
    return known[0].filter(pc.is_in(known[0], value_set=known[1]))
