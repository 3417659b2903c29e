"""A comparison by paired differences of one estimator."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

import numpy as np

from counterrank.comparing.choose import Looked, candidates
from counterrank.comparing.comparison import Comparison, SideValue, decided
from counterrank.comparing.ends import Ends, drafts_of, ends, kind_of, untold
from counterrank.comparing.needed import Needed, needed, shortest_way
from counterrank.comparing.paired_queries import ROUNDING, per_query
from counterrank.comparing.verdict import of_pair
from counterrank.engine import Engine, Pass
from counterrank.errors import InputError
from counterrank.estimate import ESTIMATORS, Estimate, Estimator, LinearEstimate
from counterrank.estimate.choose import check_model
from counterrank.estimate.estimator import needs_of
from counterrank.findings.diagnosis import Diagnosis
from counterrank.judging.clip import ClipChoice, clipped, grid_below, key, picked, warning
from counterrank.judging.distance import add_distance
from counterrank.judging.evaluate import clustered, finished, row_of
from counterrank.judging.remarks import warn
from counterrank.log.features import read_features
from counterrank.memory import give_back
from counterrank.records import dataclass
from counterrank.result.row import Row
from counterrank.setting.asked import Asked
from counterrank.setting.counting import count
from counterrank.setting.evidence import Evidence
from counterrank.setting.need import Need
from counterrank.setting.options import check_inside
from counterrank.setting.plan import plan_for
from counterrank.setting.question import Question

AUTO = "auto"
FEW = frozenset({"size", "ten", "skew", "queries"})  # findings that more impressions would mend
FROM_THE_TOP = "rips"  # for users who read from the top
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


def check_name(name: str) -> str:
    if name not in ESTIMATORS:
        raise ESTIMATORS.unknown(name, AUTO, "genspec")
    return name


def compare_paired(question: Question, name: str, how: How, engine: str | Engine, call: str) -> Comparison:
    """Both policies by the estimator `name`, and the difference with the influence of each impression on both.

    All estimators of an evaluation look at both policies first: `auto` takes the one that stands best, and what they
    say of each other tells whether the one that is taken can be trusted.
    """
    names = candidates(question.metric)
    if name != AUTO:
        if not ESTIMATORS[name].gives(question.metric):
            raise InputError(
                f"{name} credits single clicks, but the metric is a page-level reward: add `metric='clicks'`"
            )
        check_model([name], how.features is not None, how.model)
    asked = [*names, *([] if name in (*names, AUTO) else [name])]
    needs = needs_of(ESTIMATORS[each] for each in asked)
    spare = name == AUTO or Need.PAGES not in ESTIMATORS[name].needs
    run = count(question, plan_for(needs, question, spare=spare), engine)
    check_inside(how.limits, run.counts.extremes)
    target, baseline = (replace(e, limits=how.limits) for e in question.evidences(run, needs))
    looked = Looked.at(names, (target, baseline), run, how.confidence)
    chosen = looked.best() if name == AUTO else name
    looked = replace(looked, cases=())  # what the others weighed is large, and no longer needed
    give_back()
    if name == AUTO and looked.from_the_top and looked.level(chosen):
        top = _from_the_top(question, how, engine, call, chosen)
        if top is not None:
            return top
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):  # what is not finite has no bound
        return _judged(question, chosen, how, run, (target, baseline), looked, call=call)


def _from_the_top(question: Question, how: How, engine: str | Engine, call: str, doubted: str) -> Comparison | None:
    """The answer for users who read from the top, where the log says so and has enough for it; else None."""
    found = compare_paired(question, FROM_THE_TOP, how, engine, call)
    if found.diagnosis is None or found.diagnosis.verdict == "do not trust" or found.lower is None:
        return None
    why = f"users read from the top, which {doubted} does not know of: {FROM_THE_TOP} does"
    return replace(found, notes=[why, *found.notes])


def _judged(
    question: Question, name: str, how: How, run: Pass, both: tuple[Evidence, Evidence], looked: Looked, *, call: str
) -> Comparison:
    estimator, confidence = ESTIMATORS[name], how.confidence
    both, notes = _featured(both, name, how)
    done, choice = _estimates(estimator, both, run, how.auto)
    target, baseline = (clipped(side, choice.clip) for side in both)
    rows = {
        side: _row(name, done[side], evidence, how) for side, evidence in zip(SIDES, (target, baseline), strict=True)
    }
    counts, gap = target.counts, done["difference"]
    value, stderr = _difference(gap, list(rows.values()), counts.total)
    sizes = [row.effective_sample_size for row in rows.values() if row.effective_sample_size is not None]
    if stderr is None:
        bound = Ends(how.interval or kind_of(estimator), None, None, [])
    else:
        bound = ends(estimator, done, counts.total, how.interval, confidence, min(sizes, default=None))
    alone = replace(
        rows["target"], value=value, stderr=stderr, lower=bound.lower, upper=bound.upper, unsupported=gap.unsupported
    )
    trust = of_pair(
        name, (target, baseline), done, rows, alone, looked.doubts(name, (target, baseline), alone), kind=bound.kind
    )
    verdict = decided(bound.lower, bound.upper, trust)
    more = Needed(0) if verdict != "undecided" else _further(done, alone, trust, counts.total, bound.kind)
    table, by_query = per_query(counts, done, bound.kind, confidence)
    said = [f"{side}: {text}" for side, row in rows.items() for text in row.warnings]
    return Comparison(
        difference=value,
        lower=bound.lower,
        upper=bound.upper,
        confidence=confidence,
        verdict=verdict,
        impressions_needed=more.impressions,
        needed_reason=more.reason,
        way=shortest_way(counts, value, stderr) if verdict == "undecided" else None,
        covered=counts.total / counts.log_impressions,
        unsupported={side: row.unsupported for side, row in rows.items()},
        separate={side: SideValue(row.value, row.lower, row.upper) for side, row in rows.items()},
        impressions=counts.total,
        queries=len(counts.impressions),
        positions=target.positions,
        metric=question.metric,
        clicks=int(counts.clicked.sum()) if question.metric == "clicks" else None,
        estimator=name,
        interval=bound.kind,
        stderr=stderr,
        clip=choice.clip if math.isfinite(choice.clip) else None,
        by_query=by_query,
        per_query=table,
        reading=run.reading,
        warnings=[*_together(said), *bound.said, *_chosen(choice, how.auto)],
        notes=[
            *run.reading.notes,
            *notes,
            *(*question.said(target), *clustered(run)),
            f"{name} assumes: {estimator.assumption}",
            *([estimator.of_difference] if estimator.of_difference else []),
        ],
        model=asdict(done["target"].model) if done["target"].model is not None else None,
        diagnosis=trust,
        asked=Asked.of(question, call, counts),
    )


def _further(done: Mapping[str, Estimate], gap: Row, trust: Diagnosis, n: int, kind: str) -> Needed:
    """How many more impressions would decide, if any number of them would."""
    if any(found.level == "do not trust" and found.key not in FEW for found in trust.findings):
        return Needed(None, "more of the same log would not make the answer trustworthy")
    if untold(done).any():
        return Needed(None, "nobody knows what that is worth of which the log shows nothing, however long the log gets")
    end = done["low" if (gap.value or 0.0) > 0 else "high"]
    return needed(end, gap.value, gap.stderr, n, gap.confidence, kind)


def _featured(both: tuple[Evidence, Evidence], name: str, how: How) -> tuple[tuple[Evidence, Evidence], list[str]]:
    """With features, where the estimator needs them, and what to say of them."""
    regression, notes = check_model([name], how.features is not None, how.model)
    if Need.FEATURES not in ESTIMATORS[name].needs:
        return both, notes
    known = read_features(how.features)
    table, gone = known.on(both[0].counts.pairs)
    one, other = (replace(e, features=table, featureless=gone, model=regression) for e in both)
    return (one, other), [*notes, *known.notes]


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
            drafts |= drafts_of(estimator, (clipped(sides[0], clip), clipped(sides[1], clip)), key("", i))
        done = _finished(drafts, sides[0], run)
    gaps = [done["difference" + key("", i)] for i in range(len(clips))]
    choice = picked(clips, gaps, sides[0].counts.total)
    suffix = key("", choice.number)
    return {name.removesuffix(suffix): each for name, each in done.items() if name.endswith(suffix)}, choice


def _finished(drafts: Mapping[str, Estimate | LinearEstimate], side: Evidence, run: Pass) -> dict[str, Estimate]:
    """All of them, those that are one and the same only once; the bounds of queries go by the terms of both ends."""
    first: dict[int, str] = {}
    for name, draft in drafts.items():
        first.setdefault(id(draft), name)
    ends = {first[id(draft)] for name, draft in drafts.items() if name.startswith(("low", "high"))}
    done, _ = finished({name: drafts[name] for name in first.values()}, side, run, cross=False, by_query=ends)
    return {name: done[first[id(draft)]] for name, draft in drafts.items()}


def _row(name: str, estimate: Estimate, evidence: Evidence, how: How) -> Row:
    """One side alone; with what `pi` adds where its bound is asked for."""
    distance, said = None, warn(name, estimate, evidence, of="the policy")
    if how.interval == "theorem3":
        distance, said = add_distance(estimate, name, evidence, how.limits, how.confidence)
    return row_of(name, estimate, evidence.counts, how.interval, how.confidence, distance, said=said)


def _together(said: list[str]) -> list[str]:
    """What is said of both policies in the same words, once."""
    texts = [text.split(": ", 1) for text in said]
    both = {text for side, text in texts if side == SIDES[0]} & {text for side, text in texts if side == SIDES[1]}
    return list(dict.fromkeys(text if text in both else f"{side}: {text}" for side, text in texts))


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
