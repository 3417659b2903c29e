"""How long a log takes to read, checked row by row, beside DuckDB: `python -m benchmarks.formats 2e5`.

Of each form of the same log, the work alone, once all is imported, from the file to what can be counted. Ours finds out
the columns and their types, reads every column of the log, checks every row and gives every id a key. DuckDB finds out
the same, parses the file into columns of the right types, lists being lists, and hashes every value, so that none is
left unread; it checks nothing. Both have two threads, and read what the system holds in memory. They take turns in
processes of their own, twice in each, and the fastest counts. `ratio` is ours by DuckDB's in seconds on the wall, which
needs a machine that does nothing else; processor seconds of all threads stand beside it.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from benchmarks.make_log import default_folder
from benchmarks.run import ROOT, make_log

_LISTS = "query, items::BIGINT[] AS items, clicks::TINYINT[] AS clicks"
_GATHERED = (
    "SELECT any_value(query) AS query, list(item ORDER BY position) AS items, list(click ORDER BY position) AS clicks "
    "FROM {} GROUP BY impression"
)
READ = {  # how DuckDB reads each form; {} is the file
    "parquet": "SELECT query, items, clicks FROM read_parquet('{}')",
    "parquet-text": "SELECT query, items, clicks FROM read_parquet('{}')",
    "csv": f"SELECT {_LISTS} FROM read_csv('{{}}')",
    "jsonl": "SELECT query, items, clicks FROM read_json('{}', format='newline_delimited')",
    "long": _GATHERED.format("read_parquet('{}')"),
    "long-csv": _GATHERED.format("read_csv('{}')"),
}


def files(folder: Path, size: int) -> dict[str, Path]:
    """The same log in every form, made once."""
    import duckdb

    log, text = (make_log(folder, size, ids, 0).log for ids in ("int", "str"))
    out = {"parquet": Path(log), "parquet-text": Path(text)}
    rows = f"SELECT query, items, clicks FROM read_parquet('{log}')"
    numbered = f"SELECT row_number() OVER () AS impression, * FROM ({rows})"
    long = (
        "SELECT impression, query, unnest(range(1, len(items) + 1)) AS position, unnest(items) AS item, "
        f"unnest(clicks) AS click FROM ({numbered})"
    )
    spelled = f"SELECT query, items::VARCHAR AS items, clicks::VARCHAR AS clicks FROM ({rows})"
    made = {"csv": (spelled, "csv"), "jsonl": (rows, "json"), "long": (long, "parquet"), "long-csv": (long, "csv")}
    for name, (query, kind) in made.items():
        suffix = {"csv": "csv", "json": "jsonl", "parquet": "parquet"}[kind]
        path = out[name] = folder / f"{name}-{size}.{suffix}"
        if not path.exists():
            partial = path.with_suffix(".partial")
            with duckdb.connect() as connection:
                connection.execute(f"COPY ({query}) TO '{partial}' (FORMAT {kind})")
            partial.replace(path)
    return out


def timed(read: Callable[[], object]) -> tuple[float, float]:
    """Seconds on the wall and of the processor, of the faster of two."""
    wall, cpu = [], []
    for _ in range(2):
        start, used = time.perf_counter(), time.process_time()
        read()
        wall.append(time.perf_counter() - start)
        cpu.append(time.process_time() - used)
    return min(wall), min(cpu)


def ours(path: str) -> tuple[float, float]:
    import counterrank as cr

    def read() -> None:
        for _ in cr.read_log(path).rows(["clicks"]):
            pass

    return timed(read)


def duckdbs(name: str, path: str) -> tuple[float, float]:
    from benchmarks import sql

    query = f"SELECT bit_xor(hash(query)), bit_xor(hash(items)), bit_xor(hash(clicks)) FROM ({READ[name].format(path)})"
    with sql.connect() as connection:
        return timed(lambda: connection.execute(query).fetchall())


@dataclass(frozen=True)
class Took:
    """Seconds of both, on the wall and of the processor."""

    ours: float
    duckdb: float
    ours_cpu: float
    duckdb_cpu: float

    @property
    def ratio(self) -> float:
        return self.ours / self.duckdb

    def __str__(self) -> str:
        by_cpu = self.ours_cpu / self.duckdb_cpu
        return (
            f"{self.ours:.2f} s, DuckDB {self.duckdb:.2f} s: {self.ratio:.2f}; "
            f"CPU {self.ours_cpu:.2f} and {self.duckdb_cpu:.2f} s: {by_cpu:.2f}"
        )


def ratios(folder: Path, size: int, turns: int) -> dict[str, Took]:
    """What reading took, by form."""
    found: dict[str, Took] = {}
    for name, path in files(folder, size).items():
        took: dict[str, list[tuple[float, float]]] = {"ours": [], "duckdb": []}
        for _ in range(turns):
            for who in took:
                command = [sys.executable, "-m", "benchmarks.formats", "--one", who, name, str(path)]
                took[who].append(json.loads(subprocess.run(command, cwd=ROOT, check=True, capture_output=True).stdout))
        wall, cpu = ([min(each[i] for each in took[who]) for who in ("ours", "duckdb")] for i in (0, 1))
        found[name] = Took(*wall, *cpu)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("impressions", type=float, nargs="?", default=1e6)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--dir", type=Path, default=default_folder())
    parser.add_argument(
        "--one", nargs=3, metavar=("WHO", "FORM", "FILE"), help="one of the two on one file, in seconds"
    )
    given = parser.parse_args()
    if given.one is not None:
        who, name, path = given.one
        print(json.dumps(ours(path) if who == "ours" else duckdbs(name, path)))
        return
    for name, took in ratios(given.dir, int(given.impressions), given.turns).items():
        print(f"{name:14} {took}", flush=True)


if __name__ == "__main__":
    main()
