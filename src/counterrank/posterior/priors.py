"""Beta priors for the attractions of a query's items, or of all items: given, or the most likely one."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from counterrank.errors import InputError, unknown
from counterrank.ids import Codes
from counterrank.posterior._climb import climb
from counterrank.posterior.likelihood import Vector, on_grid
from counterrank.records import dataclass

GRID: Vector = np.exp2(np.arange(10.0))  # cief2024's: 1, 2, …, 512
LOW, HIGH = 2.0**-10, 2.0**20  # the box of `fit`: the likelihood may have no maximum
SCOPES = ("query", "global")
ROUNDING = 1e-12  # likelihoods closer than this, relatively, are equal
_STARTS: Vector = np.exp2(np.arange(-10.0, 21.0, 2.0))


@dataclass(frozen=True)
class Prior:
    """Beta(α, β) for each query, or for each (query, item). `edge`: a fit ended on the edge of its box."""

    alpha: Vector  # (Q,), or (P,) where `by_item`
    beta: Vector  # as α
    shared: bool  # whether all queries have one
    edge: NDArray[np.bool_]  # (Q,)
    by_item: bool = False

    def on(self, starts: Codes) -> tuple[Vector, Vector]:
        """(P,): α and β of each item, those of query q being rows starts[q]:starts[q+1]."""
        if self.by_item:
            return self.alpha, self.beta
        sizes = np.diff(starts)
        return np.repeat(self.alpha, sizes), np.repeat(self.beta, sizes)

    def of_query(self, query: int) -> tuple[float, float] | None:
        """The one prior of a query's items, where they share it."""
        return None if self.by_item else (float(self.alpha[query]), float(self.beta[query]))

    @property
    def pair(self) -> tuple[float, float] | None:
        """The one prior of all queries, where they share it."""
        return (float(self.alpha[0]), float(self.beta[0])) if self.shared and len(self.alpha) else None


@dataclass(frozen=True)
class Groups:
    """Clicks and misses of items, those of group g in rows starts[g]:starts[g+1]; each row stands for `count` items."""

    hits: Vector
    misses: Vector
    count: Vector
    starts: Codes

    @classmethod
    def of(cls, clicks: Vector, looks: Vector, starts: Codes, shared: bool) -> Groups:
        """Items without looks say nothing and are left out; shared: all in one group, equal ones together."""
        seen = looks > 0
        hits, misses = clicks[seen].astype(np.float64), (looks - clicks)[seen].astype(np.float64)
        if not shared:
            before = np.concatenate([[0], np.cumsum(seen)])
            group = np.repeat(np.arange(len(starts) - 1), np.diff(before[starts]))
            order = np.lexsort((misses, hits, group))  # sums do not depend on the order of the log
            return cls(hits[order], misses[order], np.ones(len(hits)), before[starts])
        both, count = np.unique(np.stack([hits, misses], axis=1), axis=0, return_counts=True)
        ends = np.array([0, len(both)])
        return cls(np.ascontiguousarray(both[:, 0]), np.ascontiguousarray(both[:, 1]), count.astype(np.float64), ends)


def best_on_grid(groups: Groups) -> NDArray[np.float64]:
    """(groups, 3): the most likely (α, β) of the paper's grid and its log-likelihood; the smallest of equal ones."""
    return _best(on_grid(groups.hits, groups.misses, groups.count, groups.starts, GRID), GRID)


def fitted(groups: Groups) -> NDArray[np.float64]:
    """(groups, 3): the most likely (α, β) with both from 2⁻¹⁰ to 2²⁰. Never less likely than the best of the grid.

    The climb starts from the best of two grids, the paper's and a wide one over the whole box.
    """
    wide = _best(on_grid(groups.hits, groups.misses, groups.count, groups.starts, _STARTS), _STARTS)
    near = best_on_grid(groups)
    out = near
    for begin in (near, wide):
        found = np.asarray(climb(groups.hits, groups.misses, groups.count, groups.starts, begin[:, :2], LOW, HIGH))
        out = np.where((found[:, 2] > out[:, 2])[:, None], found, out)
    out[groups.starts[1:] == groups.starts[:-1]] = 1.0, 1.0, 0.0  # nothing was looked at
    return out


def _best(grid: NDArray[np.float64], steps: Vector) -> NDArray[np.float64]:
    flat = grid.reshape(len(grid), -1)
    most = flat.max(axis=1, keepdims=True)
    top = (flat >= most - ROUNDING * (1 + np.abs(most))).argmax(axis=1)
    return np.stack([steps[top // len(steps)], steps[top % len(steps)], flat[np.arange(len(flat)), top]], axis=1)


PRIORS: dict[str, Callable[[Groups], NDArray[np.float64]]] = {"grid": best_on_grid, "fit": fitted}


Given = tuple[float | Vector, float | Vector]  # α and β: of all items, of each query (Q,), or of each item (P,)


def choose_prior(prior: str | Given, clicks: Vector, looks: Vector, starts: Codes, scope: str = "query") -> Prior:
    """The prior of each query, whose items are rows starts[q]:starts[q+1]: a name of `PRIORS`, or given as (α, β).

    Given numbers hold for all; arrays are of each query or of each item.

    >>> starts = np.array([0, 3])
    >>> choose_prior("grid", np.array([1.0, 2.0, 9.0]), np.array([10.0, 10.0, 10.0]), starts).pair is None
    True
    >>> choose_prior((np.array([1.0, 2.0, 3.0]), 5.0), np.zeros(3), np.zeros(3), starts).on(starts)[1].tolist()
    [5.0, 5.0, 5.0]
    """
    size = len(starts) - 1
    if not isinstance(prior, str):
        return _given(prior, size, int(starts[-1]))
    if prior not in PRIORS:
        raise unknown("prior", prior, [*PRIORS, "or α,β such as 1,1"])
    if scope not in SCOPES:
        raise unknown("prior scope", scope, SCOPES)
    shared = scope == "global"
    found = PRIORS[prior](Groups.of(clicks, looks, starts, shared))
    if shared:
        found = np.repeat(found, size, axis=0)
    edge = np.zeros(size, dtype=bool)
    if prior == "fit":
        edge = np.asarray(((found[:, :2] <= LOW) | (found[:, :2] >= HIGH)).any(axis=1))
    return Prior(np.ascontiguousarray(found[:, 0]), np.ascontiguousarray(found[:, 1]), shared, edge)


def _given(prior: Given, queries: int, items: int) -> Prior:
    alpha, beta = (np.asarray(part, dtype=np.float64) for part in prior)
    shapes = {part.shape for part in (alpha, beta)} - {()}
    if len(shapes) > 1 or not shapes <= {(queries,), (items,)}:
        came = " and ".join(str(part.shape) for part in (alpha, beta))
        raise InputError(f"α and β have shapes {came}: give numbers, or {queries} (of queries) or {items} (of items)")
    if not all((np.isfinite(part) & (part > 0)).all() for part in (alpha, beta)):
        raise InputError("α and β of a Beta prior are finite and above 0: some that came are not")
    shape = shapes.pop() if shapes else None
    by_item = shape is not None and shape != (queries,)
    full = [np.broadcast_to(part, shape or (queries,)).astype(np.float64) for part in (alpha, beta)]
    return Prior(full[0], full[1], shape is None, np.zeros(queries, dtype=bool), by_item)


def read_prior(text: str) -> str | tuple[float, float]:
    """`prior` as users write it: a name, or α,β.

    >>> read_prior("1,8"), read_prior("fit")
    ((1.0, 8.0), 'fit')
    """
    if text in PRIORS:
        return text
    try:
        alpha, beta = (float(part) for part in text.split(","))
    except ValueError:
        if not any(sign.isdigit() for sign in text):
            raise unknown("prior", text, [*PRIORS, "or α,β such as 1,1"]) from None
        raise InputError(f"`prior` is {text!r}: expected {', '.join(PRIORS)}, or two numbers such as 1,1") from None
    if not (alpha > 0 and beta > 0 and alpha + beta < np.inf):
        raise InputError(f"`prior` is {text!r}: α and β of a Beta prior are finite and above 0")
    return alpha, beta
