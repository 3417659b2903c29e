"""Click models: how users turn a ranking into clicks."""

from __future__ import annotations

from counterrank.click.base import ClickModel
from counterrank.click.cascade import Cascade
from counterrank.click.dependent import DependentClick
from counterrank.click.examination import ExaminationFit, fit_examination
from counterrank.click.position_based import PositionBased

CLICK_MODELS: dict[str, type[ClickModel]] = {
    "cm": Cascade,
    "dcm": DependentClick,
    "pbm": PositionBased,
}

__all__ = [
    "CLICK_MODELS",
    "Cascade",
    "ClickModel",
    "DependentClick",
    "ExaminationFit",
    "PositionBased",
    "fit_examination",
]
