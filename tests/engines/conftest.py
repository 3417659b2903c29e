"""Every engine under one name; Spark starts once for all tests, and is skipped with a reason where it cannot run."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

from counterrank.engine import open_engine
from in_parts import InParts

sys.path.insert(0, str(Path(__file__).parents[1]))  # the worlds and the oracle are shared by all tests

TRIED = {"duckdb": "duckdb", "ibis": "ibis", "spark": "local[2]"}  # every way to open an engine, by a name
ENGINES = [pytest.param(name, marks=[pytest.mark.spark] * (kind == "spark"), id=kind) for kind, name in TRIED.items()]
ENGINES.append(pytest.param("parts", id="parts"))  # the loops that Spark's workers run, in this process


# what tiny logs do not need: code made for each query, a compiler that learns, many collectors of garbage
LEAN = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.adaptive.enabled": "false",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
}


@pytest.fixture(scope="session")
def spark(tmp_path_factory):
    if importlib.util.find_spec("pyspark") is None:
        pytest.skip("pyspark is not installed: pip install '.[spark]'")
    from counterrank.engine.spark import JAVA, java_version

    if (java_version() or 0) < JAVA:
        pytest.skip(f"Spark needs Java {JAVA} or later, found {java_version()}")
    defaults = tmp_path_factory.mktemp("spark") / "spark-defaults.conf"
    defaults.write_text("".join(f"{name} {value}\n" for name, value in LEAN.items()))
    with pytest.MonkeyPatch.context() as patch:  # what `open_engine` itself sets goes before these
        patch.setenv("SPARK_CONF_DIR", str(defaults.parent))
        return open_engine("local[2]")


@pytest.fixture(params=ENGINES)
def engine(request):
    if request.param == "parts":
        return InParts()
    return request.getfixturevalue("spark") if request.param == "local[2]" else open_engine(request.param)


@pytest.fixture
def few(engine, request):
    """Whether this engine is slow to start a job, so that a few cases must do where slow tests are left out."""
    return engine.name not in ("duckdb", "ibis") and "not slow" in request.config.getoption("markexpr")
