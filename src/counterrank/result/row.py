"""One estimator's answer, as every result that judges gives it."""

from __future__ import annotations

from dataclasses import asdict, field
from typing import Any

from counterrank.records import dataclass


@dataclass(frozen=True)
class DistanceRow:
    """What `pi` and `wpi` add: how far target and logging policy are apart, and theorem 3's bound on `pi`'s error."""

    sigma2: float | None
    rho: float | None
    rho_bar: float | None
    kappa: float | None
    deviation: float | None


@dataclass(frozen=True, kw_only=True)
class Row:
    """One estimator's answer."""

    estimator: str
    value: float | None
    stderr: float | None
    lower: float | None
    upper: float | None
    confidence: float
    interval: str
    effective_sample_size: float | None
    clipped: float
    unsupported: float
    warnings: list[str] = field(default_factory=list)
    distance: DistanceRow | None = None
    clip: float | None = None  # the largest weight; none for no clip

    def to_dict(self) -> dict[str, Any]:
        """As in JSON: what only `pi` and `wpi` have stands beside the rest."""
        fields = asdict(self)
        return fields | (fields.pop("distance") or {})
