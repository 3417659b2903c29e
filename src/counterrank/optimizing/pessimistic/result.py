"""Rankings with the best lower bounds, with what they rest on."""

from __future__ import annotations

from typing import Any

import numpy as np

from counterrank.optimizing.pessimistic.auto_delta import DeltaCurve
from counterrank.optimizing.pessimistic.worth import Vector
from counterrank.optimizing.result import Optimization
from counterrank.posterior import Prior
from counterrank.records import dataclass
from counterrank.words import number


@dataclass(frozen=True, repr=False, kw_only=True)
class Pessimistic(Optimization):
    """One ranking per query, with a lower bound for each item; `values` are lower bounds on the lists' values."""

    click_model: str
    bound: str
    delta: float
    guarantee: str
    prior: Prior | None
    deltas: Vector  # (Q,) the delta of each query's items
    lower: Vector  # one per ranked item, as are the next two; NaN where there is none
    clicks: Vector
    looks: Vector
    error_bound: Vector  # (Q,) NaN: infinite
    value: float  # the mean lower bound over impressions
    logged: float  # the same of the most logged rankings
    curve: DeltaCurve | None = None

    def details(self) -> dict[str, Any]:
        pair = self.prior.pair if self.prior is not None else None
        return {
            "click_model": self.click_model,
            "bound": self.bound,
            "delta": self.delta,
            "guarantee": self.guarantee,
            "prior": list(pair) if pair is not None else None,
            "value": self.value,
            "logged": self.logged,
            "curve": self.curve.to_list() if self.curve is not None else None,
        }

    def row_details(self, row: int) -> dict[str, Any]:
        mine = slice(self.offsets[row], self.offsets[row + 1])
        own = self.prior.of_query(row) if self.prior is not None else None
        return {
            "lower": _numbers(self.lower[mine]),
            "prior": list(own) if own is not None else None,
            "clicks": self.clicks[mine].tolist(),
            "looks": self.looks[mine].tolist(),
            "delta": float(self.deltas[row]),
            "error_bound": _numbers(self.error_bound[[row]])[0],
        }

    def how(self) -> str:
        return f", {self.click_model}, {self.bound} at δ = {number(self.delta, 3)}"


def _numbers(values: Vector) -> list[float | None]:
    return [float(v) if np.isfinite(v) else None for v in values]
