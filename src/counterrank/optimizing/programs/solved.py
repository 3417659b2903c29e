"""Policies that are best under an estimator, from a log: count it, solve, and say what to know."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from counterrank.engine import Engine, Metric
from counterrank.errors import InputError, Unanswerable
from counterrank.estimate import Weighs
from counterrank.ids import Codes
from counterrank.log import Log, Reading
from counterrank.optimizing.candidates import plain_items
from counterrank.optimizing.programs.programs import PROGRAMS, Program, Solution, Task
from counterrank.optimizing.result import Optimization, flat
from counterrank.records import dataclass
from counterrank.setting.counting import count
from counterrank.setting.evidence import LogEvidence
from counterrank.setting.options import check_clip, check_top
from counterrank.setting.plan import plan_for
from counterrank.setting.setting import Setting, chosen_metric
from counterrank.statistics.pairs import sum_by
from counterrank.words import counted, number


@dataclass(frozen=True, repr=False, kw_only=True)
class Solved(Optimization):
    """The best policy under an estimator; a query's rows share its value."""

    estimator: str
    value: float  # of the policy, by the estimator
    clip: float | None

    def details(self) -> dict[str, Any]:
        return {"estimator": self.estimator, "value": self.value, "clip": self.clip}

    def how(self) -> str:
        return f", worth {number(self.value)} by {self.estimator}"


def solve_from_log(
    by: str,
    log: Log,
    *,
    k: int | None = None,
    candidates: Any = None,
    logging: Any = None,
    metric: str | None = None,
    weights: str | Sequence[float] = "clicks",
    examination: str | Sequence[float] = "auto",
    clip: float | None = None,
    engine: str | Engine = "duckdb",
) -> Solved:
    """The policy that a program of `PROGRAMS` finds; the options are those of `evaluate`, with `k` as its `top`."""
    program = PROGRAMS[by]
    estimator = program.estimator
    chosen = _metric(by, log, metric)
    if k is not None and chosen == "reward":
        raise InputError(
            "`k` cuts pages, but the metric is the reward of whole pages: add `metric='clicks'`, or leave k out"
        )
    check_top(k, "`k`")
    limit = check_clip(clip)
    setting = Setting.of(
        log, metric=chosen, top=k, weights=weights, examination=examination, logging=logging, candidates=candidates
    )
    lists = estimator.weighs is Weighs.RANKINGS
    if not lists and isinstance(logging, str) and logging == "propensity":
        raise InputError(
            f"`logging='propensity'` tells the chance of what was shown, but {by} asks for every item: leave it out"
        )
    run = count(setting, plan_for(estimator.needs, setting), engine)
    used = limit if estimator.clips else np.inf
    evidence = replace(setting.evidence(run, estimator.needs), clip=used)
    counts = evidence.counts
    if k is not None and k > counts.longest:
        raise Unanswerable(
            f"`k` is {k}, but the log's longest list has {counts.longest} positions: nothing is known of those below; "
            f"give at most {counts.longest}"
        )
    allowed, lengths = _allowed(setting, evidence)
    found = program.solve(Task(evidence, allowed, lengths)).without_empty()
    if len(found.queries) == 0:
        raise Unanswerable("no query of the log has candidates that were logged: check the ids of the candidates")
    value = float(found.value @ counts.impressions / counts.total)
    offsets, items = flat(found.rows, counts.pairs.items)
    said = _remarks(program, run.reading, setting, evidence, found, clip)
    return Solved(
        by=by,
        metric=setting.metric,
        impressions=counts.total,
        covered=counts.total / counts.log_impressions,
        positions=counts.pairs.positions,
        query_ids=counts.pairs.query_ids,
        item_ids=counts.pairs.item_ids,
        queries=found.queries,
        offsets=offsets,
        items=items,
        values=found.value[found.queries],
        reasons=[f"best by {estimator.name}"] * len(found.queries),
        notes=[*said, *found.notes],
        reading=run.reading,
        probability=None if program.sure else found.probability,
        estimator=estimator.name,
        value=value,
        clip=None if np.isinf(used) else used,
    )


def _metric(by: str, log: Log, metric: str | None) -> Metric:
    if PROGRAMS[by].estimator.gives("reward"):
        return chosen_metric(log, metric)
    if metric == "reward":
        raise InputError(
            f"{by} credits single clicks, but `metric='reward'` asks for pages: use `by` lp-list, ips or pi"
        )
    return chosen_metric(log, "clicks")


def _allowed(setting: Setting, evidence: LogEvidence) -> tuple[NDArray[np.bool_], Codes]:
    """Which pairs may be shown, and how many positions each query fills."""
    pairs = evidence.counts.pairs
    allowed = np.ones(len(pairs), dtype=bool)
    if setting.candidates is not None:
        query, item = plain_items(setting.candidates)
        rows = pairs.find(pairs.query_ids.codes(query), pairs.item_ids.codes(item))
        allowed[:] = False
        allowed[rows[rows >= 0]] = True
    size = sum_by(pairs.queries, allowed, len(pairs.query_ids)).astype(np.int64)
    return allowed, np.minimum(pairs.lengths, size)


def _remarks(
    program: Program, reading: Reading, setting: Setting, evidence: LogEvidence, found: Solution, clip: Any
) -> list[str]:
    counts, estimator = evidence.counts, program.estimator
    never = np.append(np.diff(counts.cells.starts) == 0, False)
    strange = int(never[found.rows].any(axis=1).sum())
    logged = counts.origin + float(counts.reward.sum()) / counts.total
    said = [
        f"the logged rankings are worth {number(logged)}; what was chosen because it looks best looks better than it "
        "is: judge the policy with counterrank evaluate on another part of the log"
    ]
    if not program.sure:
        said.append("a query's rankings are shown with their probabilities: the policy is drawn from, not sure")
    if clip is not None and not estimator.clips:
        said.append(f"{estimator.name} is not clipped: `clip` was not used")
    left = len(counts.impressions) - len(np.unique(found.queries))
    if left:
        lack = "logged rankings of candidates only" if estimator.weighs is Weighs.RANKINGS else "candidates"
        said.append(f"{counted(left, 'query', 'queries')} of the log: not ranked, for lack of {lack}")
    if strange:
        said.append(
            f"{counted(strange, 'ranking has', 'rankings have')} items that the log never shows: nothing is known of "
            "them, they fill positions and count as 0"
        )
    said.append(f"assumed: {estimator.assumption}")
    said += [*evidence.told, *evidence.fitted, *reading.notes, *setting.notes]
    if evidence.cut and estimator.weighs is Weighs.RANKINGS:
        said.append(f"propensities are of whole rankings, but `k={setting.top}` cuts them: shares are used instead")
    return said
