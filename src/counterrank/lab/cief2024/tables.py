"""The panels as tables and as records for pictures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from counterrank.lab.cief2024.auto import auto_table
from counterrank.lab.cief2024.methods import CLIPS, DELTAS
from counterrank.lab.cief2024.panels import FIXED, Panel, Results
from counterrank.lab.cief2024.sweep import BOUNDED, NAMES, Sweep
from counterrank.lab.result import PaperTable

SURE = 2.0  # standard errors


def tables(results: Results) -> list[PaperTable]:
    """Two for every set of panels with the same log and truth: lowest errors, and where bounds beat MLE."""
    out = []
    for panels in results.groups(("1", "2.2", "3", "4", "5", "7", "8", "9")):
        out += [_lowest(panels), _beaten(panels)]
    out += [_by_size(panel) for panel in results.of("2.1")]
    out += [_by_grid(panel) for panel in results.of("6")]
    return [*out, auto_table(results.chosen)]


def _lowest(panels: Sequence[Panel]) -> PaperTable:
    names = [name for name in NAMES if name in panels[0].sweep.errors]
    rows = [[NAMES[name], *(_cell(panel.sweep, name) for panel in panels)] for name in names]
    rows.append(["logged lists", *(f"{panel.sweep.logged:.4f}" for panel in panels)])
    rows.append(["random lists", *(f"{panel.sweep.random:.4f}" for panel in panels)])
    rows.append(["value of the best", *(f"{panel.sweep.best:.4f}" for panel in panels)])
    return PaperTable(f"{panels[0].where}:\nlowest error ± se, at δ or M", ["method", *_heads(panels)], rows)


def _cell(found: Sweep, name: str) -> str:
    at = found.lowest(name)
    text = f"{found.mean(name)[at]:.4f} ± {found.stderr(name)[at]:.4f}"
    if name in BOUNDED:
        return f"{text} at {DELTAS[at]:.2f}"
    if name in ("ips", "ip-ips"):
        return f"{text} at {CLIPS[at]:g}".replace("inf", "∞")
    return text


def _beaten(panels: Sequence[Panel]) -> PaperTable:
    names = [name for name in BOUNDED if name in panels[0].sweep.errors]
    rows = []
    for name in names:
        cells = []
        for panel in panels:
            gap, se = panel.sweep.less(name, "mle")
            cells.append(f"{_ranges(gap < -SURE * se)}; above: {_ranges(gap > SURE * se)}")
        rows.append([NAMES[name], *cells])
    title = f"{panels[0].where}:\nδ at which the error is below MLE's by more than two standard errors"
    return PaperTable(title, ["bound", *_heads(panels)], rows)


def _ranges(holds: Any) -> str:
    """0.05–0.2, 0.9: runs of deltas; none where nothing holds."""
    out, start = [], None
    for i, yes in enumerate([*holds, False]):
        if yes and start is None:
            start = i
        elif not yes and start is not None:
            first, last = f"{DELTAS[start]:g}", f"{DELTAS[i - 1]:.2g}"
            out.append(first if start == i - 1 else f"{first}–{last}")
            start = None
    return ", ".join(out) or "none"


def _heads(panels: Sequence[Panel]) -> list[str]:
    return [p.title.split(": ")[1] if p.figure == "2.2" else p.model for p in panels]


def _by_size(panel: Panel) -> PaperTable:
    names = [name for name in NAMES if name in panel.sweep.errors]
    rows = []
    for i, size in enumerate(panel.x):
        mle = panel.sweep.errors["mle"]
        cells = [f"{mle[i].mean():.4f}"]
        for name in names:
            if name != "mle":
                gap = panel.sweep.errors[name][i] - mle[i]
                cells.append(f"{gap.mean():+.4f} ± {gap.std(ddof=1) / np.sqrt(len(gap)):.4f}")
        rows.append([f"{size:,.0f}", *cells])
    header = ["pages", "MLE", *(f"{NAMES[name]} −MLE" for name in names if name != "mle")]
    return PaperTable(f"figure 2.1, {panel.title}: MLE's error, and bounds less it", header, rows)


def _by_grid(panel: Panel) -> PaperTable:
    at = [0, int(np.argmin(np.abs(DELTAS - FIXED))), 9, 19]
    rows = [
        [name, *(f"{panel.sweep.mean(name)[i]:.4f} ± {panel.sweep.stderr(name)[i]:.4f}" for i in at)]
        for name in panel.sweep.errors
        if name != "mle"
    ]
    return PaperTable(f"figure 6, {panel.title}", ["prior", *(f"δ = {DELTAS[i]:.2g}" for i in at)], rows)


def records(panel: Panel) -> list[dict[str, Any]]:
    """Points of a picture: method, x (delta, size), error and its standard error."""
    out = []
    for name, errors in panel.sweep.errors.items():
        x = panel.x or tuple(DELTAS.tolist())
        mean, se = panel.sweep.mean(name), panel.sweep.stderr(name)
        for i, at in enumerate(x):
            j = min(i, len(errors) - 1)
            point = {"panel": panel.title, "method": NAMES.get(name, name), "x": round(float(at), 6)}
            out.append(point | {"error": float(mean[j]), "stderr": float(se[j])})
    return out


def numbers(panel: Panel) -> dict[str, Any]:
    found = panel.sweep
    return {
        "title": panel.title,
        "log": panel.log,
        "truth": panel.truth,
        "queries": found.queries,
        "best": found.best,
        "logged": found.logged,
        "random": found.random,
        "deltas": list(panel.x) or DELTAS.tolist(),
        "errors": {n: {"mean": found.mean(n).tolist(), "stderr": found.stderr(n).tolist()} for n in found.errors},
    }
