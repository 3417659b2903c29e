"""Item: a click depends on the item alone."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from counterrank.estimate.base import Vector
from counterrank.estimate.by_clicks import ByClicks
from counterrank.estimate.pbm import PositionBased
from counterrank.setting.evidence import Evidence
from counterrank.setting.need import Need


class Item(PositionBased):
    """The position-based estimator with every position examined: min(⟨θ, h(a,·|q)⟩ / ⟨θ, π(a,·|q)⟩, M).

    Unbiased if an item is clicked as often wherever it stands. Few weights, little variance, and a bias where position
    matters. Reference: li2018, section 3.6.
    """

    name: ClassVar[str] = "item"
    assumption: ClassVar[str] = "a click depends on the item, wherever it stands"
    needs: ClassVar[frozenset[Need]] = ByClicks.needs
    assumes: ClassVar[int] = 6
    misfits: ClassVar[tuple[str, str] | None] = ("position matters", "position matters")

    def curve(self, evidence: Evidence) -> Vector:
        return np.ones_like(evidence.weights)

    def looks_below(self, evidence: Evidence) -> float:
        return evidence.looks_below[1]
