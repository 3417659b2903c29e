"""The coverage lab's numbers as tables and as a heat map."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from counterrank.interval import INTERVALS
from counterrank.lab.coverage.path import Path
from counterrank.lab.coverage.runs import Measured
from counterrank.lab.coverage.verdicts import Verdicts
from counterrank.lab.coverage.worlds import CoverageWorld
from counterrank.lab.result import PaperTable

MARK = " *"  # the estimator's assumption does not hold


def coverage_tables(measured: Sequence[Measured], worlds: Sequence[CoverageWorld]) -> list[PaperTable]:
    """A table per world and logging: coverage of each kind, and its median width beside the normal's."""
    titles = {world.name: world.title for world in worlds}
    out = []
    for (name, logging), rows in groupby(measured, key=lambda m: (m.world, m.logging)):
        body = [
            [
                f"{m.estimator}{'' if m.holds else MARK}", f"{m.impressions:,}", f"{m.effective:,.0f}",
                *(_cell(m, kind) for kind in INTERVALS),
            ]
            for m in sorted(rows, key=lambda m: m.impressions)
        ]  # fmt: skip
        how = "logging policy known" if logging == "known" else "shares from the log"
        title = f"{name}: {titles[name]}; {how}.\nCoverage in % of nominal 95 % intervals (median width ÷ the normal's)"
        out.append(PaperTable(title, ["estimator", "impressions", "eff. size", *INTERVALS], body))
    return out


def _cell(measured: Measured, kind: str) -> str:
    """95.1 (1.63); with the share of logs that have no interval."""
    coverage, width = measured.coverage.get(kind), measured.width.get(kind)
    if coverage is None:
        return "–"
    beside = "" if kind == "normal" or width is None else f" ({width:.3g})"
    missing = measured.missing[kind]
    return f"{100 * coverage:.1f}{beside}" + (f", none {100 * missing:.0f}%" if missing >= 0.005 else "")


def path_table(paths: Sequence[Path]) -> PaperTable:
    rows = [
        [
            f"{p.world}, {p.logging}", p.estimator,
            *(f"{100 * p.throughout[kind]:.1f} ({100 * p.at_end[kind]:.1f})" for kind in p.throughout),
        ]
        for p in paths
    ]  # fmt: skip
    days = paths[0].days if paths else 0
    title = f"Looked at after each of {days} days: the truth was inside on all days, in % of logs (on the last day)"
    return PaperTable(title, ["world", "estimator", *(paths[0].throughout if paths else [])], rows)


def verdict_table(verdicts: Sequence[Verdicts]) -> PaperTable:
    rows = [
        [
            f"{v.world}, {v.logging}", f"{v.impressions:,}", *(f"{100 * share:.0f}" for share in v.shares.values()),
            "–" if v.right is None else f"{100 * v.right:.0f}", v.about, v.why,
        ]
        for v in verdicts
    ]  # fmt: skip
    levels = list(verdicts[0].shares) if verdicts else []
    header = ["world", "n", *levels, "right", "about", "doubt"]
    return PaperTable(
        "What the verdict says, in % of logs; how often the interval is right where it says trust; whom it is about,\n"
        "and the most frequent doubt",
        header,
        rows,
    )


def heat(measured: Sequence[Measured]) -> list[dict[str, object]]:
    """A record per square of the heat map."""
    return [
        {
            "panel": f"{m.world}, {'known' if m.logging == 'known' else 'shares'}",
            "row": f"{m.estimator} · {m.impressions:,}{'' if m.holds else MARK}",
            "interval": kind,
            "coverage": coverage,
        }
        for m in measured
        for kind, coverage in m.coverage.items()
        if coverage is not None
    ]
