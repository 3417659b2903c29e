"""The ranking with the best lower bound, per query: cief2024's algorithm 1 on a log."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from counterrank.click import Scope
from counterrank.engine import Engine
from counterrank.errors import InputError, unknown
from counterrank.evaluate.click_counts import read_clicks
from counterrank.evaluate.options import check_top
from counterrank.learn.auto_delta import Curve, choose_delta, split_log
from counterrank.learn.lower import GUARANTEES, Asked, error_bound
from counterrank.learn.pessimistic_result import Pessimistic
from counterrank.learn.pessimistic_words import CHOSEN, reasons_of, remarks
from counterrank.learn.result import flat
from counterrank.learn.stock import Stock, most_logged
from counterrank.learn.worth import CLICK_WORTHS, best_lists, value_of
from counterrank.log import Log
from counterrank.log.foreign import counted
from counterrank.posterior import BOUNDS, SCOPES, read_prior

POSITION_SCOPES: tuple[Scope, ...] = ("query", "pooled")


def pessimistic_from_log(
    log: Log,
    *,
    click_model: str = "cm",
    bound: str = "empirical-bayes",
    delta: float | str = 0.2,
    prior: str | tuple[float, float] | None = None,
    prior_scope: str = "query",
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
    _check("bound", bound, BOUNDS)
    _check("prior scope", prior_scope, SCOPES)
    _check("guarantee", guarantee, GUARANTEES)
    if position_scope is not None:
        _check("position scope", position_scope, POSITION_SCOPES)
    level = read_delta(delta)
    check_top(k, "--k")
    if not isinstance(min_impressions, int | np.integer) or min_impressions < 1:
        raise InputError(f"--min-impressions is {min_impressions}: expected a whole number, 1 or more")
    check_top(top)
    default = BOUNDS[bound].prior
    given = (default if prior is None else prior) if default is not None else None  # ignored where there is no use
    asked = Asked(bound, read_prior(given) if isinstance(given, str) else given, prior_scope, guarantee)

    counts, reading = read_clicks(log, engine=engine, top=top, patterns=click_model == "dcm-ml", rankings=True)
    positions = counts.pairs.positions
    curve: Curve | None = None
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
    rows = best_lists(lower, stock.allowed, pairs, stock.heights, np.where(kept, 0, lengths))
    had = most_logged(counts, lengths)
    had = np.append(pairs.rows_of(counts.pairs), -1)[had]
    width = max(rows.shape[1], had.shape[1])
    rows, had = (np.pad(each, ((0, 0), (0, width - each.shape[1])), constant_values=-1) for each in (rows, had))
    rows = np.where(kept[:, None], had, rows)
    strange = int((~np.append(stock.allowed, True)[rows]).any(axis=1).sum())
    additive = CLICK_WORTHS[click_model].additive
    values, logged = (value_of(each, lower, stock.heights, additive) for each in (rows, had))
    offsets, items = flat(rows, pairs.items)
    ranked = rows[rows >= 0]
    share = counts.impressions / counts.total
    value, before = float(share @ values), float(share @ logged)
    return Pessimistic(
        by="pessimistic",
        metric="clicks",
        impressions=counts.total,
        covered=1.0,
        positions=positions if k is None else int(k),
        query_ids=pairs.query_ids,
        item_ids=pairs.item_ids,
        queries=np.arange(size),
        offsets=offsets,
        items=items,
        values=values,
        reasons=reasons,
        notes=[
            *_strange(strange),
            *_below(k, stock),
            *remarks(reading, counts, stock, click_model, fitted, curve, kept, lengths, value, before),
        ],
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
        f"--k is {k}, but the log's longest list has {counted(known, 'position')}: those below count as 0 in the values"
    ]


def read_delta(delta: float | str) -> float | None:
    """A number in (0, 1]; None for auto."""
    if delta == "auto":
        return None
    try:
        level = float(delta)
    except (TypeError, ValueError):
        raise InputError(f"--delta is {delta!r}: expected a number above 0 and up to 1, or auto") from None
    if not 0 < level <= 1:
        raise InputError(f"--delta is {delta}: expected a number above 0 and up to 1, or auto")
    return level


def _check(kind: str, name: str, names: Iterable[str]) -> None:
    if name not in names:
        raise unknown(kind, str(name), names)
