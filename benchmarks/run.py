"""Times counterrank beside its rivals: `python -m benchmarks.run --sizes 1e5,1e6 --ids int,str`.

Every measurement is a process of its own, contenders take turns, and ratios come from one and the same run. Nothing
heavy is imported here: a child's peak memory counts from what its parent held.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import SimpleNamespace

from benchmarks import obp, report

ROOT = Path(__file__).parents[1]
CORES = 2
THREADS = {name: str(CORES) for name in ("OMP_NUM_THREADS", "NUMBA_NUM_THREADS")}
PACKAGES = ("counterrank", "duckdb", "pyarrow", "numpy", "numba", "pyspark")


@dataclass(frozen=True)
class Contender:
    name: str
    label: str
    command: list[str]
    once: bool = False  # slow, or about a first run: not repeated
    fresh_cache: bool = False


@dataclass
class Result:
    """What the runs of one contender on one log took."""

    name: str
    label: str
    seconds: list[float] = field(default_factory=list)  # of the whole process
    work: list[float] = field(default_factory=list)  # without starting and importing, where the contender tells
    cpu: list[float] = field(default_factory=list)
    peak_bytes: list[int] = field(default_factory=list)
    values: dict[str, float | None] = field(default_factory=dict)
    failed: str | None = None


def measure(contender: Contender, result: Result, timeout: float) -> None:
    """Run it once and add what it took."""
    with (
        tempfile.TemporaryDirectory() as cache,
        tempfile.TemporaryFile("w+") as out,
        tempfile.TemporaryFile("w+") as err,
    ):
        environment = {**os.environ, **THREADS, "PYTHONPATH": _python_path(), "PYTHONWARNINGS": "ignore"}
        if contender.fresh_cache:
            environment["NUMBA_CACHE_DIR"] = cache
        start = time.perf_counter()
        process = subprocess.Popen(contender.command, stdout=out, stderr=err, cwd=ROOT, env=environment)
        usage = _wait(process, start + timeout)
        seconds = time.perf_counter() - start
        out.seek(0)
        err.seek(0)
        if process.returncode != 0:
            lines = err.read().strip().splitlines() or out.read().strip().splitlines()
            result.failed = f"exit code {process.returncode}: {lines[-1] if lines else 'said nothing'}"
            return
        said = json.loads(out.read().strip().splitlines()[-1])
    result.seconds.append(seconds)
    result.cpu.append(usage.ru_utime + usage.ru_stime)
    result.peak_bytes.append(usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024))
    if "seconds" in said:
        result.work.append(said["seconds"])
    given = {each["estimator"]: each["value"] for each in said["estimates"]} if "estimates" in said else said["values"]
    result.values = given or {}


def _wait(process: subprocess.Popen, deadline: float):
    """The child's own resource use; it is stopped at the deadline."""
    while True:
        pid, status, usage = os.wait4(process.pid, os.WNOHANG)
        if pid:
            process.returncode = os.waitstatus_to_exitcode(status)
            return usage
        if time.perf_counter() > deadline:
            process.kill()
            deadline = math.inf
        time.sleep(0.002)


def _python_path() -> str:
    return os.pathsep.join(filter(None, [str(ROOT / "src"), os.environ.get("PYTHONPATH", "")]))


def make_log(folder: Path, size: int, ids: str, seed: int) -> SimpleNamespace:
    """In a process of its own, too: making a log takes memory."""
    command = [sys.executable, "-m", "benchmarks.make_log", str(size), "--ids", ids, "--seed", str(seed)]
    made = subprocess.run([*command, "--dir", str(folder)], cwd=ROOT, check=True, capture_output=True, text=True)
    log, table, scores = made.stdout.split("\n")[:3]
    return SimpleNamespace(log=log, table=table, scores=scores)


def has_command() -> bool:
    """Whether `python -m counterrank evaluate` is there; else its Python function stands in."""
    probe = [sys.executable, "-m", "counterrank", "evaluate", "--help"]
    environment = {**os.environ, "PYTHONPATH": _python_path()}
    return subprocess.run(probe, cwd=ROOT, env=environment, capture_output=True).returncode == 0


def contenders(files: SimpleNamespace, command: bool, first: bool, spark: bool) -> list[Contender]:
    def inside(name: str, label: str, target: str, **more) -> Contender:
        return Contender(name, label, [sys.executable, "-m", "benchmarks.contenders", name, files.log, target], **more)

    def ours(name: str, label: str, target: str, *options: str, **more) -> Contender:
        evaluate = [sys.executable, "-m", "counterrank", "evaluate", files.log, "--target", target, "--json", *options]
        return Contender(name, label, evaluate, **more)

    chosen = [
        inside("floor", "decode the columns, pyarrow batches", files.table),
        inside("read", "read the columns, DuckDB", files.table),
        inside("sql", "hand-written SQL: ip, pbm, no intervals", files.table),
        inside("ours-table", "counterrank in process: all, table", files.table),
        inside("ours-pl", "counterrank in process: all, Plackett–Luce", files.scores),
    ]
    if command:
        chosen += [
            ours("cli-table", "counterrank evaluate: all, table", files.table),
            ours("cli-pl", "counterrank evaluate: all, Plackett–Luce", files.scores, "--temperature", "1"),
        ]
    if first:
        label = "the same, compiling first (no cache)"
        cold = ours if command else inside
        once = cold("ours-table", label, files.table, once=True, fresh_cache=True)
        chosen.append(replace(once, name="cold"))
    if spark and command:
        engine = ("--engine", f"local[{CORES}]")
        chosen.append(ours("spark", "counterrank evaluate: all, table, Spark", files.table, *engine))
    elif spark:
        chosen.append(inside("ours-spark", "counterrank in process: all, table, Spark", files.table))
    return chosen


def peers(python: Path, files: SimpleNamespace, size: int, interval: bool) -> list[Contender]:
    labels = {
        "iips": "OBP independent IPS, point",
        "rips": "OBP reward-interaction IPS, point",
        "sips": "OBP standard IPS, point",
        "iips-interval": "OBP independent IPS, interval",
    }
    return [
        Contender(name, label, [str(python), "-m", "benchmarks.obp", name, files.log, files.table], once=True)
        for name, label in labels.items()
        if size <= obp.LIMITS[name] and (interval or not name.endswith("interval"))
    ]


def race(chosen: Sequence[Contender], repeat: int, timeout: float) -> list[Result]:
    """a, b, c, a, b, c: whatever else the machine does meets all of them alike."""
    results = [Result(each.name, each.label) for each in chosen]
    for turn in range(repeat):
        for each, result in zip(chosen, results, strict=True):
            if result.failed is None and (turn == 0 or not each.once):
                measure(each, result, timeout)
    return results


def disagreements(results: Sequence[Result]) -> list[str]:
    """Rivals that computed another number than ours: then the race means nothing."""
    ours = next((r.values for r in results if r.name == "ours-table" and r.values), {})
    of_table = [r for r in results if r.name not in ("ours-pl", "cli-pl")]
    return [
        f"{r.label}: {name} is {value}, ours is {ours[name]}"
        for r in of_table
        for name, value in r.values.items()
        if ours.get(name) is not None and (value is None or not math.isclose(value, ours[name], rel_tol=1e-9))
    ]


def machine() -> dict[str, object]:
    model = platform.processor() or platform.machine()
    if Path("/proc/cpuinfo").exists():
        lines = [line for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name")]
        model = lines[0].partition(": ")[2] if lines else model
    found = {}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return {"processor": model, "cores": CORES, "python": platform.python_version(), "packages": found}


def main(arguments: Sequence[str] | None = None) -> int:
    given = _parse(arguments)
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:CORES])
    sizes = sorted({int(float(size)) for size in given.sizes.split(",")} | ({10**8} if given.huge else set()))
    command = has_command()
    peer = obp.prepare(given.dir) if given.obp else "left out (--no-obp)"
    runs = []
    for size in sizes:
        for ids in given.ids.split(","):
            files = make_log(given.dir, size, ids, given.seed)
            first = (size, ids) == (sizes[0], given.ids.split(",")[0])
            chosen = contenders(files, command, first, given.spark)
            if isinstance(peer, Path) and ids == "int":
                chosen += peers(peer, files, size, given.obp_interval)
            if first:  # compile, and let the system cache what is imported
                race([each for each in chosen if not each.once and each.name != "spark"], 1, given.timeout)
            results = race(chosen, given.repeat, given.timeout)
            runs.append({"impressions": size, "ids": ids, "results": [asdict(result) for result in results]})
            runs[-1]["disagreements"] = disagreements(results)
            print(report.as_text(runs[-1]), flush=True)
    if not isinstance(peer, Path):
        print(f"Open Bandit Pipeline: {peer}")
    measured = {"machine": machine(), "repeat": given.repeat, "runs": runs}
    if given.json:
        given.json.write_text(json.dumps(measured, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    if given.write:
        report.write(measured, ROOT / "benchmarks" / "README.md")
    return 1 if any(run["disagreements"] for run in runs) else 0


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.run", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--sizes", default="1e5,1e6", help="impressions (default %(default)s)")
    parser.add_argument("--huge", action="store_true", help="add 1e8: about 3 GB of disk and several minutes")
    parser.add_argument("--ids", default="int,str", help="kinds of ids: int, str or both (default %(default)s)")
    parser.add_argument("--repeat", type=int, default=3, help="runs of each contender (default %(default)s)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--spark", action="store_true", help="add the Spark engine in local mode")
    parser.add_argument("--no-obp", dest="obp", action="store_false", help="leave Open Bandit Pipeline out")
    parser.add_argument("--obp-interval", action="store_true", help="add its bootstrap interval: about a minute at 1e5")
    parser.add_argument("--timeout", type=float, default=3600, help="seconds one run may take (default %(default)s)")
    parser.add_argument("--json", type=Path, help="write all measurements there")
    parser.add_argument("--write", action="store_true", help="put the results into benchmarks/README.md")
    default = Path(tempfile.gettempdir()) / "counterrank-benchmarks"
    parser.add_argument("--dir", type=Path, default=default, help="where logs are kept (default %(default)s)")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
