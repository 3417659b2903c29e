"""Tables of figures 2 to 6 and of table 2."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from counterrank.lab.result import PaperTable
from counterrank.lab.swaminathan2017 import paper
from counterrank.lab.swaminathan2017.panel import Panel

NAMES = {
    "pi": "PI", "ips": "IPS", "wips": "wIPS", "sb": "SB", "wsb": "wSB", "onpolicy": "ONPOLICY", "ridge": "DM-ridge",
    "lasso": "DM-lasso", "tree": "DM-tree",
}  # fmt: skip


def figures_of(panels: dict[str, Panel]) -> list[tuple[str, str, list[tuple[Panel, Sequence[str]]]]]:
    """The figures with the panels at hand: name, title, and each panel's estimators."""

    def some(keys: Sequence[str], *estimators: str) -> list[tuple[Panel, Sequence[str]]]:
        return [(panels[key], _with_direct(panels[key], estimators)) for key in keys if key in panels]

    return [
        ("figure2", "Figure 2. RMSE under uniform and non-uniform logging",
         some([*paper.FIGURE2, "5-10-large"], "pi", "wips", "direct", "onpolicy")),
        ("figure3-dm", "Figure 3, left. Models of the direct method", some(["5-0"], "ridge", "lasso", "tree")),
        ("figure3-ips", "Figure 3, right. IPS with and without weighting", some(["5-0"], "ips", "wips")),
        ("figure4", "Figure 4. PI and wIPS, the more logging is like the target",
         some(["10-0", "10-1", "10-10"], "pi", "wips")),
        ("figure5", "Figure 5. Semi-bandit feedback with and without weighting", some(["5-0"], "sb", "wsb")),
        ("figure6", "Figure 6. With semi-bandit feedback",
         some(paper.FIGURE2, "pi", "wips", "direct", "wsb", "onpolicy")),
    ]  # fmt: skip


def _with_direct(panel: Panel, estimators: Sequence[str]) -> list[str]:
    best = panel.best_direct()
    chosen = [] if best is None else [best]
    out: list[str] = []
    for name in estimators:
        out += chosen if name == "direct" else [name] if name in panel.estimates else []
    return out


def error_tables(panels: dict[str, Panel]) -> list[PaperTable]:
    """RMSE of every estimator by size, a table per panel; PI's exact error below it."""
    out = []
    for panel in panels.values():
        sizes = panel.sizes["pi"]
        rows = []
        for name, found in panel.estimates.items():
            cells = [_thousandths(panel.rmse(name, n)) if panel.has(name, n) else "" for n in sizes]
            rows.append([NAMES[name], f"{len(found):,}", *cells])
        rows.insert(1, ["PI, exact", "", *(_thousandths(panel.sd / np.sqrt(n)) for n in sizes)])
        title = f"1000·RMSE by n: {panel.title}; {panel.world.queries} queries, true value {panel.world.value:.4f}"
        out.append(PaperTable(title, ["estimator", "runs", *map(short, sizes)], rows))
    return out


def _thousandths(error: float) -> str:
    return f"{1000 * error:.3g}" if error < 0.9995 else f"{1000 * error:.0f}"


def hardness_table(panels: dict[str, Panel]) -> PaperTable:
    """How far target and logging policy are apart."""
    rows = []
    for panel in panels.values():
        worst = panel.worst()[0]
        rows.append([
            panel.title, f"{panel.sd:.4g}", f"{panel.weights.sigma2.mean():.4g}", f"{panel.weights.rho.max():.4g}",
            f"{panel.weights.condition.max():.2g}" if panel.weights.condition.max() else "harmless",
            f"{worst['query']}: {worst['share_of_variance']:.1%}",
        ])  # fmt: skip
    header = ["world", "sd", "σ²", "ρ", "Γ's condition", "worst query: of the variance"]
    return PaperTable("How hard the question is, exactly; sd is PI's per impression", header, rows)


def p_tables(panels: dict[str, Panel]) -> list[PaperTable]:
    """Table 2: p-values, ours and the paper's; a dash where the other estimator has the smaller error."""
    out = []
    for key in paper.FIGURE2:
        if key not in panels:
            continue
        panel, model = panels[key], panels[key].best_direct() or "ridge"
        rows = [
            [short(n), _p(panel, "wips", n), _p_text(paper.P_WIPS[key][i]), _p(panel, model, n),
             _p_text(paper.P_DM[key][i])]
            for i, n in enumerate(paper.SIZES)
        ]  # fmt: skip
        header = ["n", "PI vs wIPS", "paper", f"PI vs {NAMES[model]}", "paper: vs DM"]
        out.append(
            PaperTable(f"Table 2, {panel.title}: p-values of a t-test over runs on squared errors", header, rows)
        )
    return out


def _p(panel: Panel, other: str, size: int) -> str:
    if not (panel.has("pi", size) and panel.has(other, size)):
        return ""
    value = panel.p_value("pi", other, size)
    return "" if value is None else _p_text(value if panel.rmse("pi", size) < panel.rmse(other, size) else None)


def _p_text(value: float | None) -> str:
    return "—" if value is None else "< 1e-8" if value <= paper.TINY else f"{value:.1e}"


def short(size: int) -> str:
    """A number of impressions, short.

    >>> short(600), short(20_000), short(1_000_000)
    ('600', '20k', '1M')
    """
    return f"{size // 1_000_000}M" if size >= 1_000_000 else f"{size // 1000}k" if size >= 1000 else str(size)
