"""The laws of estimators, on logs of a few rows."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise, product
from typing import Any

import numpy as np

from counterrank.checks.law import Law, expect, expect_near, hold, registered
from counterrank.checks.logs import (
    FEATURES,
    SCORES,
    TARGET,
    TRUTH,
    Columns,
    expected_log,
    logging_of,
    rewards_of,
    small_log,
    target_of,
)
from counterrank.comparing.compare import compare
from counterrank.errors import InputError
from counterrank.estimate import ESTIMATORS, ByClicks, Estimator, Evidence, Need, Weighs
from counterrank.judging.clip import clipped
from counterrank.judging.evaluate import evaluate
from counterrank.policy import PlackettLuce
from counterrank.result.row import Row

CLIPS = (0.5, 0.9, 1.5, 4.0, math.inf)


def check_estimator(mine: Any) -> None:
    """Run the laws on an estimator, or on a class of them; `LawBroken` says which one it breaks, and how.

    The logs are small and made up, always the same; it takes a few seconds.
    """
    estimator = mine() if isinstance(mine, type) else mine
    if not isinstance(estimator, Estimator):
        raise InputError(f"an estimator is a counterrank.estimate.Estimator, but {estimator!r} came: subclass it")
    hold(f"estimator {getattr(estimator, 'name', type(estimator).__name__)!r}", estimator, ESTIMATOR_LAWS)


def traits_go_together(estimator: Estimator) -> None:
    """What an estimator says of itself goes together."""
    name, said = getattr(estimator, "name", None), getattr(estimator, "assumption", None)
    expect(isinstance(name, str) and name == name.strip() != "", f"name {name!r}", "a word to call it by")
    expect(isinstance(said, str) and said.strip() and "\n" not in said, f"assumption {said!r}", "one sentence")
    expect(estimator.needs <= set(Need), f"needs {estimator.needs}", "a set of Need")
    expect(isinstance(estimator.weighs, Weighs), f"weighs {estimator.weighs!r}", "a member of Weighs")
    weighs = estimator.weighs is not Weighs.NOTHING
    expect(weighs or not estimator.clips, "clips without weights", "no clips")
    expect(weighs != bool(estimator.blind), f"blind {estimator.blind!r}", "a reason just where nothing is weighed")
    rankings = Need.RANKINGS in estimator.needs
    expect(rankings == (estimator.weighs is Weighs.RANKINGS), f"needs {estimator.needs}", "RANKINGS just to weigh them")
    of_items = estimator.weighs is Weighs.ITEMS
    expect((estimator.misfits is not None) == of_items, f"misfits {estimator.misfits}", "them just where items weigh")
    tamed = estimator.self_normalised and estimator.clips
    expect(not (tamed and estimator.clip_bias), f"clip_bias {estimator.clip_bias!r}", "'' as it is self-normalised")
    expect(estimator.gives("clicks"), "no value of clicks", "one")


def the_logging_policy_is_worth_the_mean(estimator: Estimator) -> None:
    """Judging the logging policy itself gives the log's mean."""
    if estimator.weighs is Weighs.NOTHING and not estimator.log_mean:
        return
    for log in _logs(estimator):
        row = _judged(estimator, log, "logging")
        expect_near(row.value, np.mean(rewards_of(log)), "the value", least=1e-9)


def an_impression_counts_as_often_as_it_came(estimator: Estimator) -> None:
    """A row that stands for several impressions is worth what as many rows are."""
    for log in _logs(estimator):
        times = [1 + i % 3 for i in range(len(log["query"]))]
        written = {name: [v for v, n in zip(of, times, strict=True) for _ in range(n)] for name, of in log.items()}
        _alike(_judged(estimator, {**log, "impressions": times}, TARGET), _judged(estimator, written, TARGET))


def the_order_of_rows_does_not_matter(estimator: Estimator) -> None:
    """The order of the log's rows does not matter."""
    for log in _logs(estimator):
        order = np.random.default_rng(1).permutation(len(log["query"]))
        shuffled = {name: [of[i] for i in order] for name, of in log.items()}
        _alike(_judged(estimator, shuffled, TARGET), _judged(estimator, log, TARGET))


def names_do_not_matter(estimator: Estimator) -> None:
    """How queries and items are called does not matter."""
    if Need.FEATURES in estimator.needs:
        return  # which queries a regression is tried on is drawn by their names
    log, new = small_log(), {f"i{i}": name for i, name in enumerate("zayb")}
    renamed: Columns = {
        "query": [f"{9 - int(q[1:])}" for q in log["query"]],
        "items": [[new[item] for item in items] for items in log["items"]],
        "clicks": log["clicks"],
    }
    target = {f"{9 - int(q[1:])}": {new[item]: s for item, s in of.items()} for q, of in SCORES.items()}
    _alike(_judged(estimator, renamed, PlackettLuce(target, 0.5)), _judged(estimator, log, TARGET))


def numbers_are_numbers(estimator: Estimator) -> None:
    """A value is a finite number, or None with a reason."""
    value = estimator.estimate(_evidence(estimator, TARGET, "log")).value
    expect(value is None or math.isfinite(value), f"the value {value}", "a finite number or None")
    never = {query: ["new", "newer"] for query in SCORES}
    for log, target in product(_logs(estimator), (TARGET, "logging", never, {"q0": ["i3", "new"]})):
        row = _judged(estimator, log, target)
        expect(row.value is not None or row.warnings, "no value, and no warning", "a warning that says why")
        expect(row.stderr is None or 0 <= row.stderr < math.inf, f"the standard error {row.stderr}", "0 or more")
        size, n = row.effective_sample_size, len(log["query"])
        expect(size is None or 0 <= size <= n * (1 + 1e-9), f"an effective sample size of {size}", f"0 to {n}")
        for what, share in (("clipped", row.clipped), ("unsupported", row.unsupported)):
            expect(-1e-9 <= share <= 1 + 1e-9, f"{what} {share}", "a share from 0 to 1")


def clips_only_take_away(estimator: Estimator) -> None:
    """A clip never raises a value of clicks."""
    if not estimator.clips or estimator.clip_bias != " downwards":
        return
    found = [
        (_judged(estimator, small_log(), TARGET, clip=clip).value or 0.0, f" with clip {clip:g}") for clip in CLIPS
    ]
    for (low, one), (high, two) in pairwise(found):
        expect(low <= high + 1e-12, f"{low:.12g}{one} and {high:.12g}{two}", "no less with the larger")


def no_weight_is_above_the_largest(estimator: Estimator) -> None:
    """A clip at the largest weight clips nothing, and one below it something."""
    if not estimator.clips or Need.FEATURES in estimator.needs:
        return
    for logging in ("log", "uniform"):
        on = _evidence(estimator, TARGET, logging)
        largest = estimator.largest_weight(on)
        for share in (1.0, 0.9):
            found = estimator.estimate(clipped(on, share * largest)).clipped
            came, expected = f"{found:g} clipped at {share:g} of {largest:g}", "0" if share == 1 else "more than 0"
            expect((found == 0) == (share == 1), came, expected)


def queries_alone_are_as_the_estimate_says(estimator: Estimator) -> None:
    """The values of single queries are those that the estimate tells."""
    if Need.FEATURES in estimator.needs:
        return
    for target, clip in product((TARGET, "logging"), (0.7, math.inf)):
        on = clipped(_evidence(estimator, target, "log"), clip)
        expect_near(estimator.by_query(on), estimator.estimate(on).per_query, "a query's value")


def positions_add_up(estimator: Estimator) -> None:
    """What weighs positions is the sum of its values of single positions."""
    if not isinstance(estimator, ByClicks) or estimator.weighs is not Weighs.POSITIONS:
        return
    values = [_judged(estimator, small_log(), TARGET, weights=row).value for row in np.eye(3).tolist()]
    expect_near(_judged(estimator, small_log(), TARGET).value, sum(v or 0.0 for v in values), "the whole value")


def a_difference_is_that_of_the_values(estimator: Estimator) -> None:
    """The difference of two policies is that of their values, and turns its sign with them."""
    other = PlackettLuce({query: {item: -s for item, s in of.items()} for query, of in SCORES.items()}, 1.0)
    with _known(estimator) as given:
        one, two = (evaluate(small_log(), policy, **given)[estimator.name].value for policy in (TARGET, other))
        given |= {"estimator": given.pop("estimators"), "weights": "clicks", "examination": "reciprocal"}
        found, back = (compare(small_log(), a, baseline=b, **given) for a, b in ((TARGET, other), (other, TARGET)))
    if one is None or two is None or found.difference is None:
        return
    expect_near(found.difference, one - two, "the difference", least=1e-9)
    expect_near(back.difference, -found.difference, "the difference the other way round", least=1e-9)
    expect_near(back.stderr, found.stderr, "its standard error the other way round", rel=1e-7)


def it_finds_the_truth(estimator: Estimator) -> None:
    """Where all came just as often as it should, the value is the truth, by shares of the log and by the known policy.

    An item is clicked as often wherever it stands, whatever is around it: all that estimators assume holds.
    """
    if _says_nothing(estimator):
        return
    for logging in ("log", logging_of(["q"])):
        row = _judged(estimator, expected_log(), target_of(["q"]), logging=logging, examination=[1.0, 1.0])
        expect_near(row.value, TRUTH, "the value", rel=1e-8)


def its_mean_over_all_logs_is_the_truth(estimator: Estimator) -> None:
    """With the logging policy known, the mean value over all logs of one impression is the truth.

    Each of these logs is a query of its own here, with as many equal impressions as it is likely.
    """
    if _says_nothing(estimator) or estimator.self_normalised:
        return
    log = expected_log()
    log["query"] = [f"q{i}" for i in range(len(log["query"]))]
    names = log["query"]
    row = _judged(estimator, log, target_of(names), logging=logging_of(names), examination=[1.0, 1.0])
    expect_near(row.value, TRUTH, "the mean value", rel=1e-8)


ESTIMATOR_LAWS: tuple[Law[Estimator], ...] = (
    traits_go_together,
    the_logging_policy_is_worth_the_mean,
    an_impression_counts_as_often_as_it_came,
    the_order_of_rows_does_not_matter,
    names_do_not_matter,
    numbers_are_numbers,
    clips_only_take_away,
    no_weight_is_above_the_largest,
    queries_alone_are_as_the_estimate_says,
    positions_add_up,
    a_difference_is_that_of_the_values,
    it_finds_the_truth,
    its_mean_over_all_logs_is_the_truth,
)


def _logs(estimator: Estimator) -> list[Columns]:
    return [small_log(rewards) for rewards in (False, True) if not rewards or estimator.gives("reward")]


def _says_nothing(estimator: Estimator) -> bool:
    """Whether it does not claim to find the truth, or has a model that learns from other impressions."""
    return estimator.weighs is Weighs.NOTHING or bool(estimator.biased) or bool(estimator.modelled)


def _judged(estimator: Estimator, log: Columns, target: Any, **options: Any) -> Row:
    with _known(estimator) as given:
        return evaluate(log, target, **given, **options)[estimator.name]


@contextmanager
def _known(estimator: Estimator) -> Iterator[dict[str, Any]]:
    """What to say so that this estimator is meant."""
    features = {"features": FEATURES} if Need.FEATURES in estimator.needs else {}
    with registered(ESTIMATORS, estimator.name, estimator):
        yield {"estimators": estimator.name, **features}


def _evidence(estimator: Estimator, target: Any, logging: str) -> Evidence:
    """What the estimator is given for the log."""
    seen: list[Evidence] = []

    def estimate(evidence: Evidence) -> Any:
        seen.append(evidence)
        return estimator.estimate(evidence)

    spy = copy.copy(estimator)
    vars(spy)["estimate"] = estimate
    _judged(spy, small_log(), target, logging=logging)
    return seen[0]


def _alike(one: Row, two: Row) -> None:
    for name in ("value", "stderr", "effective_sample_size", "clipped", "unsupported"):
        expect_near(getattr(one, name), getattr(two, name), name, rel=1e-7, least=1e-9)
