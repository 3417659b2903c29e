"""Figures 2 to 4 as numbers, and as points of pictures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from counterrank.lab.genspec2021.gates import CONFIDENCES, GATES, SHRUNK
from counterrank.lab.genspec2021.null import line
from counterrank.lab.genspec2021.panel import NO_BOUND, Method, Panel, crossing
from counterrank.lab.result import PaperTable

NAMES = {"logging": "logging", "general": "feature-based", "special": "tabular", "posterior": "shrunk"}
KINDS = {
    "genspec": "GENSPEC", "sea": "SEA", "betting": "betting", "posterior": "betting, shrunk",
    "both": "betting, both", "genspec-both": "GENSPEC, both",
}  # fmt: skip
ONLINE = {"hotfix-10": "Hotfix, top 10", "hotfix": "Hotfix, complete", "pbm-pie": "PBM-PIE"}
REACHED = 0.99
SHOWN = tuple(("genspec", confidence) for confidence in CONFIDENCES)


def said(method: Method) -> str:
    """A method as tables and pictures name it."""
    if isinstance(method, str):
        return NAMES.get(method, ONLINE.get(method, method))
    kind, confidence = method
    return "GENSPEC, no bound" if method == NO_BOUND else f"{KINDS[kind]}, ε = {confidence:g}"


def short(number: float) -> str:
    """A number of clicks.

    >>> short(31622.8), short(1e9), short(float("inf"))
    ('3.2e4', '1e9', 'never')
    """
    if not np.isfinite(number):
        return "never"
    power = int(np.floor(np.log10(number) + 1e-9))
    return f"{number / 10**power:.2g}e{power}"


def tables(panels: Sequence[Panel], null: Panel | None) -> list[PaperTable]:
    out = []
    for panel in panels:
        out += [_levels(panel, "train"), _levels(panel, "test"), _halves(panel)]
        if panel.online:
            out.append(_online(panel))
    return [*out, *([_null(null)] if null is not None else [])]


def _decades(clicks: Sequence[int]) -> list[int]:
    return [i for i, number in enumerate(clicks) if abs(np.log10(number) % 1) < 1e-6]


def _heads(panel: Panel, clicks: Sequence[int], at: list[int]) -> list[str]:
    return [f"{short(clicks[i])} ({clicks[i] / panel.queries:.2g})" for i in at]


def _levels(panel: Panel, part: str) -> PaperTable:
    at = _decades(panel.clicks)
    rows = []
    methods: list[Method] = ["logging", "general", *(["special"] if part == "train" else []), NO_BOUND, *SHOWN]
    for method in methods:
        values = panel.values(part, method)
        mean, sd = values.mean(axis=0), values.std(axis=0, ddof=1)
        rows.append([said(method), *(f"{mean[i]:.4f} ± {sd[i]:.4f}" for i in at)])
    title = f"Figure 2, {panel.title}: {part} NDCG ± sd over {len(panel.runs)} runs, by clicks (per query)"
    return PaperTable(title, ["", *_heads(panel, panel.clicks, at)], rows)


def _halves(panel: Panel) -> PaperTable:
    rows = []
    for confidence in CONFIDENCES:
        found = {kind: panel.half((kind, confidence)) for kind in GATES}
        ever = {kind: panel.half_of_ever((kind, confidence)) for kind in GATES}
        row = [
            f"ε = {confidence:g}",
            *(short(found[kind]) for kind in GATES),
            ratio(found["sea"], found["genspec"], panel),
        ]
        rows.append([*row, *(short(ever[kind]) for kind in GATES)])
    header = ["", *(f"{kind}" for kind in GATES), "sea/genspec", *(f"{kind}, of ever" for kind in GATES)]
    return PaperTable(
        f"Figure 3, {panel.title}: clicks until half of the queries are on their special policy", header, rows
    )


def ratio(late: float, early: float, panel: Panel) -> str:
    if not np.isfinite(early):
        return "–"
    return f"{late / early:.1f}" if np.isfinite(late) else f"> {panel.clicks[-1] / early:.1f}"


def _online(panel: Panel) -> PaperTable:
    at = _decades(panel.online_clicks)
    rows = []
    for name, values in panel.online.items():
        reached = crossing(panel.online_clicks, values.mean(axis=0), REACHED)
        rows.append([said(name), *(f"{values[:, i].mean():.4f}" for i in at), short(reached)])
    upto = [panel.clicks.index(panel.online_clicks[i]) for i in at]
    methods: list[Method] = ["logging", "special", *SHOWN, *(("betting", c) for c in CONFIDENCES)]
    for method in methods:
        mean = panel.values("train", method).mean(axis=0)
        rows.append([said(method), *(f"{mean[i]:.4f}" for i in upto), short(crossing(panel.clicks, mean, REACHED))])
    title = f"Figure 4, {panel.title}: train NDCG by clicks (per query), and clicks until {REACHED}"
    return PaperTable(title, ["", *_heads(panel, panel.online_clicks, at), f"{REACHED} at"], rows)


def _null(panel: Panel) -> PaperTable:
    at = _decades(panel.clicks)
    rows = []
    for gated in panel.runs[0].special:
        share = panel.opened(gated)
        limit = "–" if gated == NO_BOUND else f"{line(gated[1]):.4f}"
        rows.append([said(gated), *(f"{share[i]:.4f}" for i in at), limit])
    title = f"No relevance in clicks ({panel.title}): share of queries let through, by clicks (per query)"
    return PaperTable(title, ["", *_heads(panel, panel.clicks, at), "line"], rows)


def shrunk_table(panel: Panel) -> PaperTable:
    """Who opens when: the plain table, the shrunk one, and both at half the error each."""
    at = _decades(panel.clicks)
    rows = []
    for confidence in CONFIDENCES:
        for kind in ("betting", *SHRUNK):
            method = (kind, confidence)
            least = panel.gap("train", method).mean(axis=0).min()
            share = panel.opened(method)
            rows.append([said(method), *(f"{share[i]:.3f}" for i in at), short(panel.half(method)), f"{least:+.4f}"])
    title = f"Shrunk special policies, {panel.title}: share of queries let through, by clicks (per query)"
    return PaperTable(title, ["", *_heads(panel, panel.clicks, at), "half at", "least mean above logging"], rows)


def records(panel: Panel, part: str, methods: Sequence[Method]) -> list[dict[str, Any]]:
    """Points of a picture: NDCG by clicks, with the standard deviation over runs."""
    out = []
    for method in methods:
        online = isinstance(method, str) and method in panel.online
        clicks = panel.online_clicks if online else panel.clicks
        values = panel.online[str(method)] if online else panel.values(part, method)
        for i, number in enumerate(clicks):
            out.append({
                "panel": f"{panel.title}: {part} NDCG", "method": said(method), "x": number,
                "value": float(values[:, i].mean()), "sd": float(values[:, i].std(ddof=1)),
            })  # fmt: skip
    return out
