"""The prior of a service: what features say of an item before any click, as a model that can be stored and swapped."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from counterrank.errors import InputError
from counterrank.regress import PRIOR_MODELS
from counterrank.regress.prior import BETA, PriorModel

FORMAT = {"format": "counterrank-prior", "version": 1}
Matrix = NDArray[np.float64]


@dataclass(frozen=True)
class Prior:
    """α and β from features, and those of items without any. `version`: of the model, None before the first."""

    version: str | None = None
    plain: tuple[float, float] = (1.0, BETA)
    names: list[str] = field(default_factory=list)
    model: PriorModel | None = None

    def beliefs(self, features: Matrix, names: Sequence[str]) -> Matrix:
        """(N, 2): α and β of rows with these features; the plain prior where all that it knows is missing."""
        out = np.empty((len(features), 2))
        out[:] = self.plain
        if self.model is None or not len(features):
            return out
        at = {name: i for i, name in enumerate(names)}
        x = np.full((len(features), len(self.names)), np.nan)
        for column, name in enumerate(self.names):
            if name in at:
                x[:, column] = features[:, at[name]]
        known = ~np.isnan(x).all(axis=1)
        if known.any():
            alpha = self.model.alpha(x[known])
            good = np.isfinite(alpha) & (alpha > 0)
            out[known, 0] = np.where(good, alpha, self.plain[0])
            out[known, 1] = np.where(good, self.model.beta, self.plain[1])
        return out

    def to_json(self) -> str:
        """The prior as text."""
        model = None if self.model is None else self.model.to_dict()
        kept = FORMAT | {"plain": list(self.plain), "names": self.names, "model": model}
        return json.dumps(kept, ensure_ascii=False)

    @classmethod
    def of_json(cls, text: str | bytes, version: str | None = None) -> Prior:
        """The prior of `to_json`. The text is data: nothing in it is run."""
        try:
            kept: dict[str, Any] = json.loads(text)
            if {name: kept.get(name) for name in FORMAT} != FORMAT:
                raise ValueError("another format or version")
            alpha, beta = (float(each) for each in kept["plain"])
            if not (0 < alpha < math.inf and 0 < beta < math.inf):
                raise ValueError("a plain prior that is not positive")
            names = [str(name) for name in kept["names"]]
            given = kept["model"]
            model = None if given is None else PRIOR_MODELS[given["model"]].of_dict(given)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise InputError(f"the prior cannot be read ({error}): retrain, or go back to an earlier version") from None
        return cls(version, (alpha, beta), names, model)
