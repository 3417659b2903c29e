"""`evaluate`: the value of a target policy by several estimators, from one counted log."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa

from counterrank.engine import Coefficients, Engine, OwnWeights, Pass
from counterrank.errors import unknown
from counterrank.estimate import ESTIMATORS, Estimate, LinearEstimate, Weighs
from counterrank.estimate.choose import check_model, choose_estimators
from counterrank.estimate.estimator import needs_of
from counterrank.findings import Case, day_table
from counterrank.findings.joint import Joint
from counterrank.interval import INTERVALS, NoInterval, Spread, usual
from counterrank.judging.clip import AUTO, ClipChoice, Grids, clipped
from counterrank.judging.clip import key as clip_key
from counterrank.judging.clip import told as clips_told
from counterrank.judging.clip import warning as clip_warning
from counterrank.judging.distance import add_distance, too_much
from counterrank.judging.evaluation import Evaluation
from counterrank.judging.verdict import curve_table, diagnose
from counterrank.log import read_log
from counterrank.log.features import read_features
from counterrank.memory import give_back
from counterrank.result.row import DistanceRow, Row
from counterrank.setting.asked import Asked, called
from counterrank.setting.counting import count
from counterrank.setting.evidence import Evidence
from counterrank.setting.need import Need
from counterrank.setting.options import check_confidence, check_inside, check_range, number_of
from counterrank.setting.plan import plan_for
from counterrank.setting.question import Question
from counterrank.statistics.counts import SHORT, Counts
from counterrank.threads import in_turn

OPEN = "one end of the interval is open: nobody can tell how large a weight can be; a `clip` would say"


def evaluate(
    log: Any,
    target: Any,
    *,
    estimators: Sequence[str] | str | None = None,
    metric: str | None = None,
    top: int | None = None,
    weights: str | Sequence[float] = "clicks",
    examination: str | Sequence[float] = "auto",
    clip: float | str | None = None,
    logging: Any = None,
    candidates: Any = None,
    interval: str | None = None,
    confidence: float = 0.95,
    engine: str | Engine = "duckdb",
    reward_range: str | Sequence[float] | None = None,
    features: Any = None,
    model: str | None = None,
    cluster: str | None = None,
) -> Evaluation:
    """The value of `target` had it ranked instead of the logging policy, by every estimator the log allows.

    `target`: a policy, a file or table of one, {query: items}, or "logging". `logging`: "log" (shares in the log),
    "propensity" (the log's column), "uniform", or a policy. `estimators`: names, or "best" for the one that stands
    best for this target. `clip`: the largest weight, or "auto" for what the log suggests. `features`: a file or table
    of (query, item, numbers), for `dm` and its relatives; `model`: their regression. See the docs of the command for
    the other options.

    >>> rows = pa.table({"query": ["q"] * 4, "items": [["a", "b"], ["b", "a"]] * 2, "clicks": [[1, 0], [0, 0]] * 2})
    >>> evaluate(rows, {"q": ["a", "b"]}, estimators="ip").value("ip")
    1.0
    """
    call = called(evaluate, locals())
    log = read_log(log, cluster=cluster)
    check_confidence(confidence)
    limits = check_range(reward_range)
    if interval is not None and interval not in INTERVALS:
        raise unknown("interval", interval, INTERVALS)
    question = Question.ask(
        log, target, metric=metric, top=top, weights=weights, examination=examination,
        clip=number_of(clip), logging=logging, candidates=candidates,
    )  # fmt: skip
    best = estimators == "best" or (estimators is not None and list(estimators) == ["best"])
    if best:
        estimators = None
    names, notes = choose_estimators(estimators, question.metric, features is not None)
    regression, unused = check_model(names, features is not None, model)
    known = read_features(features) if features is not None and not unused else None
    notes += unused + (known.notes if known is not None else [])
    needs = needs_of(ESTIMATORS[name] for name in names)
    spare = estimators is None and question.metric == "clicks" and known is None  # others judge clicks as well
    run = count(question, plan_for(needs, question, spare=spare), engine)
    [evidence] = question.evidences(run, needs)
    if known is not None:
        table, featureless = known.on(evidence.counts.pairs)
        evidence = replace(evidence, features=table, featureless=featureless, model=regression)
    paged = [name for name in names if ESTIMATORS[name].weighs is Weighs.PAGES]
    if estimators is None and paged and (reason := too_much(evidence)):
        names = [name for name in names if name not in paged]
        notes.append(reason)
    check_inside(limits, evidence.counts.extremes)
    evidence = replace(evidence, limits=limits)
    counts = evidence.counts
    estimates, choices, joint = (_auto if clip == AUTO else estimates_of)(names, evidence, run)
    rows = [judged_row(name, e, evidence, choices.get(name), interval, confidence) for name, e in estimates.items()]
    sample = run.sample(counts.pairs) if evidence.of_clicks and not evidence.same else None
    case = Case(
        evidence=evidence, estimates=estimates, rows={row.estimator: row for row in rows}, joint=joint, sample=sample
    )
    told = [*clips_told(choices), *run.reading.notes, *notes, *evidence.told]
    give_back()
    diagnosis = diagnose(case)  # before what is only told is laid out
    found = Evaluation(
        impressions=counts.total,
        queries=len(counts.impressions),
        positions=evidence.positions,
        metric=question.metric,
        covered=counts.total / counts.log_impressions,
        rows=rows,
        notes=[*told, *question.said(evidence), *clustered(run)],
        per_query=_per_query(counts, estimates),
        reading=run.reading,
        examination=_looked(evidence) if Need.EXAMINATION in needs else None,
        model=next((asdict(e.model) for e in estimates.values() if e.model is not None), None),
        asked=Asked.of(question, call, counts),
        diagnosis=diagnosis,
        tails=case.tails,
        days=day_table(counts),
        curve=curve_table(case),
        every=estimators is None,
    )
    return _best(found) if best else found


def _best(found: Evaluation) -> Evaluation:
    """The one estimate that the verdict is about, which goes by this target's own weights."""
    name = found.diagnosis.estimator if found.diagnosis is not None else None
    if name is None:
        return found
    others = ", ".join(row.estimator for row in found.rows if row.estimator != name)
    why = (
        f"{name} stands best for this target: the fewest doubts, then the most evidence; looked at beside it: {others}"
    )
    return replace(found, rows=[found[name]], notes=[why, *found.notes], every=False)


Weighed = tuple[dict[str, Estimate], dict[str, ClipChoice], Joint]  # by name; clips where the data chose them


def estimates_of(names: Sequence[str], evidence: Evidence, run: Pass) -> Weighed:
    """All estimates, two at a time; those linear in clicks share one second pass over the rows."""
    paged = [name for name in names if ESTIMATORS[name].weighs is Weighs.PAGES]  # which take longest
    others = [name for name in names if name not in paged]
    short = len(evidence.counts.cells) <= SHORT  # else two that go by clicks would take too much memory at once
    groups = [paged, *([name] for name in others)] if short else [paged, others]
    with np.errstate(over="ignore", invalid="ignore"):  # numbers that are not finite are told below
        drafts = dict(chain.from_iterable(in_turn([partial(_drafts, group, evidence) for group in groups])))
        done, joint = finished({name: drafts[name] for name in names}, evidence, run)
    return done, {}, joint


def _drafts(names: Sequence[str], evidence: Evidence) -> list[tuple[str, Estimate | LinearEstimate]]:
    return [(name, ESTIMATORS[name].estimate(evidence)) for name in names]


def _auto(names: Sequence[str], evidence: Evidence, run: Pass) -> Weighed:
    """All estimates, each with the clip that the data choose; every clip is weighed in the same second pass."""
    with np.errstate(over="ignore", invalid="ignore"):
        grids = Grids(names, evidence)
        drafts = grids.drafts()
        done, _ = finished(drafts, evidence, run, cross=False)
    choices = grids.chosen(done)
    return {name: done[clip_key(name, choice.number)] for name, choice in choices.items()}, choices, Joint({})


def judged_row(
    name: str,
    estimate: Estimate,
    evidence: Evidence,
    choice: ClipChoice | None,
    interval: str | None,
    confidence: float,
) -> Row:
    side = clipped(evidence, choice.clip) if choice is not None else evidence
    distance, told = add_distance(estimate, name, side, side.limits, confidence)
    row = row_of(name, estimate, side.counts, interval, confidence, distance, said=told)
    used = side.clip if ESTIMATORS[name].clips else math.inf
    said = clip_warning(choice) if choice is not None else []
    return replace(row, clip=_finite(used), warnings=[*row.warnings, *said])


def finished(
    drafts: Mapping[str, Estimate | LinearEstimate],
    evidence: Evidence,
    run: Pass,
    cross: bool = True,
    by_query: Collection[str] = (),
) -> tuple[dict[str, Estimate], Joint]:
    """The same estimates, after the second pass over the rows where one is needed; `cross`: and what two share;
    `by_query`: and of these the terms of each query."""
    joint = Joint({})
    linear = [(name, draft) for name, draft in drafts.items() if isinstance(draft, LinearEstimate)]
    done = {name: draft for name, draft in drafts.items() if isinstance(draft, Estimate)}
    together = run.clusters is not None and not run.clusters.alone
    if together:
        done = {name: estimate.unclustered() for name, estimate in done.items()}
    if linear:
        give_back()
        moments = run.moments(
            Coefficients(
                counts=evidence.counts,
                weighed=[draft.weighed for _, draft in linear],
                scale=np.stack([draft.scale for _, draft in linear]),
                constant=np.stack([draft.constant for _, draft in linear]),
                cross=cross,
                by_query=[e for e, (name, _) in enumerate(linear) if name in by_query],
                own=_own(linear, len(evidence.counts.cells)),
            )
        )
        for e, (name, draft) in enumerate(linear):
            clusters = moments.clusters[e] if moments.clusters is not None and together else None
            queries = moments.by_query.get(e)
            done[name] = draft.finished(moments.sums[:, e], moments.spreads[e], evidence.counts, clusters, queries)
        if cross:
            joint = Joint.of(dict(linear), moments, evidence.counts)
    return {name: done[name] for name in drafts}, joint


def _own(linear: Sequence[tuple[str, LinearEstimate]], size: int) -> list[OwnWeights]:
    """What is divided by the propensities of impressions, by the number of its estimate."""
    return [
        OwnWeights(
            of=e, weight=each.weight, offset=each.offset, floor=each.floor if each.floor is not None else np.zeros(size)
        )
        for e, (_, draft) in enumerate(linear)
        for each in draft.own
    ]


def row_of(
    name: str, estimate: Estimate, counts: Counts, kind: str | None, confidence: float, distance: DistanceRow | None,
    *, said: list[str],
) -> Row:  # fmt: skip
    n = counts.total
    value, second, size = (_finite(x) for x in (estimate.value, estimate.second_moment, estimate.effective_sample_size))
    if value is None and estimate.value is not None:
        said = [*said, "undefined: the weights are too large to compute with, so the log cannot tell"]
    elif second is None and estimate.second_moment is not None:
        said = [*said, "no interval: the weights are too large to compute with"]
    chosen = kind if kind is not None else usual(size)
    spread, lower, upper = spread_of(estimate, n, distance.deviation if distance is not None else None), None, None
    if spread is not None:
        spread = filled(spread, chosen, estimate)
        said = [*said, *(spread.terms.notes if spread.terms is not None else [])]
        try:
            lower, upper = INTERVALS[chosen](spread, confidence)
        except NoInterval as reason:
            said = [*said, f"no {chosen} interval: {reason}"]
        if (lower, upper) != (_finite(lower), _finite(upper)):
            said, lower, upper = [*said, OPEN], _finite(lower), _finite(upper)
    return Row(
        estimator=name,
        value=value,
        stderr=spread.stderr if spread is not None else None,
        lower=lower,
        upper=upper,
        confidence=confidence,
        interval=chosen,
        effective_sample_size=size,
        clipped=estimate.clipped,
        unsupported=estimate.unsupported,
        warnings=said,
        distance=distance,
    )


def spread_of(estimate: Estimate, impressions: int, deviation: float | None) -> Spread | None:
    """What intervals are made from; one impression, or no impression with weight, says nothing of its own error."""
    value, second, size = (_finite(x) for x in (estimate.value, estimate.second_moment, estimate.effective_sample_size))
    if value is None or second is None or size is None or impressions < 2:
        return None
    stderr = math.sqrt(max(second, 0.0) / impressions / (impressions - 1))
    return Spread(
        value=value,
        stderr=stderr,
        impressions=impressions,
        effective=size,
        width=_finite(estimate.width),
        deviation=deviation,
    )


def clustered(run: Pass) -> list[str]:
    """What to know of the clusters of a log that has them."""
    if run.clusters is None:
        return []
    if run.clusters.alone:
        return ["every impression is a cluster of its own: standard errors are those of independent impressions"]
    return [f"standard errors are by cluster: {run.clusters.told()}"]


def filled(spread: Spread, kind: str, estimate: Estimate) -> Spread:
    """With what this kind of interval asks for beside the standard error."""
    if kind == "bootstrap" and estimate.spreads is not None:
        return replace(spread, influence=estimate.spreads().influence)
    if kind == "betting":
        terms = estimate.terms() if estimate.terms is not None else None
        return replace(spread, terms=terms, no_terms=estimate.no_terms)
    return spread


def _looked(evidence: Evidence) -> dict[str, Any]:
    """The examination curve, and how it is known."""
    spread = evidence.examination_spread
    return {
        "kind": evidence.examination_kind,
        "curve": evidence.examination.tolist(),
        "stderr": np.sqrt(np.maximum(np.diag(spread), 0.0)).tolist() if spread is not None else None,
    }


def _finite(number: float | None) -> float | None:
    return number if number is not None and math.isfinite(number) else None


def _per_query(counts: Counts, estimates: dict[str, Estimate]) -> pa.Table:
    columns: dict[str, Any] = {
        "query": counts.pairs.query_ids.column(),
        "impressions": pa.array(counts.impressions),
    }
    for name, estimate in estimates.items():
        columns[name] = pa.array(estimate.per_query, mask=~np.isfinite(estimate.per_query))
    return pa.table(columns)
