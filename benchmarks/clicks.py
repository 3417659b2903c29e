"""How long click models take, as multiples of the counts of `ip` in the same run: `python -m benchmarks.clicks 1e6`."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import counterrank as cr
from benchmarks.make_log import default_folder
from benchmarks.run import make_log
from counterrank.click import CLOSED, FITS, Options
from counterrank.engine import Embedded, Plan
from counterrank.setting.click_counts import count_clicks


def least(work: Callable[[], Any], runs: int) -> tuple[float, Any]:
    """Seconds of the fastest run, and what it gave."""
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        result = work()
        times.append(time.perf_counter() - start)
    return min(times), result


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("impressions", type=float)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--steps", type=int, default=50, help="iterations of models with no closed form; 0: leave out")
    parser.add_argument("--dir", type=Path, default=default_folder())
    given = parser.parse_args()
    given.dir.mkdir(parents=True, exist_ok=True)
    log = cr.read_log(make_log(given.dir, int(given.impressions), "int", 0).log)
    base, _ = least(lambda: Embedded().count(log, Plan(metric="clicks", weights=np.ones)), given.runs)

    def told(what: str, seconds: float) -> None:
        print(f"{what:<48}{seconds:8.2f} s{seconds / base:8.2f} ×", flush=True)

    def closed() -> None:
        counts = count_clicks(log)
        for name in CLOSED:
            FITS[name](counts)

    told("counts of ip", base)
    told("counts of all closed forms", least(lambda: count_clicks(log), given.runs)[0])
    told("the same, and all fitted", least(closed, given.runs)[0])
    if not given.steps:
        return
    seconds, counts = least(lambda: count_clicks(log, patterns=True), 1)
    told(f"with {len(counts.patterns):,} patterns", seconds)
    for name in FITS:
        if name not in CLOSED:
            FITS[name](counts, Options(iterations=1))  # compile
            options = Options(iterations=given.steps, tolerance=-1.0)
            told(f"{given.steps} iterations of {name}", least(lambda: FITS[name](counts, options), 1)[0])  # noqa: B023


if __name__ == "__main__":
    main()
