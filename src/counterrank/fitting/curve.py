"""How far down users look, told in two ways."""

from __future__ import annotations

from typing import Any

import numpy as np

from counterrank.click import ClickCounts, Fit, PositionBased
from counterrank.click.harvest import harvest_of
from counterrank.errors import InputError
from counterrank.fitting.result import ExaminationCurve

APART = 0.1  # between two curves, beyond which it is said


def position_curve(counts: ClickCounts, fit: Fit) -> tuple[list[ExaminationCurve], list[str]]:
    """Click rates by position, and examination by two ways."""
    shown, clicked = (counts.cells.by_position(each) for each in (counts.shown, counts.clicked))
    assert isinstance(fit.model, PositionBased)  # noqa: S101
    examined = fit.model.examination
    notes: list[str] = []
    try:
        harvest = harvest_of(counts.tally)
        size = len(harvest.examination)
        harvested: list[Any] = harvest.examination.tolist() + [None] * (len(shown) - size)
        notes += [f"harvested curve: {note}" for note in harvest.notes]
        if size < len(shown):
            notes.append(f"harvested curve: of the first {size} positions only")
        apart = np.abs(examined[:size] - harvest.examination)[harvest.linked]
        if apart.max() > APART:
            notes.append(
                f"the two curves differ by up to {apart.max():.2f}: users are not position-based, or the data is thin"
            )
    except InputError as error:
        harvested = [None] * len(shown)
        notes.append(f"no harvested curve: {error}")
    return [
        ExaminationCurve(
            k + 1, int(shown[k]), float(clicked[k] / shown[k]) if shown[k] else None, float(examined[k]), harvested[k]
        )
        for k in range(len(shown))
    ], notes
