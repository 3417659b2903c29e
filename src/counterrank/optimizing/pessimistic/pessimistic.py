"""The ranking with the best lower bound, per query: cief2024's algorithm 1 on a log."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from counterrank.click import ClickCounts, Scope
from counterrank.engine import Engine
from counterrank.errors import InputError, unknown
from counterrank.ids import Codes
from counterrank.log import Log
from counterrank.optimizing.pessimistic.auto_delta import DeltaCurve, choose_delta, split_log
from counterrank.optimizing.pessimistic.lower import GUARANTEES, Pessimism, error_bound
from counterrank.optimizing.pessimistic.remarks import CHOSEN, clicks_lost, reasons_of, remarks
from counterrank.optimizing.pessimistic.result import Pessimistic
from counterrank.optimizing.pessimistic.stock import Stock, logged_places, most_logged
from counterrank.optimizing.pessimistic.worth import CLICK_WORTHS, Vector, best_lists, value_of
from counterrank.optimizing.result import flat
from counterrank.posterior import BOUNDS, SCOPES, read_prior
from counterrank.setting.click_counts import read_clicks
from counterrank.setting.options import check_top
from counterrank.words import counted

POSITION_SCOPES: tuple[Scope, ...] = ("query", "pooled")


def pessimistic_from_log(
    log: Log,
    *,
    click_model: str = "cm",
    bound: str = "empirical-bayes",
    delta: float | str = 0.2,
    prior: str | tuple[float, float] | None = None,
    prior_scope: str = "global",
    position_scope: Scope | None = None,
    guarantee: str = "item",
    k: int | None = None,
    top: int | None = None,
    candidates: Any = None,
    min_impressions: int = 1,
    engine: str | Engine = "duckdb",
) -> Pessimistic:
    """The ranking with the best lower bound per query; the docs of the command explain the options."""
    _check("click model", click_model, CLICK_WORTHS)
    if position_scope is not None:
        _check("position scope", position_scope, POSITION_SCOPES)
    asked, level = _asked(bound, prior, prior_scope, guarantee), read_delta(delta)
    _check_sizes(k, min_impressions, top)
    counts, reading = read_clicks(log, engine=engine, top=top, patterns=click_model == "dcm-ml", rankings=True)
    curve: DeltaCurve | None = None
    if level is None:
        parts = split_log(log.again(reading), engine, top)
        curve = choose_delta(parts, click_model, asked, k, candidates, position_scope)
        level = curve.best
    logged_stock = Stock.of(counts, click_model, position_scope)
    stock = logged_stock if candidates is None else logged_stock.narrowed(candidates)
    pairs, size = stock.pairs, len(counts.impressions)
    fitted = asked.prior_for(stock)
    lower = asked.lower(stock, fitted, level)
    lengths = counts.pairs.lengths if k is None else np.full(size, k, dtype=np.int64)
    reasons = reasons_of(counts, stock.examined, lengths, min_impressions)
    kept = np.array([reason != CHOSEN for reason in reasons])
    rows, had, places = _ranked(counts, stock, lower, lengths, kept)
    strange = int((~np.append(stock.allowed, True)[rows]).any(axis=1).sum())
    values, logged = (value_of(each, lower, stock.heights, CLICK_WORTHS[click_model].additive) for each in (rows, had))
    ranked, (offsets, items) = rows[rows >= 0], flat(rows, pairs.items)
    share = counts.impressions / counts.total
    value, before = float(share @ values), float(share @ logged)
    said = remarks(
        reading, counts, stock, click_model, fitted, curve, kept=kept, lengths=lengths, value=value, logged=before
    )
    if candidates is None:
        said += clicks_lost(stock, click_model, lower, rows, places, counts.impressions)
    del rows, had, places  # large, and not needed for what follows
    return Pessimistic(
        by="pessimistic",
        metric="clicks",
        impressions=counts.total,
        covered=1.0,
        positions=counts.pairs.positions if k is None else int(k),
        query_ids=pairs.query_ids,
        item_ids=pairs.item_ids,
        queries=np.arange(size),
        offsets=offsets,
        items=items,
        values=values,
        reasons=reasons,
        notes=[*_strange(strange), *_below(k, stock), *said],
        reading=reading,
        click_model=click_model,
        bound=bound,
        delta=level,
        guarantee=guarantee,
        prior=fitted,
        deltas=asked.levels(stock, level),
        lower=lower[ranked],
        clicks=stock.clicks[ranked],
        looks=stock.looks[ranked],
        error_bound=error_bound(stock, level, lengths),
        value=value,
        logged=before,
        curve=curve,
    )


def _asked(bound: str, prior: str | tuple[float, float] | None, prior_scope: str, guarantee: str) -> Pessimism:
    """What is asked of a bound; a prior that it has no use for is ignored."""
    _check("bound", bound, BOUNDS)
    _check("prior scope", prior_scope, SCOPES)
    _check("guarantee", guarantee, GUARANTEES)
    default = BOUNDS[bound].prior
    given = (default if prior is None else prior) if default is not None else None
    return Pessimism(bound, read_prior(given) if isinstance(given, str) else given, prior_scope, guarantee)


def _check_sizes(k: int | None, min_impressions: int, top: int | None) -> None:
    check_top(k, "`k`")
    if not isinstance(min_impressions, int | np.integer) or min_impressions < 1:
        raise InputError(f"`min_impressions` is {min_impressions}: expected a whole number, 1 or more")
    check_top(top)


def _ranked(
    counts: ClickCounts, stock: Stock, lower: Vector, lengths: Codes, kept: NDArray[np.bool_]
) -> tuple[Codes, Codes, Codes]:
    """(Q, K) rows of the chosen lists and of the most logged ones, and (P,) the place of items in the logged order."""
    pairs = stock.pairs
    most, back = most_logged(counts, lengths), pairs.rows_of(counts.pairs)
    had, places = np.append(back, -1)[most], np.full(len(pairs), len(pairs))
    places[back] = logged_places(counts, most)
    del most, back
    rows = best_lists(lower, stock.allowed, pairs, stock.heights, np.where(kept, 0, lengths), places)
    rows, had = _as_wide(rows, had)
    return np.where(kept[:, None], had, rows), had, places


def _as_wide(one: Codes, other: Codes) -> tuple[Codes, Codes]:
    """Both lists of rankings, with -1 behind the ends of the shorter ones."""
    width = max(one.shape[1], other.shape[1])
    first, second = (np.pad(x, ((0, 0), (0, width - x.shape[1])), constant_values=-1) for x in (one, other))
    return first, second


def _strange(queries: int) -> list[str]:
    """What to say where logged rankings were kept that candidates do not allow."""
    if not queries:
        return []
    who = counted(queries, "kept ranking shows", "kept rankings show")
    return [f"{who} items that are not candidates: leave the query out of the policy, or give it more candidates"]


def _below(k: int | None, stock: Stock) -> list[str]:
    """What to say where more positions are to be filled than the log has."""
    known = stock.pairs.positions
    if k is None or stock.heights.ndim == 0 or k <= known:
        return []
    return [
        f"`k` is {k}, but the log's longest list has {counted(known, 'position')}: those below count as 0 in the values"
    ]


def read_delta(delta: float | str) -> float | None:
    """A number in (0, 1]; None for auto."""
    if delta == "auto":
        return None
    try:
        level = float(delta)
    except (TypeError, ValueError):
        raise InputError(f"`delta` is {delta!r}: expected a number above 0 and up to 1, or auto") from None
    if not 0 < level <= 1:
        raise InputError(f"`delta` is {delta}: expected a number above 0 and up to 1, or auto")
    return level


def _check(kind: str, name: str, names: Iterable[str]) -> None:
    if name not in names:
        raise unknown(kind, str(name), names)
