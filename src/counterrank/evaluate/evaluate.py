"""`evaluate`: the value of a target policy by several estimators, from one counted log."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from counterrank.click.examination import fit_examination
from counterrank.engine import Coefficients, Engine, Pass, Plan, WantedRankings, open_engine
from counterrank.errors import InputError, unknown
from counterrank.estimate import ESTIMATORS, Estimate, Evidence, Linear
from counterrank.evaluate.options import (
    check_clip,
    check_confidence,
    check_length,
    check_top,
    choose_estimators,
    examination_curve,
    position_weights,
)
from counterrank.evaluate.result import Evaluation, Row
from counterrank.evaluate.words import warn
from counterrank.interval import INTERVALS
from counterrank.log import Log, read_log
from counterrank.policy import BoundPolicy, Logged, LoggedShares, Policy, Uniform, read_policy
from counterrank.statistics.counts import Counts

LOGGINGS = ("log", "propensity", "uniform")


def evaluate(
    log: Any,
    target: Any,
    *,
    estimators: Sequence[str] | str | None = None,
    metric: str | None = None,
    top: int | None = None,
    weights: str | Sequence[float] = "clicks",
    examination: str | Sequence[float] = "reciprocal",
    clip: float | None = None,
    logging: Any = None,
    candidates: Any = None,
    interval: str = "normal",
    confidence: float = 0.95,
    engine: str | Engine = "duckdb",
) -> Evaluation:
    """The value of `target` had it ranked instead of the logging policy, by every estimator the log allows.

    `target`: a policy, a file or table of one, {query: items}, or "logging". `logging`: "log" (shares in the log),
    "propensity" (the log's column), "uniform", or a policy. See the docs of the command for the other options.

    >>> rows = pa.table({"query": ["q"] * 4, "items": [["a", "b"], ["b", "a"]] * 2, "clicks": [[1, 0], [0, 0]] * 2})
    >>> evaluate(rows, {"q": ["a", "b"]}, estimators="ip").value("ip")
    1.0
    """
    log = read_log(log)
    top, clip, confidence = check_top(top), check_clip(clip), check_confidence(confidence)
    if interval not in INTERVALS:
        raise unknown("interval", interval, INTERVALS)
    metric = _metric(log, metric, top, weights)
    names, notes = choose_estimators(estimators, metric)
    policy = _policy(target)
    how, logging_policy, said = _logging(log, logging, top, names)
    notes += said
    same = isinstance(policy, Logged) or policy is logging_policy
    if same:
        policy = logging_policy if logging_policy is not None else policy
    candidate_policy = Uniform(candidates) if candidates is not None else None
    if isinstance(policy, Uniform) and candidate_policy is not None and policy.queries() is None:
        policy = candidate_policy
    if isinstance(logging_policy, Uniform) and candidate_policy is not None:
        logging_policy = candidate_policy

    ranked = any(ESTIMATORS[name].needs_rankings for name in names) and not same
    by_propensity = how == "propensity" and not same
    plan = Plan(
        metric="reward" if metric == "reward" else "clicks",
        weights=position_weights(weights),
        queries=policy.queries(),
        top=top,
        rankings=_wanted(policy) if ranked else "none",
        by_propensity=by_propensity and ranked,
        all_items=top is not None and any(isinstance(p, Policy) and p.ranks_all for p in (policy, logging_policy)),
        whole_log=examination == "em",
    )
    run = open_engine(engine).count(log, plan)
    counts = _extended(run.counts, [p for p in (policy, logging_policy, candidate_policy) if p is not None])
    positions = top or counts.pairs.positions
    check_length(weights, positions, "weights")
    check_length(examination, positions, "examination")
    shares = LoggedShares(counts.pairs, counts.shown, counts.impressions)
    known = logging_policy.bind(counts.pairs) if logging_policy is not None else shares
    bound: BoundPolicy = known if same else policy.bind(counts.pairs)
    needs_marginals = any(ESTIMATORS[name].needs_clicks for name in names)
    shown_by_logging = known.marginals() if needs_marginals else np.zeros(counts.shown.shape)
    if by_propensity and top is not None and top < counts.longest:
        by_propensity = False
        notes.append(f"propensities are of whole rankings, but --top {top} cuts them: shares of the cut rankings are used")
        if counts.rankings is not None:
            counts = replace(counts, rankings=counts.rankings.without_propensity())
    curve, fitted = _examination(examination, counts, positions)
    depth = counts.pairs.positions
    theta = plan.weights(positions)
    evidence = Evidence(
        counts=counts,
        target=bound,
        logging=known,
        shown_by_target=(shown_by_logging if same else bound.marginals()) if needs_marginals else shown_by_logging,
        shown_by_logging=shown_by_logging,
        weights=theta[:depth],
        examination=curve[:depth],
        positions=positions,
        looks_below=(float((theta * curve)[depth:].sum()), float(theta[depth:].sum())),
        clip=clip,
        estimated=logging_policy is None and not by_propensity,
        shares=logging_policy is None,
        same=same,
        by_propensity=by_propensity,
    )
    estimates = _estimates(names, evidence, run)
    rows = [
        _row(name, estimate, counts, interval, confidence, warn(name, estimate, evidence, fitted))
        for name, estimate in estimates.items()
    ]
    if log.rejected:
        notes.append(f"{log.rejected} bad rows were set aside in {log.bad_rows}")
    return Evaluation(
        impressions=counts.total,
        queries=len(counts.impressions),
        positions=positions,
        metric=metric,
        covered=counts.total / counts.log_impressions,
        rows=rows,
        notes=[*log.notes, *notes],
        per_query=_per_query(counts, estimates),
        examination=curve.tolist() if "pbm" in names else None,
    )


def _metric(log: Log, metric: str | None, top: int | None, weights: str | Sequence[float]) -> str:
    if metric is None:
        metric = "reward" if "reward" in log.columns else "clicks"
    if metric not in ("reward", "clicks"):
        raise unknown("metric", metric, ("reward", "clicks"))
    if metric not in log.columns:
        raise InputError(f"{log.name}: --metric {metric} needs a column {metric!r}, which the log does not have")
    if metric == "reward" and (top is not None or not (isinstance(weights, str) and weights == "clicks")):
        raise InputError("--top and --weights weigh clicks, but the metric is the page-level reward: add --metric clicks")
    return metric


def _policy(target: Any) -> Policy:
    if isinstance(target, str) and target == "uniform":
        return Uniform()
    return read_policy(target)


def _logging(log: Log, given: Any, top: int | None, names: Sequence[str]) -> tuple[str, Policy | None, list[str]]:
    """How the logging policy is known, the policy where it is given, and what to say of it."""
    if given is None:
        given = "propensity" if "propensity" in log.columns else "log"
    if isinstance(given, str) and given == "propensity":
        if "propensity" not in log.columns:
            raise InputError(f"{log.name}: --logging propensity needs a column 'propensity', which the log does not have")
        return ("propensity", None, [])
    if isinstance(given, str) and given in ("log", "logging"):
        return "log", None, []
    if isinstance(given, str) and given == "uniform":
        return "uniform", Uniform(), []
    if isinstance(given, str) and "." not in given and "/" not in given:
        raise unknown("logging", given, [*LOGGINGS, "or a policy file"])
    policy = read_policy(given)
    return ("log", None, []) if isinstance(policy, Logged) else ("policy", policy, [])


def _wanted(policy: Policy) -> Any:
    listed = policy.rankings()
    return "all" if listed is None else WantedRankings(*listed)


def _extended(counts: Counts, policies: Sequence[Policy]) -> Counts:
    """The counts with pairs for every item that a policy names for a query of the run."""
    queries, items = [], []
    for policy in policies:
        named, shown = policy.items()
        codes = counts.pairs.query_ids.codes(named)
        queries.append(codes[codes >= 0])
        items.append(shown.filter(pa.array(codes >= 0)))
    if not sum(map(len, queries)):
        return counts
    return counts.extended(np.concatenate(queries), pa.concat_arrays(items))


def _examination(given: str | Sequence[float], counts: Counts, positions: int) -> tuple[Any, list[str]]:
    if not (isinstance(given, str) and given == "em"):
        return examination_curve(given, positions), []
    assert counts.whole is not None  # noqa: S101 - the plan asked for it
    fit = fit_examination(*counts.whole)
    curve = np.concatenate([fit.examination, np.zeros(max(positions - len(fit.examination), 0))])
    return curve[:positions], list(fit.notes)


def _estimates(names: Sequence[str], evidence: Evidence, run: Pass) -> dict[str, Estimate]:
    """All estimates; those linear in clicks share one second pass over the rows."""
    drafts = {name: ESTIMATORS[name].estimate(evidence) for name in names}
    linear = [(name, draft) for name, draft in drafts.items() if isinstance(draft, Linear)]
    done = {name: draft for name, draft in drafts.items() if isinstance(draft, Estimate)}
    if linear:
        moments = run.moments(
            Coefficients(
                evidence.counts.pairs,
                [draft.weight for _, draft in linear],
                [draft.offset for _, draft in linear],
                np.stack([draft.scale for _, draft in linear]),
            )
        )
        for e, (name, draft) in enumerate(linear):
            done[name] = draft.finished(moments[:, e], evidence.counts.impressions)
    return {name: done[name] for name in names}


def _row(name: str, estimate: Estimate, counts: Counts, kind: str, confidence: float, warnings: list[str]) -> Row:
    n = counts.total
    value, second = estimate.value, estimate.second_moment
    stderr = None  # one impression, or no impression with weight, says nothing of its own error
    if value is not None and second is not None and n > 1 and estimate.effective_sample_size is not None:
        stderr = math.sqrt(max(second, 0.0) / n / (n - 1))
    lower, upper = INTERVALS[kind](value, stderr, confidence) if value is not None and stderr is not None else (None, None)
    return Row(
        estimator=name,
        value=value,
        stderr=stderr,
        lower=lower,
        upper=upper,
        confidence=confidence,
        interval=kind,
        effective_sample_size=estimate.effective_sample_size,
        clipped=estimate.clipped,
        unsupported=estimate.unsupported,
        warnings=warnings,
    )


def _per_query(counts: Counts, estimates: dict[str, Estimate]) -> pa.Table:
    ids = counts.pairs.query_ids
    columns: dict[str, Any] = {
        "query": pa.array(ids.native(np.arange(len(ids)))),
        "impressions": pa.array(counts.impressions),
    }
    for name, estimate in estimates.items():
        columns[name] = pa.array(estimate.per_query, mask=np.isnan(estimate.per_query))
    return pa.table(columns)
