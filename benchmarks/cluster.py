"""Spark on a standalone cluster of one and of two workers: `python -m benchmarks.cluster 1e7`.

Master and workers are processes on this machine's loopback. Each worker, and all that it starts, has one core of this
machine to itself, as if it were a machine with one core: without that, Java and Python of a single worker would share
two cores. Calls after the first count; one worker and two take turns, and the fastest of each are compared.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.make_log import default_folder
from benchmarks.run import ROOT, _python_path, make_log

SETTINGS = {"spark.executor.memory": "1500m"}
CALLS = (
    "import json, sys, time, counterrank as cr\n"
    "took, values = [], {}\n"
    "for _ in range(int(sys.argv[4])):\n"
    "    start = time.perf_counter()\n"
    "    found = cr.evaluate(sys.argv[1], sys.argv[2], engine=sys.argv[3])\n"
    "    took.append(time.perf_counter() - start)\n"
    "    values = {row.estimator: [row.value, row.stderr] for row in found.rows}\n"
    "print(json.dumps([took, values]))\n"
)


def calls(log: str, target: str, engine: str, times: int, environment: dict[str, str]) -> tuple[list[float], dict]:
    """Seconds of each call in one process, and values with their standard errors."""
    words = [sys.executable, "-c", CALLS, log, target, engine, str(times)]
    given = {**environment, "PYTHONPATH": _python_path()}
    done = subprocess.run(words, cwd=ROOT, env=given, check=True, stdout=subprocess.PIPE, text=True, timeout=1500)
    took, values = json.loads(done.stdout.splitlines()[-1])
    return took, values


def on_cluster(log: str, target: str, workers: int, times: int) -> tuple[list[float], dict]:
    """The same with so many workers."""
    sys.path.insert(0, str(Path(ROOT) / "tests" / "engines"))
    from standalone import standalone

    cores = sorted(os.sched_getaffinity(0))
    with (
        tempfile.TemporaryDirectory() as folder,
        standalone(Path(folder) / "cluster", workers, SETTINGS, cores) as cluster,
    ):
        return calls(log, target, cluster.address, times, cluster.environment)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("impressions", type=lambda text: int(float(text)))
    parser.add_argument("--calls", type=int, default=3)
    parser.add_argument("--turns", type=int, default=1)
    parser.add_argument("--dir", type=Path, default=default_folder())
    given = parser.parse_args()
    files = make_log(given.dir, given.impressions, "int", 0)
    _, ours = calls(files.log, files.table, "duckdb", 1, dict(os.environ))
    best = {1: float("inf"), 2: float("inf")}
    for _ in range(given.turns):
        for workers in best:
            took, values = on_cluster(files.log, files.table, workers, given.calls)
            apart = max(abs(a - b) for name in ours for a, b in zip(ours[name], values[name], strict=True))
            told = " ".join(f"{each:.1f}" for each in took)
            print(f"{workers} worker(s): {told} s; values and standard errors within {apart:.1e}", flush=True)
            best[workers] = min(best[workers], *took[1:])
    print(f"one worker by two: {best[1] / best[2]:.2f}")


if __name__ == "__main__":
    main()
