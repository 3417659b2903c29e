"""What cief2024 found, and whether it holds on the data at hand."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from counterrank.lab.cief2024.methods import DELTAS
from counterrank.lab.cief2024.panels import Panel, Results
from counterrank.lab.cief2024.sweep import BASELINES, BOUNDED, NAMES, Sweep
from counterrank.lab.result import PaperFinding

SURE = 2.0  # standard errors
MOST = 0.5  # "the majority of δ"


def findings(results: Results) -> list[PaperFinding]:
    """In the order of the figures; panels of one log and truth together, a model each."""
    out = []
    for panels in results.groups(("1", "3", "4", "5", "7", "8", "9")):
        out += [_together(_beats_mle(panel, name) for panel in panels) for name in BOUNDED]
        if panels[0].figure in ("1", "7", "8", "9"):
            out.append(_together(map(_beats_baselines, panels)))
            out.append(_together(map(_prior_helps, panels)))
    out += [_mismatch(panel) for panel in results.of("2.2")]
    out += [_sizes(panel) for panel in results.of("2.1")]
    out += [_grids(panel) for panel in results.of("6")]
    return out


def _together(found: Iterable[tuple[Panel, PaperFinding]]) -> PaperFinding:
    """One finding of several models: "in part" where it holds for some."""
    both = list(found)
    verdicts = {each.holds for _, each in both}
    holds = verdicts.pop() if len(verdicts) == 1 else "in part" if "yes" in verdicts else "undecided"
    first = both[0][1]
    said = "; ".join(f"{panel.model}: {each.holds}, {each.measured}" for panel, each in both)
    paper = "; ".join(f"{panel.model}: {each.paper}" for panel, each in both if each.paper)
    return PaperFinding(first.claim, both[0][0].where, holds, said, paper)


def _beats_mle(panel: Panel, name: str) -> tuple[Panel, PaperFinding]:
    gap, se = panel.sweep.less(name, "mle")
    below, above = gap < -SURE * se, gap > SURE * se
    holds = "yes" if below.mean() > MOST else "no" if above.mean() >= MOST else "undecided"
    at = int(gap.argmin())
    said = (
        f"below at {below.sum()} of {len(gap)} δ, above at {above.sum()}, most at {DELTAS[at]:g}: "
        f"{gap[at]:+.4f} ± {se[at]:.4f} of {panel.sweep.mean('mle')[0]:.4f}"
    )
    return panel, PaperFinding(f"{NAMES[name]} bounds beat MLE for the majority of δ", "", holds, said)


def _beats_baselines(panel: Panel) -> tuple[Panel, PaperFinding]:
    """At δ = 0.5 for the bound, the baselines at their best clip."""
    found = panel.sweep
    there = [name for name in BASELINES if name in found.errors]
    at = int(np.argmin(np.abs(DELTAS - 0.5)))
    verdicts, said = [], []
    for name in there:
        gap, se = _against(found, "bayes", at, name)
        verdicts.append("yes" if gap < -SURE * se else "no" if gap > SURE * se else "undecided")
        said.append(f"{NAMES[name]} {gap:+.4f} ± {se:.4f}")
    holds = "no" if "no" in verdicts else "undecided" if "undecided" in verdicts else "yes"
    paper = "on par with them" if panel.model == "pbm" else "outperforms all"
    claim = "Bayes at δ = 0.5 beats the linear baselines at their best clip"
    return panel, PaperFinding(claim, "", holds, ", ".join(said), paper)


def _against(found: Sweep, name: str, at: int, other: str) -> tuple[float, float]:
    gap, se = found.less(name, other, found.lowest(other))
    return float(gap[at]), float(se[at])


def _prior_helps(panel: Panel) -> tuple[Panel, PaperFinding]:
    gap = panel.sweep.errors["empirical-bayes"] - panel.sweep.errors["bayes"]
    mean, se = gap.mean(axis=1), gap.std(axis=1, ddof=1) / np.sqrt(gap.shape[1])
    below, above = mean < -SURE * se, mean > SURE * se
    holds = "yes" if below.mean() > MOST else "no" if above.mean() >= MOST else "undecided"
    said = f"empirical Bayes lower at {below.sum()} of {len(mean)} δ, higher at {above.sum()}"
    return panel, PaperFinding("a prior from the data is typically better than Beta(1, 1)", "", holds, said)


def _mismatch(panel: Panel) -> PaperFinding:
    found = panel.sweep
    best = found.lowest("bayes")
    pbm_users = panel.model == "pbm"
    rivals = ("ips", "ip-ips")
    gaps = {name: _against(found, "bayes", best, name) for name in rivals}
    sign = 1 if pbm_users else -1
    verdicts = [sign * gap > SURE * se for gap, se in gaps.values()]
    holds = "yes" if all(verdicts) else "no" if not any(verdicts) else "undecided"
    said = "; ".join(f"Bayes less {NAMES[n]} {gap:+.4f} ± {se:.4f}" for n, (gap, se) in gaps.items())
    claim = "IPS beats dcm bounds where users are pbm" if pbm_users else "pbm bounds beat IPS where users are dcm"
    return PaperFinding(claim, panel.title, holds, f"each at its best δ or clip: {said}")


def _sizes(panel: Panel) -> PaperFinding:
    gap = panel.sweep.errors["bayes"] - panel.sweep.errors["mle"]
    mean, se = gap.mean(axis=1), gap.std(axis=1, ddof=1) / np.sqrt(gap.shape[1])
    below = mean < -SURE * se
    at = int(mean.argmin())
    holds = "yes" if below.mean() > MOST and not (mean > SURE * se).any() else "no"
    said = (
        f"below MLE at {below.sum()} of {len(mean)} sizes, above at {(mean > SURE * se).sum()}; "
        f"most at n = {panel.x[at]:,.0f}: {mean[at]:+.4f} ± {se[at]:.4f}"
    )
    return PaperFinding("bounds help at almost any size of the log", panel.title, holds, said, "most at n = 50,000")


def _grids(panel: Panel) -> PaperFinding:
    small, large = panel.sweep.errors["grid of 10"], panel.sweep.errors["grid of 20"]
    one = panel.sweep.errors["grid of 1"]
    same = float(np.abs(small - large).mean())
    gap = (small - one).mean(axis=1)
    better = (gap < 0).mean()
    holds = "yes" if better > MOST and same < 1e-3 else "no"
    said = (
        f"a grid of 10 has a lower error than one of 1, Beta(1, 1), at {int((gap < 0).sum())} of {len(gap)} δ; "
        f"10 and 20 differ by {same:.1g} on average"
    )
    return PaperFinding("larger grids help, up to 10 powers of two", panel.title, holds, said)
