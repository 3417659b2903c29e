"""Delta chosen from the log itself: lists chosen on some days or folds, judged by the clicks of the others."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from counterrank.click import ClickCounts, Scope
from counterrank.engine import Engine
from counterrank.errors import Unanswerable
from counterrank.ids import Codes, Ids
from counterrank.log import Log
from counterrank.optimizing.pessimistic.lower import Pessimism
from counterrank.optimizing.pessimistic.stock import Stock
from counterrank.optimizing.pessimistic.worth import CLICK_WORTHS, Vector, best_lists, value_of
from counterrank.posterior import choose_prior
from counterrank.records import dataclass
from counterrank.setting.click_counts import read_clicks
from counterrank.statistics.draws import dealt
from counterrank.statistics.pairs import Pairs
from counterrank.statistics.patterns import Patterns

DELTAS = np.round(np.arange(0.05, 1.0001, 0.05), 2)
FIXED = 0.2  # what is taken unless another one is clearly better
SURE = 2.0  # standard errors
FOLDS = 5
PAIRS = 100_000  # the most frequent queries with as many (query, item) pairs are looked at


@dataclass(frozen=True)
class DeltaCurve:
    """What lists chosen at each delta are worth on clicks that did not choose them."""

    deltas: Vector
    values: Vector
    errors: Vector  # of the difference to the best, queries being the units; NaN where there is one query
    best: float
    queries: int
    split: str  # "days" or "folds"

    @property
    def helped(self) -> bool:
        """Whether another δ than the usual one was better beyond noise."""
        return self.best != FIXED

    def to_list(self) -> list[dict[str, float | None]]:
        rows = zip(self.deltas.tolist(), self.values.tolist(), self.errors.tolist(), strict=True)
        return [{"delta": d, "value": v, "stderr": e if math.isfinite(e) else None} for d, v, e in rows]


@dataclass(frozen=True)
class Parts:
    """A log in folds: each fold's impressions of every pattern."""

    pairs: Pairs
    patterns: Patterns
    folds: Codes  # (F, G)
    split: str

    def halves(self) -> Iterator[tuple[ClickCounts, ClickCounts]]:
        """All but one fold, and that one."""
        for fold in self.folds:
            rest = self.patterns.impressions - fold
            yield (
                ClickCounts.of(self.pairs, self.patterns.taken(rest)),
                ClickCounts.of(self.pairs, self.patterns.taken(fold)),
            )


def split_log(log: Log, engine: str | Engine, top: int | None) -> Parts:
    """By days where the log has several, else by chance: five folds at most."""
    if "day" in log.columns:
        counts, _ = read_clicks(log, engine=engine, top=top, patterns=True, by_day=True)
        parts = _by_days(counts)
        if len(parts.folds) > 1:
            return parts
        return split_counts(parts.pairs, parts.patterns)
    counts, _ = read_clicks(log, engine=engine, top=top, patterns=True)
    assert counts.patterns is not None  # noqa: S101 - asked for
    return split_counts(counts.pairs, counts.patterns)


def split_counts(pairs: Pairs, patterns: Patterns, seed: int = 0) -> Parts:
    """Every impression to one of five folds, by a hash of what it holds."""
    patterns = replace(patterns, days=None).merged()
    return Parts(pairs, patterns, dealt(pairs, patterns, [1 / FOLDS] * FOLDS, seed), "folds")


def _by_days(counts: ClickCounts) -> Parts:
    """The days of a log dealt out to the folds."""
    patterns = counts.patterns
    assert patterns is not None  # noqa: S101 - asked for
    number = np.unique(patterns.day, return_inverse=True)[1]
    folds = min(int(number.max(initial=0)) + 1, FOLDS)
    shares = np.stack([np.where(number % folds == f, patterns.impressions, 0) for f in range(folds)])
    return Parts(counts.pairs, patterns, shares, "days")


def choose_delta(
    parts: Parts, model: str, asked: Pessimism, k: int | None, candidates: Any, position_scope: Scope | None
) -> DeltaCurve:
    """The delta whose lists, chosen without a fold, are worth the most on that fold, if they are worth more than those
    of 0.2 by two standard errors; else 0.2. To take the best of twenty, however close, was seen to help nobody.

    The worth on a fold is the click model's own value, with the position parameters and the click rates (clicks per
    look) of that fold alone: they did not choose, so they do not flatter. Of an item that nobody looked at there, the
    other folds' posterior mean stands in, under the prior that they speak for. Queries weigh as they come.
    """
    parts = _frequent(parts)
    worth = CLICK_WORTHS[model]
    size = len(parts.pairs.query_ids)
    total = np.zeros((len(DELTAS), size))
    weight = np.zeros(size)
    for learnt, held in parts.halves():
        stock, judge = (Stock.of(each, model, position_scope) for each in (learnt, held))
        if candidates is not None:
            stock, judge = stock.narrowed(candidates), judge.narrowed(candidates)
        lengths = parts.pairs.lengths if k is None else np.full(size, k)
        used = np.where((stock.examined >= lengths) & (held.impressions > 0), held.impressions, 0).astype(np.float64)
        if not used.any():
            continue
        mean = _rates(judge, stock)
        prior = asked.prior_for(stock)
        weight += used
        for d, delta in enumerate(DELTAS.tolist()):
            lists = best_lists(asked.lower(stock, prior, delta), stock.allowed, stock.pairs, stock.heights, lengths)
            total[d] += used * value_of(lists, mean, judge.heights, worth.additive)
    if not weight.any() and parts.split == "days":  # every query came on one day
        return choose_delta(split_counts(parts.pairs, parts.patterns), model, asked, k, candidates, position_scope)
    if not weight.any():
        raise Unanswerable(
            "`delta='auto'` has nothing to choose by: no query has enough examined items outside one of the folds; "
            "give a number"
        )
    values = total.sum(axis=1) / weight.sum()
    best = int(np.argmax(values >= values.max() - 1e-12))
    there = np.flatnonzero(weight)
    apart = (total[best] - total)[:, there] / weight.sum()
    apart = apart - (apart.sum(axis=1) / weight.sum())[:, None] * weight[there]
    few = len(there) < 2
    errors = np.full(len(DELTAS), np.nan) if few else np.sqrt((apart**2).sum(axis=1) * len(there) / (len(there) - 1))
    usual = int(np.abs(DELTAS - FIXED).argmin())
    helped = bool(values[best] - values[usual] > SURE * errors[usual])  # False where errors are not known
    return DeltaCurve(DELTAS, values, errors, float(DELTAS[best]) if helped else FIXED, len(there), parts.split)


def _rates(held: Stock, learnt: Stock) -> Vector:
    """The click rate of each item in `held`; where there were no looks, the posterior mean of `learnt`."""
    prior = choose_prior("fit", learnt.clicks, learnt.looks, learnt.pairs.starts, "global")
    alpha, beta = prior.on(learnt.pairs.starts)
    mean = (alpha + learnt.clicks) / (alpha + beta + learnt.looks)
    return np.asarray(np.divide(held.clicks, held.looks, out=mean, where=held.looks > 0))


def _frequent(parts: Parts) -> Parts:
    """The most frequent queries, as many as have `PAIRS` pairs together."""
    pairs = parts.pairs
    if len(pairs) <= PAIRS:
        return parts
    often = np.bincount(parts.patterns.queries, parts.patterns.impressions, len(pairs.query_ids))
    order = np.argsort(-often, kind="stable")
    taken = np.zeros(len(order), dtype=bool)
    taken[order[: max(int(np.searchsorted(np.cumsum(pairs.sizes[order]), PAIRS, side="right")), 1)]] = True
    new = np.cumsum(taken) - 1
    mine = taken[pairs.queries]
    ids = Ids(pairs.query_ids.texts.filter(pa.array(taken)), pairs.query_ids.integer)
    fewer = Pairs.build(
        ids, pairs.item_ids, new[pairs.queries[mine]], pairs.items[mine], pairs.lengths[taken], pairs.positions
    )
    rows: NDArray[np.int64] = np.where(mine, np.cumsum(mine) - 1, -1)
    some = np.flatnonzero(taken[parts.patterns.queries])
    chosen = parts.patterns.at(some)
    return Parts(fewer, chosen.moved(rows, new, pairs.positions), parts.folds[:, some], parts.split)
