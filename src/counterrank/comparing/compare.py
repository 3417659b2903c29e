"""`compare`: is the target better than the baseline? One bound on their difference."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from counterrank.comparing.comparison import Comparison
from counterrank.comparing.genspec import GENSPEC, check_options, compare_by_bound
from counterrank.comparing.paired import AUTO, How, check_name, compare_paired
from counterrank.engine import Engine
from counterrank.errors import InputError, Unanswerable, unknown
from counterrank.estimate import ESTIMATORS, PositionBased
from counterrank.interval import INTERVALS
from counterrank.judging.clip import AUTO as AUTO_CLIP
from counterrank.log import Log, read_log
from counterrank.setting.asked import called
from counterrank.setting.counting import count
from counterrank.setting.options import check_confidence, check_range, number_of
from counterrank.setting.plan import plan_for
from counterrank.setting.question import Question


def compare(
    log: Any,
    target: Any,
    baseline: Any = "logging",
    *,
    estimator: str | None = None,
    metric: str | None = None,
    top: int | None = None,
    weights: str | Sequence[float] | None = None,
    examination: str | Sequence[float] | None = None,
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
    """Whether `target` is better than `baseline`, by one bound on the difference of their values.

    Both are policies, files or tables of one, {query: items}, or "logging". The log is cut to the queries that both
    have. `estimator`: "auto" (the default) for the one that stands best on this log, the name of one, by paired
    differences, or "genspec" for the bound of genspec2021, for which `weights` are "dcg" and `examination` "reciprocal"
    unless given. `interval`: "betting" unless given. See the docs of the command for the other options.

    >>> rows = {"query": ["q"] * 400, "items": [["a", "b"], ["b", "a"]] * 200, "clicks": [[1, 0], [1, 0]] * 200}
    >>> compare(rows, {"q": ["a", "b"]}, {"q": ["b", "a"]}).verdict
    'undecided'
    """
    call = called(compare, locals())
    log = read_log(log, cluster=cluster)
    check_confidence(confidence)
    limits = check_range(reward_range)
    if interval is not None and interval not in INTERVALS:
        raise unknown("interval", interval, INTERVALS)
    name = AUTO if estimator is None else estimator
    bound = name == GENSPEC
    if bound:
        check_options(clip=clip, interval=interval, reward_range=reward_range, features=features, model=model)
    chosen = _metric(log, name, metric)
    question = Question.ask(
        log, target, metric=chosen, top=top, clip=number_of(clip), logging=logging, candidates=candidates,
        weights=weights if weights is not None else "dcg" if bound else "clicks",
        examination=examination if examination is not None else "reciprocal" if bound else "auto",
        baseline=baseline,
    )  # fmt: skip
    if not bound:
        how = How(interval, confidence, clip == AUTO_CLIP, limits, features, model)
        return compare_paired(question, name, how, engine, call)
    needs = PositionBased.needs  # whose assumption the bound makes
    run = count(question, plan_for(needs, question), engine)
    sides = question.evidences(run, needs)
    notes = [*run.reading.notes, *question.said(sides[0])]
    if isinstance(logging, str) and logging == "propensity":
        notes.append(
            "propensities are of what was shown; each item's chance at every position comes from shares in the log"
        )
    if run.clusters is not None:
        notes.append("the bound takes clicks for independent, whatever their cluster: an `estimator` would count by it")
    return compare_by_bound(question, sides, call, confidence, notes, run.reading)


def _metric(log: Log, name: str, metric: str | None) -> str:
    """What is compared, as in `evaluate`; the bound is on clicks."""
    if name == AUTO:
        return metric or ("reward" if "reward" in log.columns else "clicks")
    if name != GENSPEC:
        of_pages = ESTIMATORS[check_name(name)].gives("reward")
        return metric or ("reward" if "reward" in log.columns and of_pages else "clicks")
    if metric not in (None, "clicks"):
        raise InputError(f"the bound is on clicks, but `metric` is {metric}: leave it out, or name another `estimator`")
    if "clicks" not in log.columns:
        raise Unanswerable(f"{log.name}: the bound needs clicks, which the log does not have: name another `estimator`")
    return "clicks"
