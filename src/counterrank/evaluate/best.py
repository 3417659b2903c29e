"""What `--estimator best` means: the estimator and clip that a backtest on this log recommends."""

from __future__ import annotations

from collections.abc import Sequence

from counterrank.engine import Engine
from counterrank.evaluate.backtest import backtest
from counterrank.log import Log


def recommended(
    log: Log, top: int | None, weights: str | Sequence[float], examination: str | Sequence[float], engine: Engine
) -> tuple[str, float | None, list[str]]:
    """The estimator, its clip (None: none) and what to say of the choice."""
    result = backtest(log, top=top, weights=weights, examination=examination, engine=engine)
    name, clip = result.best()
    limit = "no clip" if clip is None else f"clip {clip:g}"
    return name, clip, [f"{name} with {limit} had the lowest error in a backtest over the log's days"]
