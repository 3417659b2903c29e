"""What a Spark that we start is told, beside what the machine's own settings say."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("pyspark", reason="pyspark is not installed")

from counterrank.engine import spark


@pytest.mark.parametrize(
    ("given", "left"),
    [
        (None, {"spark.driver.defaultJavaOptions", "spark.executor.defaultJavaOptions"}),
        ("spark.executor.memory 2g\n", {"spark.driver.defaultJavaOptions", "spark.executor.defaultJavaOptions"}),
        ("spark.driver.defaultJavaOptions  -Dmine=1\n", {"spark.executor.defaultJavaOptions"}),
        ("spark.driver.defaultJavaOptions=-Da=1\nspark.executor.defaultJavaOptions=-Db=2\n", set()),
    ],
)
def test_options_of_java_that_the_machine_sets_stay(
    given: str | None, left: set[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    if given is not None:
        (tmp_path / "spark-defaults.conf").write_text(given)
    assert set(spark._compiling()) == left


def test_without_settings_of_the_machine_nothing_is_in_the_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SPARK_CONF_DIR", raising=False)
    monkeypatch.delenv("SPARK_HOME", raising=False)
    assert len(spark._compiling()) == 2
