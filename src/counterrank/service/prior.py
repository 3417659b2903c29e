"""The prior of a service: what features say of an item before any click, as a policy directory that can be swapped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from counterrank.errors import InputError
from counterrank.policy import Linear
from counterrank.policy.directory import sealed, unsealed
from counterrank.policy.stored import Stored, checked_number, checked_numbers, checked_object
from counterrank.regress import LinearPrior, Scale
from counterrank.regress.prior import BETA

Matrix = NDArray[np.float64]


@dataclass(frozen=True)
class Prior:
    """α and β from features, and those of items without any. `version`: of the model, None before the first."""

    version: str | None = None
    plain: tuple[float, float] = (1.0, BETA)
    names: list[str] = field(default_factory=list)
    model: LinearPrior | None = None

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

    def stored(self) -> Stored:
        """As a policy: items sorted by what their features say of them. What only a prior has is in its settings."""
        own: dict[str, Any] = {"plain": list(self.plain), "beta": None, "intercept": None}
        policy = Linear([], [])
        if self.model is not None and self.model.scale is not None:
            mean, scale = self.model.scale.mean, self.model.scale.scale
            counts = np.isfinite(scale)  # what never varied has no say
            policy = Linear(self.names, self.model.weights[1:], mean, np.where(counts, scale, 0.0))
            own |= {"beta": self.model.beta, "intercept": float(self.model.weights[0])}
        return replace(policy.stored(), settings={"prior": own})

    def files(self) -> dict[str, bytes]:
        """The files of a policy directory, by name."""
        return sealed(self.stored())

    @classmethod
    def of_files(cls, files: Mapping[str, bytes], version: str | None = None) -> Prior:
        """The prior of `files`: sealed as any policy directory is, and read as one. Nothing in it is run."""
        try:
            stored = unsealed(files)
            if stored.kind != Linear.kind:
                raise InputError(f"a {stored.kind[:40]} policy is no prior")
            return cls._of(Linear.restored(stored), checked_object(stored.settings.get("prior")), version)
        except InputError as error:
            raise InputError(f"the model cannot be read ({error}): retrain, or go back to an earlier one") from None

    @classmethod
    def _of(cls, policy: Linear, own: dict[str, Any], version: str | None) -> Prior:
        alpha, beta = (_positive(each, "plain") for each in checked_numbers(own.get("plain"), "plain", 2))
        if not policy.features:
            return cls(version, (alpha, beta))
        model = LinearPrior(_positive(checked_number(own.get("beta"), "beta"), "beta"))
        model.scale = Scale(policy.mean, np.where(policy.scale > 0, policy.scale, np.inf))
        model.weights = np.array([checked_number(own.get("intercept"), "intercept"), *policy.weights])
        return cls(version, (alpha, beta), policy.features, model)


def _positive(value: float, what: str) -> float:
    if not value > 0:
        raise InputError(f"{what} is {value:g}: expected a positive number")
    return value
