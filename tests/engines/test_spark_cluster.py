"""A real standalone cluster, master and two workers of one core each on loopback: the numbers of the embedded engine,
also where a worker dies in the middle.

Each run is the command in a process of its own, since Spark runs once in a process.
"""

from __future__ import annotations

import importlib.util
import json
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

import pytest
from standalone import LEAN, Cluster, counted, standalone

import worlds

pytestmark = [pytest.mark.spark, pytest.mark.slow]

ROWS, QUERIES, PARTS = 3000, 20, 4
BOUND = 300.0  # seconds that a run may take, on a busy machine
FIELDS = ("value", "stderr", "lower", "upper", "effective_sample_size", "clipped", "unsupported")
# small logs need no code made for each query and no compiler that learns; small files are small partitions
SETTINGS = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.files.openCostInBytes": "1",
    "spark.sql.files.maxPartitionBytes": "20000",
    "spark.driver.extraJavaOptions": LEAN,
    "spark.executor.extraJavaOptions": LEAN,
}


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    if importlib.util.find_spec("pyspark") is None:
        pytest.skip("pyspark is not installed: pip install '.[spark]'")
    from counterrank.engine.spark import JAVA, java_version

    if (java_version() or 0) < JAVA:
        pytest.skip(f"Spark needs Java {JAVA} or later, found {java_version()}")
    with standalone(tmp_path_factory.mktemp("cluster") / "spark", 2, SETTINGS) as running:
        yield running


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The command, but for its engine: a log in four files, and a target."""
    folder = tmp_path_factory.mktemp("log")
    rng = random.Random(5)
    rows = []
    for _ in range(ROWS):
        items = rng.sample(["a", "b", "c", "d", "e"], 3)
        clicks = [int(rng.random() < (0.5 if item == "a" else 0.2)) for item in items]
        rows.append({"query": f"q{rng.randrange(QUERIES)}", "items": items, "clicks": clicks})
    for part in range(PARTS):
        worlds.write_rows(rows[part::PARTS], folder, f"log-{part}", "parquet")
    target = folder / "target.jsonl"
    target.write_text("".join(json.dumps({"query": f"q{q}", "items": ["a", "c", "b"]}) + "\n" for q in range(QUERIES)))
    return ["evaluate", str(folder / "log-*.parquet"), "--target", str(target), "--json"]


def begun(asked: list[str], engine: str, cluster: Cluster) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "counterrank", *asked, "--engine", engine]
    return subprocess.Popen(command, env=cluster.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def finished(process: subprocess.Popen[bytes]) -> dict[Any, float | None]:
    try:
        out, err = process.communicate(timeout=BOUND)
    finally:
        process.kill()
    assert process.returncode == 0, err.decode()[-2000:]
    found = json.loads(out)
    numbers = {(each["estimator"], field): each[field] for each in found["estimates"] for field in FIELDS}
    return numbers | {name: found[name] for name in ("impressions", "queries", "positions", "covered")}


@pytest.fixture(scope="module")
def wanted(asked: list[str], cluster: Cluster) -> dict[Any, float | None]:
    return finished(begun(asked, "duckdb", cluster))


def assert_same(got: dict[Any, float | None], wanted: dict[Any, float | None]) -> None:
    assert sum(value is not None for value in wanted.values()) > len(FIELDS)
    assert {key for key, value in got.items() if value is None} == {k for k, v in wanted.items() if v is None}
    known = {key: value for key, value in wanted.items() if value is not None}
    assert {key: got[key] for key in known} == pytest.approx(known, rel=1e-9, abs=1e-9)


def test_a_spark_cluster_gives_the_numbers_of_the_embedded_engine(
    cluster: Cluster, asked: list[str], wanted: dict[Any, float | None]
) -> None:
    before = cluster.logs()
    assert_same(finished(begun(asked, cluster.address, cluster)), wanted)
    events = cluster.events(before)
    said = counted(events)
    assert said["ExecutorAdded"] == 2
    used = {each["Task Info"]["Executor ID"] for each in events if each["Event"] == "SparkListenerTaskEnd"}
    assert len(used) == 2


def test_a_spark_worker_that_dies_in_a_run_changes_no_number(
    cluster: Cluster, asked: list[str], wanted: dict[Any, float | None]
) -> None:
    before = cluster.logs()
    process = begun(asked, cluster.address, cluster)
    try:
        until = time.monotonic() + BOUND
        while counted(cluster.events(before))["StageCompleted"] < 2:  # rows are kept on both workers by then
            assert process.poll() is None, "the run ended before a worker could be killed"
            assert time.monotonic() < until
            time.sleep(0.05)
        cluster.kill("worker1")
        got = finished(process)
    finally:
        process.kill()
    assert_same(got, wanted)
    said = counted(cluster.events(before))
    assert said["ExecutorRemoved"] >= 1
    assert said["JobEnd"] == said["JobStart"]
