"""`compare`: is the target better than the baseline? One bound on their difference, from one pass over the log."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from counterrank.comparing.comparison import VERDICTS, Comparison, QueryVerdicts, SideValue
from counterrank.comparing.paired import How, check_paired, compare_paired
from counterrank.comparing.relative import FEWEST, Bounds, Clicks, contrast, never_seen, rank_weights
from counterrank.comparing.verdict import of_bound
from counterrank.engine import Engine
from counterrank.errors import InputError, Unanswerable, unknown
from counterrank.estimate import ESTIMATORS, PositionBased
from counterrank.interval import INTERVALS
from counterrank.judging.clip import AUTO
from counterrank.log import Log, Reading, read_log
from counterrank.setting.asked import Asked, called
from counterrank.setting.counting import count
from counterrank.setting.evidence import Evidence
from counterrank.setting.options import check_confidence, check_range, number_of, position_weights
from counterrank.setting.plan import plan_for
from counterrank.setting.question import Question

GENSPEC = "genspec"
ASSUMED = "it is assumed that a click is the examination of the position times the attraction of the item"
MUCH = 0.5  # share of the bound's width from which the worst case is told


def compare(
    log: Any,
    target: Any,
    baseline: Any = "logging",
    *,
    estimator: str | None = None,
    metric: str | None = None,
    top: int | None = None,
    weights: str | Sequence[float] | None = None,
    examination: str | Sequence[float] = "reciprocal",
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
) -> Comparison:
    """Whether `target` is better than `baseline`, by one bound on the difference of their values (genspec2021).

    Both are policies, files or tables of one, {query: items}, or "logging". Clicks are weighed by the chance that the
    log shows an item and the user looks at it. The log is cut to the queries that both have. `estimator`: one of
    `evaluate`'s, to compare by paired differences of it instead; `interval`, `clip`, `reward_range`, `features` and
    `model` are for that, as in `evaluate`. `weights` are "dcg" for clicks unless given. See the docs of the command for
    the other options.

    >>> rows = {"query": ["q"] * 400, "items": [["a", "b"], ["b", "a"]] * 200, "clicks": [[1, 0], [0, 1]] * 200}
    >>> compare(rows, {"q": ["a", "b"]}, {"q": ["b", "a"]}).verdict
    'target'
    """
    call = called(compare, locals())
    log = read_log(log, cluster=cluster)
    check_confidence(confidence)
    limits = check_range(reward_range)
    if interval is not None and interval not in INTERVALS:
        raise unknown("interval", interval, INTERVALS)
    if estimator is None:
        _check_bound(clip=clip, interval=interval, reward_range=reward_range, features=features, model=model)
    chosen = _metric(log, estimator, metric)
    if weights is None:
        weights = "dcg" if chosen == "clicks" else "clicks"
    question = Question.ask(
        log, target, metric=chosen, top=top, weights=weights, examination=examination,
        clip=number_of(clip), logging=logging, candidates=candidates, baseline=baseline,
    )  # fmt: skip
    if estimator is not None:
        how = How(interval, confidence, clip == AUTO, limits, features, model)
        return compare_paired(question, estimator, how, engine, call)
    needs = PositionBased.needs  # whose assumption the bound makes
    run = count(question, plan_for(needs, question), engine)
    sides = question.evidences(run, needs)
    notes = [*run.reading.notes, *question.said(sides[0])]
    if isinstance(logging, str) and logging == "propensity":
        notes.append("propensities are of whole rankings; chances of single items come from shares in the log")
    if run.clusters is not None:
        notes.append("the bound takes clicks for independent, whatever their cluster: an `estimator` would count by it")
    return _relative(question, sides, call, confidence, notes, run.reading)


def _metric(log: Log, estimator: str | None, metric: str | None) -> str:
    """What is compared: clicks, unless an estimator of page-level rewards is asked."""
    if estimator is not None:
        of_pages = ESTIMATORS[check_paired(estimator)].gives("reward")
        return metric or ("reward" if "reward" in log.columns and of_pages else "clicks")
    if metric not in (None, "clicks"):
        raise InputError(f"the bound is on clicks, but `metric` is {metric}: leave it out, or name an `estimator`")
    if "clicks" not in log.columns:
        raise Unanswerable(
            f"{log.name}: the bound needs clicks, which the log does not have: add `estimator` list or pi"
        )
    return "clicks"


def _check_bound(**given: Any) -> None:
    """What the bound has no use for."""
    why = {
        "clip": "the bound weighs clicks as they are",
        "interval": "the bound is empirical Bernstein",
        "reward_range": "the bound is on clicks",
        "features": "the bound fits no regression",
        "model": "the bound fits no regression",
    }
    for name, value in given.items():
        if value is not None:
            raise InputError(f"`{name}` is for `estimator`: {why[name]}")


def _relative(
    question: Question, sides: Sequence[Evidence], call: str, confidence: float, notes: list[str], reading: Reading
) -> Comparison:
    target, baseline = sides
    counts = target.counts
    clicks = Clicks.of(target, float(position_weights(question.weights)(target.positions).max()))
    difference = clicks.bounds(contrast(target, baseline), per_query=False)
    lower, upper = _ends(difference, confidence)
    alone = {
        name: clicks.bounds(rank_weights(side), per_query=False)
        for name, side in (("target", target), ("baseline", baseline))
    }
    unsupported = {
        name: never_seen(side, clicks.propensity) for name, side in (("target", target), ("baseline", baseline))
    }
    each = clicks.bounds(contrast(target, baseline), per_query=True)
    corrected = each.verdict(1 - (1 - confidence) / len(counts.impressions))
    return Comparison(
        difference=float(difference.value[0]),
        lower=lower,
        upper=upper,
        confidence=confidence,
        verdict=VERDICTS[int(difference.verdict(confidence)[0])],
        impressions_needed=difference.needed(confidence)[0],
        covered=counts.total / counts.log_impressions,
        unsupported=unsupported,
        separate={name: SideValue(float(of.value[0]), *_ends(of, confidence)) for name, of in alone.items()},
        impressions=counts.total,
        queries=len(counts.impressions),
        positions=target.positions,
        metric=question.metric,
        clicks=int(difference.clicks[0]),
        estimator=GENSPEC,
        interval="empirical-bernstein",
        stderr=None,
        by_query=QueryVerdicts.of(each.verdict(confidence), corrected, confidence),
        per_query=_per_query(target, each, corrected, confidence),
        reading=reading,
        warnings=_warnings(clicks, difference, unsupported, confidence),
        notes=[*notes, *target.fitted, ASSUMED],
        diagnosis=of_bound(
            (target, baseline),
            {name: float(of.value[0]) for name, of in alone.items()},
            unsupported,
            float(difference.half(confidence)[0]),
            float(difference.by_largest(confidence)[0]),
            int(difference.clicks[0]),
            each.value,
        ),
        asked=Asked.of(question, call, counts),
    )


def _ends(bounds: Bounds, confidence: float) -> tuple[float | None, float | None]:
    value, half = float(bounds.value[0]), float(bounds.half(confidence)[0])
    return (None, None) if np.isnan(half) else (value - half, value + half)


def _per_query(evidence: Evidence, each: Bounds, corrected: Any, confidence: float) -> pa.Table:
    half = each.half(confidence)
    none = np.isnan(half)
    return pa.table(
        {
            "query": evidence.counts.pairs.query_ids.column(),
            "impressions": pa.array(each.impressions),
            "clicks": pa.array(each.clicks),
            "difference": pa.array(each.value),
            "lower": pa.array(each.value - half, mask=none),
            "upper": pa.array(each.value + half, mask=none),
            "verdict": pa.array([VERDICTS[int(v)] for v in each.verdict(confidence)]),
            "impressions_needed": pa.array(each.needed(confidence), pa.int64()),
            "significant_after_correction": pa.array(corrected != 0),
        }
    )


def _warnings(clicks: Clicks, difference: Bounds, unsupported: dict[str, float], confidence: float) -> list[str]:
    said = []
    found = int(difference.clicks[0])
    if found < FEWEST:
        said.append(f"the log has {'no clicks' if found == 0 else '1 click'}: a bound needs at least {FEWEST}")
    for name, share in unsupported.items():
        if share > 1e-9:
            said.append(
                f"the log never shows {share:.1%} of what the {name} shows: its value there counts as 0, and the bound "
                "does not hold this"
            )
    if clicks.lost:
        said.append(
            f"{clicks.lost / found:.1%} of the clicks are on items that nobody can have looked at, as the logging "
            "policy and the examination have it: they count as 0"
        )
    worst = float(difference.by_largest(confidence)[0])
    if worst > MUCH and difference.verdict(confidence)[0] == 0:
        query, item, chance = clicks.rarest()
        said.append(
            f"{worst:.0%} of the bound's width is for the worst case: a click on the rarest shown item ({item!r} of "
            f"query {query!r}, shown and looked at with chance {chance:.2g})"
        )
    return said
