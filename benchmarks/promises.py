"""What `benchmarks/README.md` promises, measured: `python -m benchmarks.promises`. Exit code 1 where one is not kept.

Every measurement is a process of its own, those that are compared take turns, and the fastest of the turns counts. The
promises are read from the table in the README, so that nothing is promised that is not measured.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.formats import ratios
from benchmarks.run import ROOT, THREADS, _python_path, _wait, make_log

README = Path(__file__).with_name("README.md")
ROW = re.compile(r"^\| `([\w-]+)` \|.*\| (at most|at least) ([\d.]+) \|", re.M)
GIB = 1 << 30


@dataclass(frozen=True)
class Promise:
    way: str  # at most, or at least
    limit: float

    def kept(self, value: float) -> bool:
        return value <= self.limit if self.way == "at most" else value >= self.limit


@dataclass(frozen=True)
class Took:
    seconds: float
    cpu: float
    peak: int
    said: str


def promises() -> dict[str, Promise]:
    """By name, from the README."""
    return {name: Promise(way, float(limit)) for name, way, limit in ROW.findall(README.read_text(encoding="utf-8"))}


def run(words: Sequence[str], *, cores: int = 2, codes: Sequence[int] = (0,), **environment: str) -> Took:
    """One process, on so many cores, from start to exit."""
    given = {**os.environ, **THREADS, "PYTHONPATH": _python_path(), "PYTHONWARNINGS": "ignore", **environment}
    given.pop("PYTHONDONTWRITEBYTECODE", None)  # as installed: parsed once
    allowed = sorted(os.sched_getaffinity(0))[:cores] if hasattr(os, "sched_getaffinity") else None
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        start = time.perf_counter()
        process = subprocess.Popen(words, stdout=out, stderr=err, cwd=ROOT, env=given)
        if allowed is not None and cores < 2:
            os.sched_setaffinity(process.pid, allowed)
        usage = _wait(process, start + 600)
        seconds = time.perf_counter() - start
        out.seek(0)
        err.seek(0)
        if process.returncode not in codes:
            raise RuntimeError(f"{' '.join(words)}: exit code {process.returncode}: {err.read().strip()[-300:]}")
        return Took(seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024, out.read())


def ours(*words: str) -> list[str]:
    return [sys.executable, "-m", "counterrank", *words]


def inside(name: str, log: str, target: str) -> list[str]:
    return [sys.executable, "-m", "benchmarks.contenders", name, log, target]


def in_turns(commands: dict[str, list[str]], turns: int) -> dict[str, list[Took]]:
    """a, b, c, a, b, c: whatever else the machine does meets all alike."""
    found: dict[str, list[Took]] = {name: [] for name in commands}
    for _ in range(turns):
        for name, words in commands.items():
            found[name].append(run(words))
    return found


def fastest(took: list[Took]) -> float:
    return min(each.seconds for each in took)


def starting(turns: int) -> dict[str, float]:
    """Seconds of what needs no log."""
    cases = {"version": ["--version"], "help": ["--help"], "unknown-option": ["evaluate", "x", "--nosuch"]}
    return {
        name: min(run(ours(*words), codes=(0, 2)).seconds for _ in range(turns + 2)) for name, words in cases.items()
    }


def against_sql(folder: Path, size: str, turns: int) -> dict[str, float]:
    """Whole processes, against hand-written SQL and against decoding."""
    files = make_log(folder, int(float(size)), "int", 0)
    judge = ["evaluate", files.log, "--json", "--target"]
    took = in_turns(
        {
            "floor": inside("floor", files.log, files.table),
            "sql": inside("sql", files.log, files.table),
            "table": ours(*judge, files.table),
            "plackett-luce": ours(*judge, files.scores, "--temperature", "1"),
        },
        turns,
    )
    best = {name: fastest(each) for name, each in took.items()}
    cpu = {name: min(one.cpu for one in each) for name, each in took.items()}
    print(f"  {size}: " + ", ".join(f"{name} {best[name]:.2f} s ({cpu[name]:.2f} CPU)" for name in best), flush=True)
    return {
        f"{size}-sql": best["table"] / best["sql"],
        f"{size}-floor": best["table"] / best["floor"],
        f"{size}-plackett-luce": best["plackett-luce"] / best["table"],
        f"{size}-gib": max(one.peak for one in (*took["table"], *took["plackett-luce"])) / GIB,
    }


WARM = """
import random, sys, time
import pyarrow as pa, pyarrow.parquet as pq
import counterrank as cr
log, table, turns = sys.argv[1], pq.read_table(sys.argv[2]), int(sys.argv[3])

def target(seed):
    rng, pages = random.Random(seed), table.column("items").to_pylist()
    for page in pages:
        at = rng.randrange(len(page) - 1)
        page[at], page[at + 1] = page[at + 1], page[at]
    return pa.table({"query": table.column("query"), "items": pages})

def seconds(log, target):
    start = time.perf_counter()
    cr.evaluate(log, target)
    return time.perf_counter() - start

rows = pq.read_table(log)
seconds(log, target(0))
print(min(seconds(log, target(1 + turn)) for turn in range(turns)))
print(min(seconds(rows, target(1 + turn)) for turn in range(turns)))
"""


def warm_call(folder: Path, turns: int) -> dict[str, float]:
    """Seconds of further calls in one Python process, each with another target: of a log that was asked about before,
    and of one that never was, from an Arrow table."""
    files = make_log(folder, 100_000, "int", 0)
    known, unknown = run([sys.executable, "-c", WARM, files.log, files.table, str(turns + 2)]).said.split()
    return {"1e5-warm-call": float(known), "1e5-warm-call-new-log": float(unknown)}


def first_run(folder: Path, turns: int) -> dict[str, float]:
    """Seconds of a first run: from a wheel that brings its code, and from the source, without and after `warm`."""
    files = make_log(folder, 100_000, "int", 0)
    judge = ours("evaluate", files.log, "--target", files.table, "--json")
    with tempfile.TemporaryDirectory() as cold, tempfile.TemporaryDirectory() as kept:
        from_source = run(judge, NUMBA_CACHE_DIR=cold).seconds
        run(ours("warm", "evaluate"), NUMBA_CACHE_DIR=kept)
        warmed = run(judge, NUMBA_CACHE_DIR=kept).seconds
    with tempfile.TemporaryDirectory() as place, tempfile.TemporaryDirectory() as cold:
        installed = {"PYTHONPATH": _wheel(Path(place)), "NUMBA_CACHE_DIR": cold}
        first = run(judge, **installed).seconds
        if any(Path(cold).rglob("*.compiled")):
            raise RuntimeError("the wheel does not bring all that `evaluate` needs: something was compiled")
    return {"first-run": first, "first-run-source": from_source, "first-run-warm": warmed}


def _wheel(place: Path) -> str:
    """The folder into which what `make wheel` makes is installed."""
    source, target = place / "source", place / "installed"
    shutil.copytree(ROOT, source, ignore=shutil.ignore_patterns(".git", ".venv", "__pycache__", "dist", "tests"))
    ahead = source / "src/counterrank/compiled/kept_ahead"
    shutil.rmtree(ahead, ignore_errors=True)
    run(ours("warm", "evaluate", "--ahead", str(ahead)), PYTHONPATH=str(source / "src"))
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    run([*pip, "wheel", "--no-deps", "--wheel-dir", str(place / "dist"), str(source)])
    run([*pip, "install", "--no-deps", "--target", str(target), *map(str, (place / "dist").glob("*.whl"))])
    return str(target)


def threads(folder: Path, turns: int) -> dict[str, float]:
    """How many times as fast with two cores as with one, the work alone."""
    files = make_log(folder, 10_000_000, "int", 0)
    words = inside("ours-table", files.log, files.table)
    took: dict[int, list[float]] = {1: [], 2: []}
    for _ in range(turns + 2):
        for n, seconds in took.items():
            seconds.append(json.loads(run(words, cores=n).said)["seconds"])
    best = {n: min(seconds) for n, seconds in took.items()}
    print(f"  one core {best[1]:.2f} s, two {best[2]:.2f} s", flush=True)
    return {"1e7-two-cores": best[1] / best[2]}


def memory(folder: Path, turns: int) -> dict[str, float]:
    """Peaks in GiB of logs with very many items, and very many queries."""
    found = {}
    for name, words in (("items", ("2000000", "1000000")), ("queries", ("2000000", "865000"))):
        made = subprocess.run(
            [sys.executable, "-m", "benchmarks.make_wide", name, *words, "--dir", str(folder)],
            cwd=ROOT, check=True, capture_output=True, text=True,
        )  # fmt: skip
        log, table = made.stdout.split()
        for command, more in (("evaluate", ["--target", table]), ("compare", ["--target", table]), ("optimize", [])):
            took = run(ours(command, log, *more, "--json"), codes=(0, 1))
            found[f"wide-{name}-{command}-gib"] = took.peak / GIB
            print(f"  {name}, {command}: {took.seconds:.1f} s, {took.peak / GIB:.2f} GiB", flush=True)
    return found


def every_command(folder: Path, turns: int) -> dict[str, float]:
    """Peaks in GiB at 1e7 rows, and seconds of all click models."""
    files = make_log(folder, 10_000_000, "int", 0)
    found = {}
    with tempfile.TemporaryDirectory() as out:
        cases = {
            "check": [files.log],
            "compare": [files.log, "--target", files.table],
            "optimize": [files.log],
            "clicks": [files.log],
            "learn": [files.log, "--general", files.table, "--out", f"{out}/learnt"],
            "backtest": [with_days(files.log)],
        }
        for command, words in cases.items():
            took = run(ours(command, *words, "--json"), codes=(0, 1))
            found[f"1e7-{command}-gib"] = took.peak / GIB
            found |= {"1e7-clicks": took.seconds} if command == "clicks" else {}
            print(f"  1e7, {command}: {took.seconds:.1f} s, {took.peak / GIB:.2f} GiB", flush=True)
    return found


def with_days(log: str) -> str:
    """The same log with the seven days of a week."""
    import duckdb

    path = Path(log).with_suffix(".days.parquet")
    if not path.exists():
        rows = f"SELECT *, '2024-01-0' || (1 + row_number() OVER () % 7) AS day FROM '{log}'"
        duckdb.sql(f"COPY ({rows}) TO '{path}' (FORMAT parquet, ROW_GROUP_SIZE 131072)")
    return str(path)


def reading(folder: Path, turns: int) -> dict[str, float]:
    """Seconds to read each form of a log, by those of DuckDB."""
    found = ratios(folder, 1_000_000, turns)
    for name, took in found.items():
        print(f"  {name}: {took}", flush=True)
    return {f"read-{name}": took.ratio for name, took in found.items()}


SECTIONS: dict[str, Callable[[Path, int], dict[str, float]]] = {
    "start": lambda folder, turns: starting(turns),
    "1e5": lambda folder, turns: against_sql(folder, "1e5", turns),
    "1e6": lambda folder, turns: against_sql(folder, "1e6", turns),
    "warm": warm_call,
    "first": first_run,
    "1e7": lambda folder, turns: against_sql(folder, "1e7", turns),
    "threads": threads,
    "wide": memory,
    "commands": every_command,
    "formats": reading,
}
SHORT = ("start", "1e5", "1e6", "warm", "first")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sections", default=",".join(SHORT), help=f"comma-separated, or all: {', '.join(SECTIONS)}")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--dir", type=Path, default=Path(tempfile.gettempdir()) / "counterrank-benchmarks")
    parser.add_argument("--json", type=Path, help="also write what was measured to this file")
    given = parser.parse_args(arguments)
    names = list(SECTIONS) if given.sections == "all" else given.sections.split(",")
    if unknown := [name for name in names if name not in SECTIONS]:
        parser.error(f"no section {unknown[0]!r}: choose from {', '.join(SECTIONS)}")
    promised, found, failed = promises(), {}, []
    for name in names:
        print(f"{name} (load {os.getloadavg()[0]:.1f})", flush=True)
        try:
            measured = SECTIONS[name](given.dir, given.turns)
        except RuntimeError as error:
            print(f"  {error}", flush=True)
            failed.append(name)
            continue
        found |= measured
        for key, value in measured.items():
            promise = promised.get(key)
            said = f"{promise.way} {promise.limit:g}: {_kept(promise, value)}" if promise else "nothing promised"
            print(f"  {key:32} {value:8.3f}   {said}", flush=True)
    if given.json:
        given.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    failed += [key for key, value in found.items() if key in promised and not promised[key].kept(value)]
    print(f"not kept: {', '.join(failed)}" if failed else "all that was measured and promised is kept")
    return 1 if failed else 0


def _kept(promise: Promise, value: float) -> str:
    return "kept" if promise.kept(value) else "NOT kept"


if __name__ == "__main__":
    sys.exit(main())
