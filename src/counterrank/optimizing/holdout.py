"""What a policy is worth on impressions that had no say in it."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np
import pyarrow as pa

from counterrank.engine import open_engine
from counterrank.errors import InputError, NoneFound, Unanswerable
from counterrank.fitting.holdout import part
from counterrank.judging.evaluate import evaluate
from counterrank.log import Log, Reading
from counterrank.policy import Policy
from counterrank.records import dataclass
from counterrank.statistics.pairs import Pairs
from counterrank.statistics.patterns import Patterns
from counterrank.words import counted, level, number

SHARE = 0.2  # that is held out where nobody says how much
NONE = "none"


@dataclass(frozen=True, kw_only=True)
class HeldOut:
    """The value of a policy on impressions held out, beside what was logged there."""

    told: str  # what was held out
    impressions: int
    estimator: str
    value: float | None
    stderr: float | None
    lower: float | None
    upper: float | None
    confidence: float
    unsupported: float
    logged: float | None
    twin: bool  # judged is a policy learnt in the same way from the rest, not the one that was learnt from all

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    def line(self) -> str:
        who = "a policy learnt in the same way from the rest" if self.twin else "the policy"
        bounds = f" ({number(self.lower)} … {number(self.upper)} at {level(self.confidence)})"
        sure = bounds if self.lower is not None else ""
        lack = f"; {self.unsupported:.1%} of what it shows was never shown there" if self.unsupported > 0.005 else ""
        return (
            f"on {counted(self.impressions, 'impression')} that had no say in it ({self.told}) {who} is worth "
            f"{number(self.value)}{sure} by {self.estimator}, what was logged {number(self.logged)}{lack}"
        )


@dataclass(frozen=True)
class Parted:
    """A log in two: what is learnt from, and what is held out."""

    train: pa.Table
    test: pa.Table
    told: str
    reading: Reading


def read_holdout(given: float | str | None) -> float | str | None:
    """A share between 0 and 1, "days" or "none"; None where nothing was said."""
    if given is None or given in ("days", NONE):
        return given
    try:
        share = float(given)
    except (TypeError, ValueError):
        share = np.nan
    if not 0 < share < 1:
        raise InputError(f"`holdout` is {given!r}: expected a share between 0 and 1 such as 0.2, days, or none")
    return share


def parted(log: Log, holdout: float | str, options: dict[str, Any]) -> Parted:
    """The log in two, by a hash of what impressions hold, or its last days, as many as hold a fifth."""
    if "clicks" not in log.columns or (options.get("metric") or _usual(log)) == "reward":
        raise Unanswerable("`holdout` judges clicks, but the metric is the reward of pages: add `metric='clicks'`")
    if options.get("logging") == "propensity":
        raise Unanswerable("`holdout` takes shares of the log, but `logging` is propensity: leave one of them out")
    share, by = (SHARE, "day") if isinstance(holdout, str) else (float(holdout), "impression")
    if by == "day" and "day" not in log.columns:
        raise Unanswerable(f"{log.name}: `holdout='days'` needs a column 'day': give a share instead")
    halves = part(log, None, share, by, None, open_engine(options.get("engine", "duckdb")))
    train = halves.train.need_patterns("a policy")
    return Parted(_rows(halves.pairs, train), _rows(halves.pairs, halves.test), halves.told, halves.reading)


def judged(policy: Policy, parts: Parted, estimator: str, options: dict[str, Any], twin: bool) -> HeldOut:
    """The policy on what was held out, with the options of the question that learnt it but for the clip."""
    asked = {name: options[name] for name in ("weights", "examination", "logging") if name in options}
    top = min((options[name] for name in ("k", "top") if options.get(name) is not None), default=None)
    try:
        found = evaluate(parts.test, policy, estimators=[estimator, "rctr"], metric="clicks", top=top, **asked)
    except NoneFound:
        raise Unanswerable(
            f"no query of what was held out ({parts.told}) is among the others: give a longer log, or another `holdout`"
        ) from None
    row = found[estimator]
    return HeldOut(
        told=parts.told,
        impressions=found.impressions,
        estimator=estimator,
        value=row.value,
        stderr=row.stderr,
        lower=row.lower,
        upper=row.upper,
        confidence=row.confidence,
        unsupported=row.unsupported,
        logged=found.value("rctr"),
        twin=twin,
    )


def _usual(log: Log) -> str:
    return "reward" if "reward" in log.columns else "clicks"


def _rows(pairs: Pairs, patterns: Patterns) -> pa.Table:
    """Grouped impressions as a log again."""
    inside = patterns.coded >= 0
    offsets = pa.array(np.concatenate([[0], np.cumsum(inside.sum(axis=1))]), pa.int32())
    items = pairs.item_ids.column().take(pa.array(pairs.items[patterns.rankings[inside]]))
    return pa.table({
        "query": pairs.query_ids.column().take(pa.array(patterns.queries)),
        "items": pa.ListArray.from_arrays(offsets, items),
        "clicks": pa.ListArray.from_arrays(offsets, pa.array(patterns.clicks[inside], pa.int8())),
        "impressions": patterns.impressions,
    })  # fmt: skip
