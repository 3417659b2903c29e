"""How long a log takes to read, checked row by row, beside DuckDB: `python -m benchmarks.formats 2e5`.

Of each form of the same log, the work alone, once all is imported: ours reads, checks and hashes every id; DuckDB
parses the file into columns of the right types, lists being lists, and hashes every value. Both take turns in processes
of their own, the fastest counts, and `ratio` is ours by DuckDB's.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
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


def ours(path: str) -> float:
    import counterrank as cr

    def read() -> float:
        start = time.perf_counter()
        for _ in cr.read_log(path).rows(["clicks"]):
            pass
        return time.perf_counter() - start

    return min(read(), read())


def duckdbs(name: str, path: str) -> float:
    from benchmarks import sql

    query = f"SELECT bit_xor(hash(query)), bit_xor(hash(items)), bit_xor(hash(clicks)) FROM ({READ[name].format(path)})"
    with sql.connect() as connection:

        def read() -> float:
            start = time.perf_counter()
            connection.execute(query).fetchall()
            return time.perf_counter() - start

        return min(read(), read())


def ratios(folder: Path, size: int, turns: int) -> dict[str, tuple[float, float]]:
    """Seconds of ours and of DuckDB's, by form."""
    found: dict[str, tuple[float, float]] = {}
    for name, path in files(folder, size).items():
        took: dict[str, list[float]] = {"ours": [], "duckdb": []}
        for _ in range(turns):
            for who in took:
                command = [sys.executable, "-m", "benchmarks.formats", "--one", who, name, str(path)]
                took[who].append(json.loads(subprocess.run(command, cwd=ROOT, check=True, capture_output=True).stdout))
        found[name] = min(took["ours"]), min(took["duckdb"])
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
    for name, (mine, theirs) in ratios(given.dir, int(given.impressions), given.turns).items():
        print(f"{name:14} ours {mine:7.2f} s   DuckDB {theirs:7.2f} s   ratio {mine / theirs:5.2f}", flush=True)


if __name__ == "__main__":
    main()
