"""One factorisation per query, and nothing per impression that costs more than a look."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from threadpoolctl import threadpool_limits

import counterrank as cr

N, QUERIES, ITEMS, PLACES = 1_000_000, 1000, 20, 5


def write_log(path: Path, n: int, queries: int, items: int, places: int) -> np.ndarray[Any, Any]:
    """Uniform rankings of `items` items, cut to `places`, with clicks and a reward."""
    rng = np.random.default_rng(0)
    shown = np.argsort(rng.random((n, items)), axis=1)[:, :places]
    clicks = (rng.random((n, places)) < 0.2).astype(np.int8)
    ends = pa.array(np.arange(0, n * places + 1, places), pa.int32())
    columns = {
        "query": pa.array(rng.integers(0, queries, n)),
        "items": pa.ListArray.from_arrays(ends, pa.array(shown.ravel())),
        "clicks": pa.ListArray.from_arrays(ends, pa.array(clicks.ravel())),
        "reward": pa.array(clicks.sum(axis=1) + rng.normal(size=n)),
    }
    pq.write_table(pa.table(columns), path)
    return shown


def target(queries: int, places: int) -> cr.policy.Table:
    return cr.policy.Table.from_dict({q: list(range(places)) for q in range(queries)})


def fastest(path: Path, cases: list[tuple[str, str]], runs: int = 5) -> list[float]:
    """Seconds of each (estimator, metric), the fastest of some runs; they take turns, and the first compiles."""
    times = np.full((runs, len(cases)), np.inf)
    policy = target(QUERIES, PLACES)
    for run in range(runs):
        for case, (estimator, metric) in enumerate(cases):
            start = perf_counter()
            cr.evaluate(path, policy, estimators=estimator, metric=metric)
            times[run, case] = perf_counter() - start
    return times[1:].min(axis=0).tolist()


@pytest.mark.slow
def test_within_three_times_of_ip_and_fifty_times_a_pseudoinverse_per_impression(tmp_path: Path) -> None:
    shown = write_log(tmp_path / "log.parquet", N, QUERIES, ITEMS, PLACES)
    ip, clicks, reward = fastest(tmp_path / "log.parquet", [("ip", "clicks"), ("pi", "clicks"), ("pi", "reward")])
    size, sample = ITEMS * PLACES, 1000
    marks = np.zeros((sample, ITEMS, PLACES))
    marks[np.arange(sample)[:, None], shown[:sample], np.arange(PLACES)] = 1
    gamma = np.einsum("ni,nj->ij", marks.reshape(-1, size), marks.reshape(-1, size)) / sample
    with threadpool_limits(1, "blas"):  # the fastest for so small a matrix
        start = perf_counter()
        for _ in range(20):
            np.linalg.pinv(gamma, hermitian=True)
        naive = (perf_counter() - start) / 20 * N
    print(
        f"ip {ip:.2f} s, pi {clicks:.2f} s ({clicks / ip:.2f} times), of a reward {reward:.2f} s ({reward / ip:.2f} "
        f"times); a pseudoinverse per impression {naive:.0f} s ({naive / max(clicks, reward):.0f} times)"
    )
    assert clicks < 3 * ip
    assert reward < 3 * ip
    assert naive > 50 * max(clicks, reward)


MEASURE = """
import re, sys
from pathlib import Path
import counterrank as cr
policy = cr.policy.Table.from_dict({q: list(range(10)) for q in range(40)})
row = cr.evaluate(sys.argv[1], policy, estimators=sys.argv[2], metric="clicks").rows[0]
print(row.value, int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1]) // 1024)
"""


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="peak memory is read from /proc")
def test_a_hundred_items_at_ten_positions_in_bounded_memory(tmp_path: Path) -> None:
    """A matrix has 1,000 × 1,000 entries, 8 MB; those of 40 queries would be 320 MB."""
    write_log(tmp_path / "log.parquet", 100_000, 40, 100, 10)
    megabytes = {}
    for name in ("ip", "pi"):
        command = [sys.executable, "-c", MEASURE, str(tmp_path / "log.parquet"), name]
        value, peak = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
        assert 1.5 < float(value) < 2.5  # ten positions, each clicked with chance 0.2
        megabytes[name] = int(peak)
    print(megabytes)
    assert megabytes["pi"] < megabytes["ip"] + 150
