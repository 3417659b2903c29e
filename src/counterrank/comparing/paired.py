"""A comparison by paired differences of one estimator."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from counterrank.comparing.comparison import Comparison, SideValue, Verdict
from counterrank.comparing.paired_queries import ROUNDING, per_query
from counterrank.comparing.verdict import of_pair
from counterrank.engine import Engine, Pass
from counterrank.errors import InputError
from counterrank.estimate import ESTIMATORS, Estimate, Estimator, LinearEstimate
from counterrank.estimate.choose import check_model
from counterrank.estimate.difference import difference
from counterrank.interval import INTERVALS, NoInterval, Spread, usual
from counterrank.judging.clip import ClipChoice, clipped, grid_below, key, picked, warning
from counterrank.judging.distance import add_distance
from counterrank.judging.evaluate import finished, row_of
from counterrank.judging.remarks import warn
from counterrank.log.features import read_features
from counterrank.result.row import Row
from counterrank.setting.asked import Asked
from counterrank.setting.counting import count
from counterrank.setting.evidence import Evidence
from counterrank.setting.need import Need
from counterrank.setting.options import check_inside
from counterrank.setting.plan import plan_for
from counterrank.setting.question import Question

SIDES = ("target", "baseline")


@dataclass(frozen=True)
class How:
    """What an estimator is asked with. `auto`: with the clip that the data choose for the difference."""

    interval: str | None
    confidence: float
    auto: bool = False
    limits: tuple[float, float] | None = None  # of rewards
    features: Any = None
    model: str | None = None


def check_paired(name: str) -> str:
    if name not in ESTIMATORS:
        raise ESTIMATORS.unknown(name)
    return name


def compare_paired(question: Question, name: str, how: How, engine: str | Engine, call: str) -> Comparison:
    """Both policies by the estimator `name`, and the difference with the influence of each impression on both."""
    estimator, confidence = ESTIMATORS[name], how.confidence
    if not estimator.gives(question.metric):
        raise InputError(f"{name} credits single clicks, but the metric is a page-level reward: add `metric='clicks'`")
    regression, notes = check_model([name], how.features is not None, how.model)
    run = count(question, plan_for(estimator.needs, question), engine)
    check_inside(how.limits, run.counts.extremes)
    target, baseline = (replace(e, limits=how.limits) for e in question.evidences(run, estimator.needs))
    if Need.FEATURES in estimator.needs:
        known = read_features(how.features)
        table, gone = known.on(target.counts.pairs)
        sides = (replace(e, features=table, featureless=gone, model=regression) for e in (target, baseline))
        target, baseline = sides
        notes += known.notes
    done, choice = _estimates(estimator, (target, baseline), run, how.auto)
    target, baseline = (clipped(side, choice.clip) for side in (target, baseline))
    rows = {
        side: _row(name, done[side], evidence, how) for side, evidence in zip(SIDES, (target, baseline), strict=True)
    }
    counts, gap = target.counts, done["difference"]
    value, stderr = _difference(gap, list(rows.values()), counts.total)
    kind, lower, upper, why = _interval(gap, value, stderr, rows, counts.total, how)
    verdict = _verdict(lower, upper)
    alone = replace(rows["target"], value=value, stderr=stderr, lower=lower, upper=upper, unsupported=gap.unsupported)
    table, by_query = per_query(counts, gap, [done[side] for side in SIDES], confidence)
    said = [f"{side}: {text}" for side, row in rows.items() for text in row.warnings]
    return Comparison(
        difference=value,
        lower=lower,
        upper=upper,
        confidence=confidence,
        verdict=verdict,
        impressions_needed=0 if verdict != "undecided" else _needed(value, lower, upper, counts.total),
        covered=counts.total / counts.log_impressions,
        unsupported={side: row.unsupported for side, row in rows.items()},
        separate={side: SideValue(row.value, row.lower, row.upper) for side, row in rows.items()},
        impressions=counts.total,
        queries=len(counts.impressions),
        positions=target.positions,
        metric=question.metric,
        clicks=int(counts.clicked.sum()) if question.metric == "clicks" else None,
        estimator=name,
        interval=kind,
        stderr=stderr,
        clip=choice.clip if math.isfinite(choice.clip) else None,
        by_query=by_query,
        per_query=table,
        reading=run.reading,
        warnings=[*_together(said), *why, *_chosen(choice, how.auto)],
        notes=[
            *run.reading.notes,
            *notes,
            *question.said(target),
            f"{name} assumes: {estimator.assumption}",
            *([estimator.of_difference] if estimator.of_difference else []),
        ],
        model=asdict(done["target"].model) if done["target"].model is not None else None,
        diagnosis=of_pair(
            name, (target, baseline), done, rows, alone, run.sample(counts.pairs) if target.of_clicks else None
        ),
        asked=Asked.of(question, call, counts),
    )


def _verdict(lower: float | None, upper: float | None) -> Verdict:
    if lower is None or upper is None:
        return "undecided"
    return "target" if lower > 0 else "baseline" if upper < 0 else "undecided"


def _estimates(
    estimator: Estimator, sides: tuple[Evidence, Evidence], run: Pass, auto: bool
) -> tuple[dict[str, Estimate], ClipChoice]:
    """Of target, baseline and their difference; every clip that is tried is weighed in the same pass."""
    clips = [sides[0].clip]
    drafts: dict[str, Estimate | LinearEstimate] = {}
    with np.errstate(over="ignore", invalid="ignore"):  # what is not finite has no interval
        if auto:
            clips = grid_below(max(estimator.largest_weight(side) for side in sides))
        for i, clip in enumerate(clips):
            both = clipped(sides[0], clip), clipped(sides[1], clip)
            alone = estimator.estimate(both[0]), estimator.estimate(both[1])
            found = (*alone, difference(estimator, both, alone))
            drafts |= {key(side, i): draft for side, draft in zip((*SIDES, "difference"), found, strict=True)}
        done, _ = finished(drafts, sides[0], run, cross=False)
    gaps = [done[key("difference", i)] for i in range(len(clips))]
    choice = picked(clips, gaps, sides[0].counts.total)
    return {side: done[key(side, choice.number)] for side in (*SIDES, "difference")}, choice


def _row(name: str, estimate: Estimate, evidence: Evidence, how: How) -> Row:
    """One side alone; with what `pi` adds where its bound is asked for."""
    distance, said = None, warn(name, estimate, evidence, of="the policy")
    if how.interval == "theorem3":
        distance, said = add_distance(estimate, name, evidence, how.limits, how.confidence)
    return row_of(name, estimate, evidence.counts, how.interval, how.confidence, distance, said)


def _together(said: list[str]) -> list[str]:
    """What is said of both policies in the same words, once."""
    texts = [text.split(": ", 1) for text in said]
    both = {text for side, text in texts if side == SIDES[0]} & {text for side, text in texts if side == SIDES[1]}
    return list(dict.fromkeys(text if text in both else f"{side}: {text}" for side, text in texts))


def _interval(
    gap: Estimate, value: float | None, stderr: float | None, rows: Mapping[str, Row], n: int, how: How
) -> tuple[str, float | None, float | None, list[str]]:
    """The kind, both ends, and why there are none; evidence is as thin as that on either policy."""
    sizes = [row.effective_sample_size for row in rows.values() if row.effective_sample_size is not None]
    size = min(sizes, default=None)
    kind = how.interval if how.interval is not None else usual(size)
    if value is None or stderr is None:
        return kind, None, None, []
    if kind == "theorem3":
        return kind, None, None, ["no theorem3 interval: it is for the value of one policy, not for a difference"]
    influence = gap.spreads().influence if kind == "bootstrap" and gap.spreads is not None else None
    width = gap.width if gap.width is not None and math.isfinite(gap.width) else None
    try:
        ends = INTERVALS[kind](
            Spread(
                value=value,
                stderr=stderr,
                impressions=n,
                effective=size,
                width=width,
                deviation=None,
                influence=influence,
            ),
            how.confidence,
        )
    except NoInterval as reason:
        return kind, None, None, [f"no {kind} interval: {reason}"]
    return kind, *ends, []


def _chosen(choice: ClipChoice, auto: bool) -> list[str]:
    return [f"the data chose the clip {choice.words()}", *warning(choice)] if auto else []


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


def _needed(value: float | None, lower: float | None, upper: float | None, n: int) -> int | None:
    """Further impressions until the interval, which shrinks with their root, leaves 0 out."""
    if not value or lower is None or upper is None:
        return None
    half = value - lower if value > 0 else upper - value
    return min(max(math.floor(n * (half / value) ** 2) + 1 - n, 1), 2**63 - 1)
