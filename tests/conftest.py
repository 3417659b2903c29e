"""Spark's tests go together on one worker, since Spark is slow to start, and before all others.

They are known by their ids, which have `spark` in them: the process that hands tests out to workers has nothing else.
(xdist's own groups do not hold with pytest 9.2.) The tests of any other file go together too: what takes long to make
for them, or to compile, is made once, and workers seldom wait for each other. Files that take long (LONG) are dealt out
test by test, after all others, so that all workers end at about the same time. What hypothesis draws is drawn the same
way in every run, on any machine, so that what failed once fails again. Workers share the processors, so that none
multiplies matrices with threads of its own.

Ibis is slow to plan: of the cases of one test that go by it, every run takes a third, the slow one (`make test-slow`)
all.
"""

from __future__ import annotations

import gc
import os
import signal
from collections import Counter
from typing import Any

import hypothesis
import pytest

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):  # read when NumPy is imported, which no plugin has done yet
    os.environ.setdefault(_name, "1")
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # the suite starts many processes: each would parse all of the source
if hasattr(signal, "SIGHUP"):  # whoever runs the suite in the background may have it ignored, and children inherit that
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
# files that would keep one worker busy after the others are done
LONG = (
    "tests/cli/test_hostile.py",
    "tests/comparing/test_genspec.py",
    "tests/comparing/test_paired.py",
    "tests/docs/test_docs_run.py",
    "tests/docs/test_doctests.py",
    "tests/estimate/test_difference.py",
    "tests/estimate/test_difference_intervals.py",
    "tests/judging/test_long_lists.py",
    "tests/lab/test_genspec2021.py",
    "tests/lab/test_swaminathan2017.py",
    "tests/laws/test_estimator_laws.py",
    "tests/laws/test_every_row_is_accounted_for.py",
    "tests/laws/test_ranker_laws.py",
    "tests/laws/test_same_rows.py",
    "tests/service/test_processes.py",
)
hypothesis.settings.register_profile("repeatable", derandomize=True, database=None)
hypothesis.settings.load_profile("repeatable")


@pytest.hookimpl(tryfirst=True)  # before slow ones are left out
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    by_ibis: Counter[str] = Counter()
    for item in items:
        test, _, case = item.nodeid.partition("[")
        if "ibis" in case and item.get_closest_marker("slow") is None:
            if (by_ibis[test] + by_ibis[test] // 6) % 3:  # where six kinds of file come in two forms: two kinds of each
                item.add_marker(pytest.mark.slow)
            by_ibis[test] += 1
        if item.get_closest_marker("spark") is not None and not _on_spark(item.nodeid):
            raise pytest.UsageError(f"{item.nodeid} is marked as Spark's: say 'spark' in its name or its id too")
    items.sort(key=lambda item: (not _on_spark(item.nodeid), _file(item.nodeid) in LONG))


def pytest_collection_finish() -> None:
    gc.collect()
    gc.freeze()  # thousands of tests and their modules stay to the end: the collector need not look at them again


def pytest_unconfigure() -> None:
    gc.unfreeze()  # else libraries that count what they made speak of leaks at exit


@pytest.hookimpl(optionalhook=True)  # without xdist nobody asks
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    from xdist.scheduler import LoadScopeScheduling

    class SparkTogether(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return "spark" if _on_spark(nodeid) else nodeid if _file(nodeid) in LONG else _file(nodeid)

    return SparkTogether(config, log)


def _file(nodeid: str) -> str:
    return nodeid.partition("::")[0]


def _on_spark(nodeid: str) -> bool:
    return "spark" in nodeid.partition("::")[2]
