"""ebrank2023: the toy of figure 2, and the levels that must show on real documents."""

from __future__ import annotations

import os
import time
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from counterrank.lab.ebrank2023.paper import TABLE3
from counterrank.lab.ebrank2023.toy import toy
from counterrank.online import RANKERS
from counterrank.simulate.sessions import Corpus, Simulation, read_corpus, simulate_sessions

DATA = os.environ.get("COUNTERRANK_DATA")
needs_data = pytest.mark.skipif(not DATA, reason="COUNTERRANK_DATA is not set")


def test_the_twin_of_figure_2() -> None:
    found = toy()
    old, new = found["cftopk, concat"]
    assert new > old + 1
    old, new = found["ebrank"]
    assert new <= old + 1


def test_the_papers_rows_are_rankers_here() -> None:
    for row in TABLE3:
        assert row.behaviour in RANKERS[row.ranker].behaviours


@cache
def corpus(name: str) -> Corpus:
    return read_corpus(Path(DATA or "") / name, drop_irrelevant=True)


@cache
def played(name: str) -> Simulation:
    """Ten trials, every ranker tuned on validation queries."""
    rankers = "ebrank,ucbrank,ucbrank-plus-one,thompson,cftopk,bm25,truth,random"
    return simulate_sessions(corpus(name), rankers=rankers, exploration="tune", trials=10)


@cache
def plain(name: str, ranker: str, exploration: float) -> Simulation:
    return simulate_sessions(corpus(name), rankers=ranker, exploration=exploration, trials=10)


def gap(found: Simulation, other: Simulation, name: str, metric: str) -> np.ndarray:
    """EBRank less another, trial by trial."""
    mine, theirs = (getattr(each.row(who), metric).values for each, who in ((found, "ebrank"), (other, name)))
    return np.array(mine, dtype=float) - np.array(theirs, dtype=float)


@needs_data
def test_one_trial_on_mq2008() -> None:
    found = simulate_sessions(
        corpus("mq2008"), rankers="ebrank,ucbrank,truth,random", exploration={"ebrank": 35}, trials=1
    )
    assert gap(found, found, "ucbrank", "warm")[0] > 0.03
    assert gap(found, found, "ucbrank", "mean")[0] > 0.02
    assert found.row("truth").cold.mean == 1.0


@needs_data
@pytest.mark.slow
def test_levels_of_mq2007() -> None:
    found = played("mq2007-partial")
    assert found.row("bm25").cold.mean == pytest.approx(0.48, abs=0.02)
    assert found.row("cftopk").cold.mean == pytest.approx(0.59, abs=0.02)
    assert found.row("truth").cumulative.mean >= 195
    assert found.row("random").cumulative.mean == pytest.approx(88, abs=6)
    assert gap(found, found, "cftopk", "cold").mean() > -0.02


@needs_data
@pytest.mark.slow
def test_ebrank_beats_its_rivals_on_mq2007() -> None:
    found = played("mq2007-partial")
    still = plain("mq2007-partial", "ucbrank", 0.0)
    least = {"warm": 0.05, "cumulative": 8, "mean": 0.025}
    assert all(gap(found, still, "ucbrank", metric).mean() >= value for metric, value in least.items())
    for form in ("ucbrank", "ucbrank-plus-one"):
        assert (gap(found, found, form, "mean") > 0).sum() >= 8
        assert gap(found, found, form, "cumulative").mean() >= -1
    assert gap(found, found, "thompson", "cumulative").mean() > 0
    without = plain("mq2007-partial", "ebrank", 0.0)
    assert gap(found, without, "ebrank", "warm").mean() >= 0.02
    assert gap(found, without, "ebrank", "mean").mean() > 0
    assert gap(found, plain("mq2007-partial", "ebrank", 5000.0), "ebrank", "mean").mean() > 0


@needs_data
@pytest.mark.slow
def test_ebrank_on_mq2008() -> None:
    found, still = played("mq2008"), plain("mq2008", "ucbrank", 0.0)
    least = {"warm": 0.05, "cumulative": 10, "mean": 0.04}
    assert all(gap(found, still, "ucbrank", metric).mean() >= value for metric, value in least.items())


@needs_data
@pytest.mark.slow
def test_speed_on_one_core() -> None:
    """After what is compiled is there: serving alone, and a whole trial with twenty retrainings."""
    asked = {"rankers": "ebrank", "trials": 1, "workers": 1}
    simulate_sessions(corpus("mq2007-partial"), sessions=2000, **asked)
    start = time.perf_counter()
    found = simulate_sessions(corpus("mq2007-partial"), **asked)
    assert time.perf_counter() - start <= 4.0
    assert found.sessions / found.row("ebrank").serve_seconds >= 250_000
    longer = simulate_sessions(corpus("mq2007-partial"), sessions=4 * found.sessions, **asked)
    assert longer.row("ebrank").serve_seconds < 6 * found.row("ebrank").serve_seconds


@needs_data
@pytest.mark.slow
def test_reproduce_quick(tmp_path: Path) -> None:
    from counterrank.lab.ebrank2023 import reproduce

    result = reproduce(Path(DATA or ""), tmp_path, quick=True)
    assert {"figure3-mq2008", "figure4-mq2008", "figure5-mq2008"} <= {Path(path).stem for path in result.pictures}
    assert result.to_json()
