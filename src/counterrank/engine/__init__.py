"""Where rows are counted, by name."""

from __future__ import annotations

from counterrank.engine.embedded import Embedded
from counterrank.engine.plan import Coefficients, Engine, Metric, Moments, Pass, Plan, WantedRankings
from counterrank.errors import unknown

ENGINES = ("duckdb", "ibis", "spark", "spark://HOST:PORT", "local[N]")


def open_engine(engine: str | Engine) -> Engine:
    """The engine of this name; a Spark master's address opens Spark there."""
    if not isinstance(engine, str):
        return engine
    if engine == "duckdb":
        return Embedded()
    if engine == "ibis":
        from counterrank.engine.relational import OwnBackend

        return OwnBackend()
    if engine == "spark" or engine.startswith(("spark://", "local[", "local", "yarn", "k8s://")):
        from counterrank.engine.spark import open_spark

        return open_spark(engine)
    raise unknown("engine", engine, ENGINES)


__all__ = [
    "ENGINES",
    "Coefficients",
    "Embedded",
    "Engine",
    "Metric",
    "Moments",
    "Pass",
    "Plan",
    "WantedRankings",
    "open_engine",
]
