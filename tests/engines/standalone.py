"""A standalone Spark cluster on this machine's loopback: a master and workers of one core, each a process of its own.

Started from the jars of the pyspark package. Whatever happens, no process outlives the `with`.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HOST = "127.0.0.1"
STARTS = 90.0  # seconds at most, on a busy machine
LEAN = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
OPENED = ("java.lang", "java.lang.invoke", "java.net", "java.nio", "java.util", "java.util.concurrent", "sun.nio.ch")


@dataclass
class Cluster:
    """A master and its workers, and where those who use it write what happened."""

    folder: Path
    port: int
    processes: dict[str, subprocess.Popen[bytes]]
    environment: dict[str, str]

    @property
    def address(self) -> str:
        return f"spark://{HOST}:{self.port}"

    def kill(self, name: str) -> None:
        """End a process and all that it started, at once, as a machine that loses its power would."""
        process = self.processes[name]
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait(timeout=30)

    def events(self, before: frozenset[Path] = frozenset()) -> list[dict[str, Any]]:
        """What the last application told so far."""
        logs = sorted(set(self.logs()) - before, key=lambda path: path.stat().st_mtime)
        if not logs:
            return []
        found = []
        for line in logs[-1].read_text(encoding="utf-8", errors="replace").splitlines():
            with suppress(ValueError):  # a line that is being written
                found.append(json.loads(line))
        return found

    def logs(self) -> frozenset[Path]:
        return frozenset(path for path in (self.folder / "events").iterdir() if path.is_file())


def counted(events: list[dict[str, Any]]) -> Counter[str]:
    """How many events of each kind: `JobStart`, `StageCompleted`, `TaskEnd`, `ExecutorRemoved`, …"""
    return Counter(str(each.get("Event")).removeprefix("SparkListener") for each in events)


@contextmanager
def standalone(
    folder: Path, workers: int = 2, settings: Mapping[str, str] | None = None, cores: Sequence[int] = ()
) -> Iterator[Cluster]:
    """A cluster that waits for applications; `settings` are those of every application; `cores`: the core of this
    machine that each worker, and all that it starts, has to itself, as if it were a machine with one core."""
    import pyspark

    home = Path(pyspark.__file__).parent
    for name in ("events", "conf", "temporary"):
        (folder / name).mkdir(parents=True)
    told = {
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": (folder / "events").as_uri(),
        "spark.eventLog.compress": "false",
        "spark.eventLog.rolling.enabled": "false",
        "spark.executor.memory": "512m",
        **(settings or {}),
    }
    (folder / "conf" / "spark-defaults.conf").write_text("".join(f"{key} {value}\n" for key, value in told.items()))
    environment = {key: value for key, value in os.environ.items() if not key.startswith("SPARK_")} | {
        "SPARK_HOME": str(home),
        "SPARK_SCALA_VERSION": _scala(home),  # workers ask for it, as Spark's own scripts set it
        "SPARK_LOCAL_IP": HOST,
        "SPARK_LOCAL_DIRS": str(folder / "temporary"),
        "SPARK_CONF_DIR": str(folder / "conf"),
    }
    cluster = Cluster(folder, _free_port(), {}, environment)
    until = time.monotonic() + STARTS
    try:
        _begin(cluster, "master", "master.Master", "--port", str(cluster.port))
        while not _listens(cluster.port):
            _wait(cluster, "master", until)
        for number in range(workers):
            name = f"worker{number}"
            given = ["--cores", "1", "--memory", "2g", "-d", str(folder / name), cluster.address]
            _begin(cluster, name, "worker.Worker", "--port", "0", *given, core=cores[number] if cores else None)
            while "Successfully registered with master" not in (folder / f"{name}.log").read_text(errors="replace"):
                _wait(cluster, name, until)
        yield cluster
    finally:
        for name in reversed(cluster.processes):
            cluster.kill(name)


def _scala(home: Path) -> str:
    [library] = (home / "jars").glob("scala-library-*.jar")
    return ".".join(library.name.removeprefix("scala-library-").split(".")[:2])


def _begin(cluster: Cluster, name: str, kind: str, *given: str, core: int | None = None) -> None:
    jars = Path(cluster.environment["SPARK_HOME"]) / "jars" / "*"
    java_home = os.environ.get("JAVA_HOME")
    java = str(Path(java_home) / "bin" / "java") if java_home else shutil.which("java") or "java"
    opened = [f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in OPENED]
    command = [java, *LEAN.split(), "-Xmx256m", *opened, "-cp", str(jars), f"org.apache.spark.deploy.{kind}"]
    with (cluster.folder / f"{name}.log").open("wb") as log:
        cluster.processes[name] = subprocess.Popen(
            [*command, "--host", HOST, "--webui-port", "0", *given],
            env=cluster.environment,
            cwd=cluster.folder,
            stdout=log,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            start_new_session=True,  # a group of its own, in which the executors of a worker are too
            preexec_fn=None if core is None else lambda: os.sched_setaffinity(0, {core}),
        )


def _wait(cluster: Cluster, name: str, until: float) -> None:
    said = (cluster.folder / f"{name}.log").read_text(errors="replace")
    if cluster.processes[name].poll() is not None:
        raise RuntimeError(f"Spark's {name} ended: {said[-2000:]}")
    if time.monotonic() > until:
        raise TimeoutError(f"Spark's {name} did not start in {STARTS:.0f} s: {said[-2000:]}")
    time.sleep(0.1)


def _listens(port: int) -> bool:
    with suppress(OSError), socket.create_connection((HOST, port), timeout=1):
        return True
    return False


def _free_port() -> int:
    with socket.socket() as found:
        found.bind((HOST, 0))
        return int(found.getsockname()[1])
