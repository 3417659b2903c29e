"""What a fitted click model is, and the small steps that all fits share."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import ArrayLike

from counterrank.click.base import ClickModel, Floats
from counterrank.click.counts import ClickCounts
from counterrank.errors import InputError
from counterrank.records import dataclass

Scope = Literal["pooled", "query"]
SCOPES: tuple[Scope, ...] = ("pooled", "query")
ITERATIONS = 50
LAST = "the last click is taken for the last look, though users may have read on"


@dataclass(frozen=True)
class Looks:
    """Beta evidence on attraction, one row per pair: examined and clicked, of examined.

    May be fractional: where it is not seen whether an item was examined, `looks` is the number of certain looks that
    would tell as much. clicks / looks is the attraction that the clicks alone speak for.
    """

    clicks: Floats  # (P,)
    looks: Floats  # (P,)
    prior: tuple[float, float] | None = None  # of attractions, where it was fitted with the model


@dataclass(frozen=True)
class Options:
    """How a model is fitted: Beta(α, β) on every chance, and position parameters pooled or for each query.

    `others`, where given, is the prior of every chance but attraction: going on, examination, satisfaction, rates.
    """

    prior: tuple[float, float] = (1.0, 1.0)
    scope: Scope = "pooled"
    iterations: int = ITERATIONS
    tolerance: float = 1e-8  # the relative rise of the objective not worth another iteration
    strides: bool = True  # iterations may take more than a step at a time
    others: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        if not (len(self.prior) == 2 and np.isfinite(self.prior).all() and min(self.prior) >= 0):
            raise InputError(f"prior is {self.prior}: give two numbers α, β of at least 0, such as 1,1")
        if self.scope not in SCOPES:
            raise InputError(f"scope is {self.scope!r}: give one of {', '.join(SCOPES)}")
        if self.iterations < 1:
            raise InputError(f"iterations is {self.iterations}: give 1 or more")

    @property
    def other(self) -> Options:
        """The same, with the prior of chances that are not attractions."""
        return self if self.others is None else replace(self, prior=self.others)

    def mean(self, hits: ArrayLike, trials: ArrayLike) -> Floats:
        """The posterior mean (α + hits) / (α + β + trials); 1/2 where there is neither prior nor trial."""
        alpha, beta = self.prior
        above, below = np.asarray(hits, dtype=np.float64) + alpha, np.asarray(trials, dtype=np.float64) + (alpha + beta)
        out = np.full(np.shape(below), 0.5)
        np.divide(above, below, out=out, where=below > 0)
        if min(self.prior) > 0:  # then nothing is impossible or sure, though rounding may say so
            np.clip(out, np.finfo(np.float64).tiny, 1 - np.finfo(np.float64).epsneg, out=out)
        return out

    def penalty(self, *chances: Floats) -> float:
        """Σ α log x + β log(1−x): with it, a posterior mean is where the likelihood of counts is highest."""
        alpha, beta = self.prior
        total = 0.0
        for x in chances:
            total += alpha * float(np.log(x).sum()) if alpha else 0.0
            total += beta * float(np.log1p(-x).sum()) if beta else 0.0
        return total

    def pooled(self, by_query: Floats) -> Floats:
        """(Q, K) counts as the scope wants them: (1, K) pooled, or as they are."""
        return by_query if self.scope == "query" else by_query.sum(axis=0, keepdims=True)


@dataclass(frozen=True)
class Fit:
    """A model with its parameters, and how they were come by."""

    model: ClickModel
    looks: Looks | None = None  # None: the model knows no attraction of single items
    trace: tuple[float, ...] = ()  # log-likelihood plus penalty before each iteration; empty for a closed form
    converged: bool = True
    notes: tuple[str, ...] = ()
    biased: str = ""  # why it does not find the model that clicks are drawn from, where it does not

    @property
    def iterations(self) -> int:
        return len(self.trace)


class Fitter(Protocol):
    """Fits one model to counts."""

    def __call__(self, counts: ClickCounts, options: Options = ...) -> Fit: ...


def squeezed(per_scope: Floats) -> Floats:
    """A (1, K) array as (K,), a (Q, K) one as it is: how models take position parameters."""
    return per_scope[0] if len(per_scope) == 1 else per_scope


def logs(often: Any, chance: Floats) -> float:
    """Σ often · log chance, where what never came has no part in it."""
    some = np.flatnonzero(np.broadcast_to(often, chance.shape))
    with np.errstate(divide="ignore"):
        return float((np.asarray(often).ravel()[some] * np.log(chance.ravel()[some])).sum())


def effective(clicks: Floats, looks: Floats, doubt: Floats, attraction: Floats) -> Looks:
    """Expected looks as the certain looks that would tell as much.

    A look that happened with chance w only carries less: with Louis' identity the information on attraction a is
    looks / (a(1−a)) − Σ w(1−w) / (1−a)², so looks shrink by a/(1−a)·Σ w(1−w); `doubt` is that sum.
    """
    lost = doubt * attraction / np.maximum(1.0 - attraction, 1e-12)
    kept = np.clip(1.0 - np.divide(lost, looks, out=np.zeros_like(looks), where=looks > 0), 0.0, 1.0)
    return Looks(clicks * kept, looks * kept)
