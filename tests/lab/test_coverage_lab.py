"""The coverage lab: its counted logs are what an engine counts, its worlds are what they say, intervals cover."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

import counterrank as cr
from counterrank.cli import function
from counterrank.estimate import ESTIMATORS
from counterrank.interval import INTERVALS
from counterrank.judging.evaluate import row_of
from counterrank.lab import coverage, figures
from counterrank.lab.coverage.cells import WorldCells
from counterrank.lab.coverage.findings import LEAST, MOST
from counterrank.lab.coverage.path import follow
from counterrank.lab.coverage.runs import LOGGINGS, WorldSetting, measure
from counterrank.lab.coverage.tables import heat
from counterrank.lab.coverage.worlds import worlds
from seeds import in_turn

app = typer.Typer()
app.command()(function("reproduce"))
WORLDS = {world.name: world for world in worlds()}


def slack(logs: int) -> float:
    return 3 * math.sqrt(0.95 * 0.05 / logs)


@pytest.mark.parametrize(("name", "logging"), in_turn(list(WORLDS), LOGGINGS))
def test_cells_are_counted_as_rows_would_be(name: str, logging: str) -> None:
    """Also of a log so short that some queries of `many` have no impression."""
    world = WORLDS[name]
    cells = WorldCells.drawn(world, 150, np.random.default_rng(0))
    setting = WorldSetting(world, logging, ESTIMATORS)
    evidence, found = setting.estimates(cells)
    given = world.policy(world.logging) if logging == "known" else "log"
    every = np.zeros(world.chances.shape, dtype=np.int64)
    every[[int(text[1:]) for text in cells.counts.pairs.query_ids.texts.to_pylist()]] = cells.numbers
    log, target = world.log(every), world.policy(world.target)
    for kind in ("normal", "bootstrap"):
        rows = cr.evaluate(
            log, target, logging=given, features=world.feature_table(), interval=kind, estimators=list(found)
        ).rows
        for row in rows:
            mine = row_of(row.estimator, found[row.estimator], evidence.counts, kind, 0.95, None, said=[])
            for field in ("value", "stderr", "effective_sample_size", "unsupported"):
                assert getattr(mine, field) == pytest.approx(getattr(row, field), rel=1e-9, abs=1e-11), row
            if row.lower is not None:  # rankings are grouped otherwise, which moves the bootstrap by a little
                near = (0.1 if kind == "bootstrap" else 1e-9) * (row.upper - row.lower) + 1e-11
                assert (mine.lower, mine.upper) == pytest.approx((row.lower, row.upper), abs=near)


def test_worlds_are_what_they_say() -> None:
    for world in worlds():
        assert world.chances.sum() == pytest.approx(1)
        assert world.outcome.sum(axis=2) == pytest.approx(np.ones(world.logging.shape))
    holds = {
        name: {
            e for e in ESTIMATORS if e in (s := WorldSetting(world, "known", ESTIMATORS)).names and s.aims_at_truth(e)
        }
        for name, world in WORLDS.items()
    }
    every = {name for name, estimator in ESTIMATORS.items() if not estimator.asked_for}
    assert holds["near"] == holds["far"] == holds["many"] == every - {"item", "rctr"}
    assert {"item", "ip", "list"} <= holds["item"]
    assert "pbm" not in holds["item"]
    assert "rctr" in holds["position"]
    assert holds["cascade"] & {"list", "wlist", "dr-list", "pbm", "ip", "rctr"} == {"list", "wlist", "dr-list"}
    assert holds["page"] == {"list", "wlist", "pi", "wpi", "dm", "dr", "dr-list"}


def test_the_command_needs_no_data(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COUNTERRANK_DATA", raising=False)
    monkeypatch.setattr(coverage, "QUICK", coverage.Size(3, (300,), 3, 2, 2))
    monkeypatch.setattr(coverage, "worlds", lambda: [WORLDS["near"], WORLDS["far"]])
    found = CliRunner().invoke(app, ["coverage", "--quick", "--json"])
    assert found.exit_code == 0, found.output
    result = json.loads(found.output)
    assert {cell["estimator"] for cell in result["numbers"]["cells"]} == {
        name for name, each in ESTIMATORS.items() if not each.asked_for
    }
    assert all(set(cell["coverage"]) == set(INTERVALS) for cell in result["numbers"]["cells"])
    assert len(result["findings"]) == 12
    assert [sum(v["shares"].values()) for v in result["numbers"]["verdicts"]] == pytest.approx([1.0] * 4)
    words = CliRunner().invoke(app, ["coverage", "--quick"])
    assert "What should hold, and whether it does" in words.output


@pytest.mark.skipif(not figures.drawable(), reason="pictures need the lab extra")
def test_the_heat_map_is_drawn(tmp_path: Path) -> None:
    cells = measure(WorldSetting(WORLDS["page"], "known", ("list", "pi")), 100, 2, ("normal", "hoeffding"))
    paths = figures.heat_map(heat(cells), "coverage", tmp_path, "coverage")
    assert [Path(path).stat().st_size > 1000 for path in paths] == [True, True]
    assert "hoeffding" in Path(paths[1]).read_text(encoding="utf-8")


def test_the_others_still_ask_for_data(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COUNTERRANK_DATA", raising=False)
    found = CliRunner().invoke(app, ["li2018"])
    assert "add --data DIR" in str(found.exception)


@pytest.mark.slow
@pytest.mark.parametrize("logging", LOGGINGS)
@pytest.mark.parametrize("name", ["near", "item", "position", "cascade", "page"])
def test_normal_t_and_bootstrap_cover_94_to_97_percent(name: str, logging: str) -> None:
    logs, setting = 700, WorldSetting(WORLDS[name], logging, ESTIMATORS)
    for cell in measure(setting, 3000, logs, ("normal", "t", "bootstrap")):
        if cell.holds:
            for kind, share in cell.coverage.items():
                assert share is None or LEAST - slack(logs) <= share <= MOST + slack(logs), (
                    cell.estimator,
                    kind,
                    share,
                )


@pytest.mark.slow
def test_bounds_hold_with_heavy_tails_where_normal_fails() -> None:
    logs, setting = 700, WorldSetting(WORLDS["far"], "known", ("list", "ip", "pbm", "pi"))
    cells = {
        m.estimator: m for m in measure(setting, 300, logs, ("normal", "empirical-bernstein", "hoeffding", "theorem3"))
    }
    for cell in cells.values():
        bounds = {kind: share for kind, share in cell.coverage.items() if kind != "normal" and share is not None}
        assert bounds
        assert min(bounds.values()) >= LEAST - slack(logs), (cell.estimator, bounds)
    assert cells["list"].coverage["normal"] < 0.75
    assert cells["list"].effective < 30


@pytest.mark.slow
@pytest.mark.parametrize("logging", LOGGINGS)
def test_the_sequence_holds_on_all_days_at_once(logging: str) -> None:
    for path in follow(WorldSetting(WORLDS["near"], logging, ("list", "ip", "pbm", "pi")), days=30, logs=300):
        assert path.throughout["sequence"] >= LEAST - slack(300), path
        assert path.throughout["normal"] < 0.9
