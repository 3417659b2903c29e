"""Where rows are counted, by name."""

from __future__ import annotations

from collections.abc import Callable

from counterrank.engine.embedded import Embedded
from counterrank.engine.plan import Coefficients, Engine, Metric, Moments, OwnWeights, Pass, Plan, WantedRankings
from counterrank.errors import unknown


def _own_backend(name: str) -> Engine:
    from counterrank.engine.relational import OwnBackend

    return OwnBackend()


def _spark(name: str) -> Engine:
    from counterrank.engine.spark import open_spark

    return open_spark(name)


ENGINES: dict[str, Callable[[str], Engine]] = {  # each is given the name that it was asked for by
    "duckdb": lambda name: Embedded(),
    "ibis": _own_backend,
    "spark": _spark,
    "spark://HOST:PORT": _spark,
    "local[N]": _spark,
}
_MASTERS = ("spark://", "local", "yarn", "k8s://")  # how addresses of a Spark master begin


def open_engine(engine: str | Engine) -> Engine:
    """The engine of this name; a Spark master's address opens Spark there."""
    if not isinstance(engine, str):
        return engine
    opened = _spark if engine.startswith(_MASTERS) else ENGINES.get(engine)
    if opened is None:
        raise unknown("engine", engine, ENGINES)
    return opened(engine)


__all__ = [
    "ENGINES",
    "Coefficients",
    "Embedded",
    "Engine",
    "Metric",
    "Moments",
    "OwnWeights",
    "Pass",
    "Plan",
    "WantedRankings",
    "open_engine",
]
