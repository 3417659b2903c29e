"""Lower bounds of all items of a stock: prior, delta and guarantee put together."""

from __future__ import annotations

import numpy as np

from counterrank.ids import Codes
from counterrank.optimizing.pessimistic.stock import Stock
from counterrank.optimizing.pessimistic.worth import Vector
from counterrank.posterior import BOUNDS, Prior, choose_prior
from counterrank.records import dataclass
from counterrank.statistics.pairs import sum_by

NOTHING = 1e-12  # a bound that is no further from 0 is 0: nobody can tell such numbers apart
GUARANTEES = ("item", "list", "log")


@dataclass(frozen=True)
class Pessimism:
    """Which bounds: a name of `BOUNDS`, a prior (None where the bound has none), and for what they shall hold."""

    bound: str
    prior: str | tuple[float, float] | None
    prior_scope: str = "global"
    guarantee: str = "item"

    def prior_for(self, stock: Stock) -> Prior | None:
        if self.prior is None:
            return None
        if self.prior == "fit" and self.prior_scope == "global" and stock.prior is not None:
            return choose_prior(stock.prior, stock.clicks, stock.looks, stock.pairs.starts)
        return choose_prior(self.prior, stock.clicks, stock.looks, stock.pairs.starts, self.prior_scope)

    def levels(self, stock: Stock, delta: float) -> Vector:
        """(Q,) the delta of each query's items: δ, or δ shared among all items of the query or of the log."""
        size = len(stock.pairs.query_ids)
        if self.guarantee == "item":
            return np.full(size, delta)
        if self.guarantee == "list":
            return delta / np.maximum(stock.choices, 1)
        return np.full(size, delta / max(int(stock.allowed.sum()), 1))

    def lower(self, stock: Stock, prior: Prior | None, delta: float) -> Vector:
        """(P,) the bound of each item, NaN where it has none."""
        of = stock.pairs.queries
        ones = np.ones(len(of))
        alpha, beta = (ones, ones) if prior is None else prior.on(stock.pairs.starts)
        level = self.levels(stock, delta)[of]
        found = BOUNDS[self.bound].lower(stock.clicks, stock.looks, level, alpha, beta)
        return np.where(np.abs(found) < NOTHING, 0.0, found)


def error_bound(stock: Stock, delta: float, positions: Codes) -> Vector:
    """(Q,): theorem 3 of cief2024 as far as a log can tell, NaN where it is infinite.

    With chance 1 − δ, for all queries at once, the list that is best by mean − width is worse than the truly best one
    by no more than 2·Σ width over the best list's items; width = √(log(2N/δ)/(2·looks)), N being all (query, item)
    pairs. The best list is not known: this is the largest sum over lists of candidates. An item never looked at has no
    width.
    """
    pairs = stock.pairs
    number = max(int(stock.allowed.sum()), 1)
    width = np.sqrt(
        np.divide(np.log(2 * number / delta), 2 * stock.looks, out=np.full(len(pairs), np.inf), where=stock.looks > 0)
    )
    width[~stock.allowed] = -1.0
    queries = pairs.queries
    order = np.lexsort((-width, queries))  # by query, as the pairs are
    rank = np.arange(len(order)) - pairs.starts[queries]
    used = order[(rank < positions[queries]) & stock.allowed[order]]
    total = 2 * sum_by(queries[used], width[used], len(pairs.query_ids))
    return np.where(np.isfinite(total), total, np.nan)
