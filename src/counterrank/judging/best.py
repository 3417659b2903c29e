"""What `estimators="best"` means: the estimator and clip that a backtest on this log recommends."""

from __future__ import annotations

from counterrank.backtesting.backtest import backtest
from counterrank.engine import Engine
from counterrank.errors import InputError
from counterrank.log import Reading
from counterrank.setting.question import Question

CLIPPED = 0.01  # share of clipped weights from which the choice of the clip is doubted


def recommended(question: Question, engine: str | Engine) -> tuple[str, float | None, str, Reading]:
    """The estimator, its clip (None: none) and what to say of the choice; and what was read."""
    if question.metric != "clicks":
        raise InputError("`estimators='best'` tests estimators of clicks: add `metric='clicks'`, or name estimators")
    result = backtest(
        question.log, top=question.top, weights=question.weights, examination=question.examination, engine=engine
    )
    name, clip = result.best()
    limit = "no clip" if clip is None else f"clip {clip:g}"
    return name, clip, f"{name} with {limit} had the lowest error in a backtest over the log's days", result.reading


def doubt(clipped: float) -> list[str]:
    """What to say where the recommended clip holds much of this target back."""
    if clipped < CLIPPED:
        return []
    return [
        f"the clip was chosen on rankings like the log's own, but holds {clipped:.1%} of this target's weights back: "
        "compare with no clip before you trust it"
    ]
