"""Numbers at the edge of floating point: an answer, a bad row with a problem of its own, or one line."""

from __future__ import annotations

import json
import subprocess
import sys
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import counterrank as cr
from counterrank.cli import app
from counterrank.click import harvest_examination
from counterrank.errors import InputError
from counterrank.words import spread_of

ROWS = [
    {"query": "q", "items": ["a", "b"] if i % 2 else ["b", "a"], "clicks": [i % 2, i % 3 // 2], "reward": float(i)}
    for i in range(12)
]


def lines(path: Path, rows: list[dict[str, Any]]) -> str:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


def run(*words: object) -> Any:
    return CliRunner().invoke(app, [str(word) for word in words], env={"COLUMNS": "80"})


@pytest.mark.parametrize("engine", ["duckdb", "ibis"])
def test_a_reward_beyond_reason_is_a_bad_row(engine: str, tmp_path: Path) -> None:
    log = lines(tmp_path / "log.jsonl", [*ROWS, {**ROWS[0], "reward": 1e51}, {**ROWS[0], "reward": -1e308}])
    words = ["evaluate", log, "--target", "logging", "--engine", engine]
    refused = run(*words)
    assert (refused.exit_code, refused.stderr.count("\n")) == (2, 1)
    assert "beyond 1e+50 in size" in refused.stderr
    found = run(*words, "--bad-rows", tmp_path / "bad.jsonl", "--json")
    assert found.exit_code == 0, found.stderr
    values = {row["estimator"]: row["value"] for row in json.loads(found.stdout)["estimates"]}
    assert values["rctr"] == pytest.approx(5.5)
    bad = [json.loads(line) for line in (tmp_path / "bad.jsonl").read_text().splitlines()]
    assert len(bad) == 2


def test_rewards_up_to_the_limit_are_judged() -> None:
    table = {name: [row[name] for row in ROWS] for name in ("query", "items")}
    rewards = [row["reward"] * 9e48 for row in ROWS]
    found = cr.evaluate(table | {"reward": rewards}, {"q": ["a", "b"]})
    assert found.value("list") == pytest.approx(9e48 * 6)  # a before b: the rewards 1, 3, …, 11
    assert all(row.lower is not None and np.isfinite(row.lower) for row in found.rows)


@pytest.mark.parametrize(
    ("option", "word"),
    [
        ("--confidence=0.9999999999999999", "at most 1 - 1e-9"),
        ("--confidence=nan", "between 0 and 1"),
        ("--confidence=1e-320", "at least 1e-50"),
        ("--weights=1e300,1", "1e+50"),
        ("--weights=1,1e-300", "1e-50"),
        ("--examination=2,1", "begins with 2"),
        ("--examination=1e-320,1", "1e-50"),
        ("--clip=1e300", "1e+50"),
        ("--clip=1e-300", "1e-50"),
        ("--reward-range=-1e308,1e308", "1e+50"),
    ],
)
def test_options_beyond_reason(option: str, word: str, tmp_path: Path) -> None:
    log = lines(tmp_path / "log.jsonl", ROWS)
    refused = run("evaluate", log, "--target", "logging", "--metric", "clicks", option)
    assert (refused.exit_code, refused.stderr.count("\n"), refused.stdout) == (2, 1, "")
    assert word in refused.stderr


def test_a_confidence_near_one_is_shown_as_it_is(tmp_path: Path) -> None:
    log = lines(tmp_path / "log.jsonl", ROWS)
    assert "99.9999999% interval" in run("evaluate", log, "--target", "logging", "--confidence", 1 - 1e-9).stdout
    assert "95% interval" in run("evaluate", log, "--target", "logging").stdout


def test_numbers_that_are_next_to_nothing_are_shown_as_0(tmp_path: Path) -> None:
    log = lines(tmp_path / "log.jsonl", [{**row, "reward": 5.283e-308} for row in ROWS])
    shown = run("evaluate", log, "--target", "logging")
    assert shown.exit_code == 0, shown.stderr
    assert "e-30" not in shown.stdout


def test_a_difference_far_within_its_bounds_has_digits() -> None:
    """Where 1.4 and 1.8 are shown, what they differ by is not −0, however wide the bounds are."""
    assert spread_of(-0.4, -61.2, 60.4) == ("−0.40", "−61.20", "60.40")
    assert spread_of(-4e-9, -61.2, 60.4)[0] == "0.00"


def test_one_row_for_very_many_impressions(tmp_path: Path) -> None:
    """What further impressions would bring is drawn, and nobody can draw from so many."""
    rows = [{**row, "impressions": 2**46 if i == 0 else 1} for i, row in enumerate(ROWS)]
    rows += [{"query": "q", "items": ["b", "a"], "clicks": [0, 1], "reward": 0.0, "impressions": 2**43}]
    log = lines(tmp_path / "log.jsonl", rows)
    policy = lines(tmp_path / "policy.jsonl", [{"query": "q", "items": ["a", "b"]}])
    for more in ([], ["--estimator", "ip"], ["--baseline", "uniform"]):
        found = run("compare", log, "--target", policy, "--metric", "clicks", *more)
        assert (found.exit_code, found.stderr) == (0, "")


def test_features_beyond_reason() -> None:
    rows = {"query": ["q", "q"], "item": ["a", "b"], "price": [1.0, 1e308]}
    with pytest.raises(InputError, match=r"row 2.*1e\+50"):
        cr.evaluate({name: [row[name] for row in ROWS] for name in ROWS[0]}, "logging", features=rows)


def test_optimize_does_not_offer_auto_where_there_is_none(tmp_path: Path) -> None:
    refused = run("optimize", lines(tmp_path / "log.jsonl", ROWS), "--by", "lp-ip", "--clip", "auto")
    assert refused.exit_code == 2
    assert "or auto" not in refused.stderr


@pytest.mark.parametrize("option", ["--impressions", "--queries", "--items", "--days", "--k"])
def test_a_world_that_nothing_holds(option: str, tmp_path: Path) -> None:
    refused = run("simulate", "--out", tmp_path / "log.parquet", option, 2**53 + 1)
    assert (refused.exit_code, refused.stderr.count("\n")) == (2, 1)
    assert "give at most" in refused.stderr


def test_harvesting_long_lists_takes_little_memory() -> None:
    rng = np.random.default_rng(0)
    shown = rng.integers(0, 3, (40, 2000))
    shown[:, 0] = 2
    clicked = rng.binomial(shown, 0.3)
    tracemalloc.start()
    found = harvest_examination(shown, clicked)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 100e6
    assert len(found.examination) == 100


PEAK = """
import resource, sys
from counterrank.cli import main
sys.argv[0] = "counterrank"
try:
    main()
finally:
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024, file=sys.stderr)
"""


LONG_LISTS = [
    "check", "clicks", "backtest", "evaluate --target TARGET", "evaluate --target TARGET --logging uniform",
    "evaluate --target TARGET --estimator cdr", "evaluate --target TARGET --features FEATURES",
    "evaluate --target TARGET --examination em", "compare --target TARGET",
    "compare --target TARGET --estimator genspec", "optimize", "optimize --click-model dcm",
    "optimize --click-model pbm", "optimize --by lp-list", "optimize --by lp-ip", "optimize --by lp-pbm",
    "optimize --by lp-item", "optimize --by ips", "optimize --by ip-ips", "optimize --by pi",
    "optimize --by pi-opt --features FEATURES", "learn --out DIR", "learn --features FEATURES --out DIR",
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("queries", [1, 10])
@pytest.mark.parametrize("command", LONG_LISTS)
def test_long_lists_take_less_than_two_gigabytes(command: str, queries: int, tmp_path: Path) -> None:
    """30 rows of 2,000 positions; every query has items of its own."""
    rng = np.random.default_rng(0)
    rows = [
        {"query": f"q{i % queries}", "items": [f"{i % queries}-{j}" for j in rng.permutation(2000)], "day": i // 10,
         "clicks": (rng.random(2000) < 0.3 / (1 + np.arange(2000) / 10)).astype(int).tolist()}
        for i in range(30)
    ]  # fmt: skip
    named = {
        "TARGET": lines(
            tmp_path / "target.jsonl", [{"query": r["query"], "items": r["items"]} for r in rows[:queries]]
        ),
        "FEATURES": lines(
            tmp_path / "features.jsonl",
            [{"query": r["query"], "item": a, "f": float(rng.random())} for r in rows[:queries] for a in r["items"]],
        ),
        "DIR": str(tmp_path / "learnt"),
    }
    name, *more = [str(named.get(word, word)) for word in command.split()]
    log = lines(tmp_path / "log.jsonl", rows)
    ended = subprocess.run(
        [sys.executable, "-c", PEAK, name, str(log), *more, "--json"], capture_output=True, text=True, check=False
    )
    assert ended.returncode in (0, 2), ended.stderr
    assert len(ended.stderr.splitlines()) <= 2, ended.stderr  # one line, if it is refused, and the peak
    assert int(ended.stderr.splitlines()[-1]) < 2000  # megabytes
