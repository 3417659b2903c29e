"""From what estimators need to what a log is counted for: decided here, and nowhere else."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import pyarrow as pa
import pyarrow.compute as pc

from counterrank.engine import Plan, WantedRankings
from counterrank.setting.need import Need
from counterrank.setting.options import is_fitted, position_weights

if TYPE_CHECKING:
    from counterrank.setting.setting import Setting


def plan_for(needs: frozenset[Need], setting: Setting, *, spare: bool = False) -> Plan:
    """What the first pass over the log must count.

    `spare`: all rankings are counted only if memory holds them, since nobody asked for what needs them.
    """
    wanted = _rankings(setting) if Need.RANKINGS in needs else "none"
    pages: Literal["none", "fit", "all"] = "none" if Need.PAGES not in needs else "fit" if spare else "all"
    policies = [*setting.judged, *([setting.logging] if setting.logging else [])]
    return Plan(
        metric=setting.metric,
        weights=position_weights(setting.weights),
        queries=_queries(setting),
        top=setting.top,
        rankings=wanted,
        pages=pages,
        patterns=Need.PATTERNS in needs,
        by_propensity=setting.by_propensity and wanted != "none",
        by_item=setting.by_item and Need.MARGINALS in needs and setting.metric == "clicks",
        all_items=setting.top is not None and any(policy.ranks_all for policy in policies),
        whole_log=Need.EXAMINATION in needs and is_fitted(setting.examination),
        days="day" in setting.log.columns,
        clusters="cluster" in setting.log.columns,
    )


def _rankings(setting: Setting) -> Literal["none", "all"] | WantedRankings:
    """Those that a judged policy can show; none of the logging policy itself, whose weights are 1.

    Where nothing is judged, a policy is looked for, and every ranking of the log may be its own.
    """
    if not setting.judged:
        return "all"
    listed = [policy.rankings() for policy in setting.judged if not setting.is_logging(policy)]
    known = [each for each in listed if each is not None]
    if not listed:
        return "none"
    return WantedRankings(*map(pa.concat_arrays, zip(*known, strict=True))) if len(known) == len(listed) else "all"


def _queries(setting: Setting) -> pa.Array | None:
    """The queries that every judged policy has; None: all."""
    known = [queries for policy in setting.judged if (queries := policy.queries()) is not None]
    if len(known) < 2:
        return known[0] if known else None
    return known[0].filter(pc.is_in(known[0], value_set=known[1]))
