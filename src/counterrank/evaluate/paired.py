"""A comparison by paired differences of one estimator."""

from __future__ import annotations

import math
from dataclasses import replace
from statistics import NormalDist

import numpy as np
import pyarrow as pa

from counterrank.engine import Engine, Pass, open_engine
from counterrank.errors import InputError, unknown
from counterrank.estimate import ESTIMATORS, Estimate, Estimator, Evidence, Linear
from counterrank.estimate.difference import PAIRED, difference
from counterrank.evaluate.clip import Choice, clipped, grid_below, key, largest_weight, picked, warning
from counterrank.evaluate.compare_verdict import of_pair
from counterrank.evaluate.comparison import Bound, Comparison, Verdict
from counterrank.evaluate.evaluate import finished, row_of
from counterrank.evaluate.pages.asked import Asked
from counterrank.evaluate.question import Question
from counterrank.evaluate.result import Row
from counterrank.evaluate.words import warn
from counterrank.interval import INTERVALS, Spread
from counterrank.log import Log

ROUNDING = 1e-12  # relative: a difference that is smaller is 0 but for rounding
SIDES = ("target", "baseline")


def check_paired(name: str) -> str:
    if name not in ESTIMATORS:
        raise unknown("estimator", name, PAIRED)
    if name not in PAIRED:
        raise InputError(f"{name} has no paired differences: choose from {', '.join(PAIRED)}")
    return name


def compare_paired(
    question: Question, name: str, confidence: float, engine: str | Engine, call: str, auto: bool = False
) -> Comparison:
    """Both policies by the estimator `name`, and the difference with the influence of each impression on both.

    `auto`: with the clip that the data choose for the difference.
    """
    estimator = ESTIMATORS[name]
    if question.metric == "reward" and estimator.needs_clicks:
        raise InputError(f"{name} credits single clicks, but the metric is a page-level reward: add --metric clicks")
    plan = question.plan(estimator.needs_rankings, "all" if estimator.needs_pairs else "none")
    run = open_engine(engine).count(question.log, plan)
    target, baseline = question.evidences(run, estimator.needs_clicks or estimator.needs_pairs)
    done, choice = _estimates(estimator, (target, baseline), run, auto)
    target, baseline = (clipped(side, choice.clip) for side in (target, baseline))
    rows = {
        side: row_of(name, done[side], target.counts, None, confidence, None, warn(name, done[side], evidence))
        for side, evidence in zip(SIDES, (target, baseline), strict=True)
    }
    counts, gap = target.counts, done["difference"]
    value, stderr = _difference(gap, list(rows.values()), counts.total)
    lower = upper = None
    if value is not None and stderr is not None:
        lower, upper = INTERVALS["normal"](Spread(value, stderr, counts.total), confidence)
    verdict: Verdict = "undecided"
    if lower is not None and upper is not None:
        verdict = "target" if lower > 0 else "baseline" if upper < 0 else "undecided"
    alone = replace(rows["target"], value=value, stderr=stderr, lower=lower, upper=upper, unsupported=gap.unsupported)
    return Comparison(
        difference=value,
        lower=lower,
        upper=upper,
        confidence=confidence,
        verdict=verdict,
        impressions_needed=0 if verdict != "undecided" else _needed(value, stderr, counts.total, confidence),
        covered=counts.total / counts.log_impressions,
        unsupported={side: row.unsupported for side, row in rows.items()},
        separate={side: Bound(row.value, row.lower, row.upper) for side, row in rows.items()},
        impressions=counts.total,
        queries=len(counts.impressions),
        positions=target.positions,
        metric=question.metric,
        clicks=int(counts.clicked.sum()) if question.metric == "clicks" else None,
        estimator=name,
        interval="normal",
        stderr=stderr,
        clip=choice.clip if math.isfinite(choice.clip) else None,
        by_query=None,
        per_query=_per_query(target, gap),
        warnings=[*(f"{side}: {text}" for side, row in rows.items() for text in row.warnings), *_chosen(choice, auto)],
        notes=[*said_of(question.log), *question.notes, f"{name} assumes: {estimator.assumption}"],
        diagnosis=of_pair(name, (target, baseline), done, rows, alone),
        asked=Asked.of(question, engine, call, counts),
    )


def _estimates(
    estimator: Estimator, sides: tuple[Evidence, Evidence], run: Pass, auto: bool
) -> tuple[dict[str, Estimate], Choice]:
    """Of target, baseline and their difference; every clip that is tried is weighed in the same pass."""
    clips = [sides[0].clip]
    drafts: dict[str, Estimate | Linear] = {}
    with np.errstate(over="ignore", invalid="ignore"):  # what is not finite has no interval
        if auto:
            clips = grid_below(max(largest_weight(estimator.name, side) for side in sides))
        for i, clip in enumerate(clips):
            both = clipped(sides[0], clip), clipped(sides[1], clip)
            alone = [estimator.estimate(side) for side in both]
            found = (*alone, difference(estimator, both, alone))
            drafts |= {key(side, i): draft for side, draft in zip((*SIDES, "difference"), found, strict=True)}
        done, _ = finished(drafts, sides[0], run, cross=False)
    gaps = [done[key("difference", i)] for i in range(len(clips))]
    choice = picked(clips, gaps, sides[0].counts.total)
    return {side: done[key(side, choice.number)] for side in (*SIDES, "difference")}, choice


def _chosen(choice: Choice, auto: bool) -> list[str]:
    return [f"the data chose the clip {choice.words()}", *warning(choice)] if auto else []


def said_of(log: Log) -> list[str]:
    """What reading the log has to say."""
    set_aside = [f"{log.rejected:,} bad rows were set aside in {log.bad_rows}"] if log.rejected else []
    return [*log.notes, *set_aside]


def _difference(gap: Estimate, rows: list[Row], n: int) -> tuple[float | None, float | None]:
    """The value, and its standard error where both policies have one."""
    if any(row.value is None for row in rows) or gap.value is None:
        return None, None
    size = max(abs(row.value or 0.0) for row in rows)
    value = 0.0 if abs(gap.value) <= ROUNDING * size else gap.value
    second = gap.second_moment
    if second is None or not math.isfinite(second) or any(row.stderr is None for row in rows):
        return value, None
    return value, math.sqrt(max(second, 0.0) / n / (n - 1))


def _needed(value: float | None, stderr: float | None, n: int, confidence: float) -> int | None:
    """Further impressions until the interval, which shrinks with their root, leaves 0 out."""
    if not value or stderr is None:
        return None
    z = -NormalDist().inv_cdf((1 - confidence) / 2)
    return min(max(math.floor(n * (z * stderr / value) ** 2) + 1 - n, 1), 2**63 - 1)


def _per_query(evidence: Evidence, gap: Estimate) -> pa.Table:
    counts = evidence.counts
    return pa.table(
        {
            "query": counts.pairs.query_ids.column(),
            "impressions": pa.array(counts.impressions),
            "difference": pa.array(gap.per_query, mask=~np.isfinite(gap.per_query)),
        }
    )
