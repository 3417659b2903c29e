"""One contender in one process: `python -m benchmarks.contenders NAME LOG TARGET`. Prints a line of JSON.

`seconds` is the work alone, without starting Python and importing; the runner measures the whole process.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from typing import Any


def floor(log: str, _: str) -> Callable[[], Any]:
    import pyarrow.parquet as pq

    def work() -> None:
        for _batch in pq.ParquetFile(log).iter_batches(65_536, columns=["query", "items", "clicks"]):
            pass

    return work


def read(log: str, _: str) -> Callable[[], Any]:
    from benchmarks import sql

    return lambda: sql.read(log)


def hand_sql(log: str, target: str) -> Callable[[], Any]:
    from benchmarks import sql

    return lambda: sql.values(log, target)


def ours(log: str, target: str, temperature: float = 0.0, engine: str = "duckdb") -> Callable[[], Any]:
    import pyarrow as pa

    from counterrank import evaluate, read_policy  # which imports what they need

    pa.scalar(True)  # at whose first value Arrow imports Pandas, where that is installed

    def work() -> dict[str, float | None]:
        policy = read_policy(target, temperature=temperature)
        found = json.loads(evaluate(log, policy, engine=engine).to_json())
        fitted = found["examination"]["kind"] != "reciprocal"  # rivals take 1/k, and `pbm` goes by the curve
        return {
            each["estimator"]: each["value"]
            for each in found["estimates"]
            if not (fitted and each["estimator"] == "pbm")
        }

    return work


def ours_plackett_luce(log: str, scores: str) -> Callable[[], Any]:
    return ours(log, scores, temperature=1.0)


def ours_spark(log: str, target: str) -> Callable[[], Any]:
    return ours(log, target, engine="local[2]")


CONTENDERS: dict[str, Callable[[str, str], Callable[[], Any]]] = {
    "floor": floor,
    "read": read,
    "sql": hand_sql,
    "ours-table": ours,
    "ours-pl": ours_plackett_luce,
    "ours-spark": ours_spark,
}


def main() -> None:
    name, log, target = sys.argv[1:]
    work = CONTENDERS[name](log, target)
    start = time.perf_counter()
    values = work()
    print(json.dumps({"seconds": time.perf_counter() - start, "values": values}))


if __name__ == "__main__":
    main()
