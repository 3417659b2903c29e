"""Do intervals hold the truth as often as they say? Simulated worlds × estimators × intervals × log sizes.

The worlds are so small that a log is a draw of counts: an estimate takes as long for a million impressions as for ten.
Whether an estimator's assumption holds in a world is found by giving it a log without end.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

from counterrank.estimate import ESTIMATORS
from counterrank.lab import figures
from counterrank.lab.coverage.findings import findings, warned
from counterrank.lab.coverage.path import Path as GrowingLog
from counterrank.lab.coverage.path import follow
from counterrank.lab.coverage.runs import CONFIDENCE, LOGGINGS, Measured, WorldSetting, measure
from counterrank.lab.coverage.tables import coverage_tables, heat, path_table, verdict_table
from counterrank.lab.coverage.verdicts import Verdicts, judge
from counterrank.lab.coverage.worlds import worlds
from counterrank.lab.progress import tell
from counterrank.lab.result import Reproduction
from counterrank.records import dataclass
from counterrank.setting.need import Need

PATH_WORLD = "near"


@dataclass(frozen=True)
class Size:
    """How much is simulated."""

    logs: int
    impressions: tuple[int, ...]
    days: int
    growing: int  # logs that grow day by day
    judged: int  # logs whose verdict is asked for


FULL = Size(2000, (300, 3_000, 30_000), 50, 2000, 200)
QUICK = Size(60, (1_000,), 20, 60, 10)


def reproduce(data: Path | None = None, out: Path | None = None, quick: bool = False) -> Reproduction:
    """Coverage and width of every interval as tables, and as a heat map where `out` is given. Needs no data."""
    size = QUICK if quick else FULL
    measured, paths, verdicts = list(_measured(size)), _paths(size), list(_verdicts(size))
    error = 100 * (CONFIDENCE * (1 - CONFIDENCE) / size.logs) ** 0.5
    notes = [
        f"{size.logs:,} logs a cell: the standard error of a coverage of 95 % is {error:.1f} points",
        "* the estimator's assumption does not hold in this world, or the logs lack more than 1 % of what the target "
        "shows: it aims at something else than the truth",
        "– no interval of this kind for this estimator; none x%: no interval in that share of logs",
    ]
    pictures: list[str] = []
    if out is not None and not figures.drawable():
        notes.append(figures.WITHOUT)
    elif out is not None:
        pictures = figures.heat_map(heat(measured), "Coverage of nominal 95 % intervals", out, "coverage")
    return Reproduction(
        paper="coverage",
        tables=[*coverage_tables(measured, worlds()), path_table(paths), verdict_table(verdicts)],
        findings=[*findings(measured, paths, min(size.logs, size.growing)), warned(verdicts)],
        numbers={
            "logs": size.logs,
            "cells": [asdict(m) for m in measured],
            "paths": [asdict(p) for p in paths],
            "verdicts": [asdict(v) for v in verdicts],
        },
        pictures=pictures,
        notes=notes,
        claims="What should hold, and whether it does",
    )


def _measured(size: Size) -> Iterator[Measured]:
    for world in worlds():
        for logging in LOGGINGS:
            tell(f"{world.name}, {logging}")
            setting = WorldSetting(world, logging, ESTIMATORS)
            for impressions in size.impressions:
                yield from measure(setting, impressions, size.logs)


def _verdicts(size: Size) -> Iterator[Verdicts]:
    for world in worlds():
        tell(f"{world.name}, verdicts")
        for logging in LOGGINGS:
            yield from (judge(world, logging, impressions, size.judged) for impressions in size.impressions)


def _paths(size: Size) -> list[GrowingLog]:
    world = next(world for world in worlds() if world.name == PATH_WORLD)
    tell("growing logs")
    names = [name for name, estimator in ESTIMATORS.items() if Need.FEATURES not in estimator.needs]
    return [p for logging in LOGGINGS for p in follow(WorldSetting(world, logging, names), size.days, size.growing)]
