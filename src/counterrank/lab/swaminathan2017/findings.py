"""What the paper says of figures 2 to 6, and whether it holds here."""

from __future__ import annotations

import numpy as np

from counterrank.lab.result import PaperFinding, verdict
from counterrank.lab.swaminathan2017.panel import Panel, crossing, per_root
from counterrank.lab.swaminathan2017.tables import NAMES, short

AT = 100_000  # the size at which estimators are compared
CLOSE = 0.08  # how far RMSE·√n may be from the exact standard deviation
STABLE = 2.0  # a standard deviation that grows by more than this is not "largely unchanged"


def findings(panels: dict[str, Panel]) -> list[PaperFinding]:
    """All that the panels at hand can speak to."""
    out = []
    for key in ("5-0", "10-0"):
        if key in panels:
            out += _uniform(panels[key])
    if {"5-0", "5-10"} <= set(panels):
        out += _other_logging(panels["5-0"], panels["5-10"])
    if "5-10" in panels:
        out.append(_beats_direct(panels["5-10"], "PI eventually beats DM, α = 10", "p ≤ 4.4e-4 from n = 200k"))
    if "5-10-large" in panels:
        out.append(_beats_direct(panels["5-10-large"], "PI beats DM, α = 10, without small queries", ""))
    if {"10-0", "10-1", "10-10"} <= set(panels):
        out.append(_figure4([panels[key] for key in ("10-0", "10-1", "10-10")]))
    if "5-0" in panels:
        panel = panels["5-0"]
        out.append(_better(panel, "wips", "ips", "wIPS has a smaller error than IPS (figure 3)", "at all n"))
        out.append(_better(panel, "wsb", "sb", "wSB has a smaller error than SB (figure 5)", "at all n"))
    for key in ("5-0", "10-0", "5-10"):
        if key in panels:
            out.append(_less_data(panels[key], "wsb", (4, 10), "wSB needs 4 to 10 times less data than PI (figure 6)"))
    return out


def _at(panel: Panel) -> int:
    return max(n for n in panel.sizes["pi"] if n <= AT)


def _yes(true: bool) -> str:
    return "yes" if true else "no"


def _uniform(panel: Panel) -> list[PaperFinding]:
    where, sizes, at = panel.title, panel.sizes["pi"], _at(panel)
    close = {n: per_root(panel, n) for n in sizes}
    runs = len(panel.estimates["pi"])
    noise = 2 / np.sqrt(2 * runs)  # two standard errors of a root mean square
    far = [n for n in sizes if abs(close[n] - 1) > CLOSE]
    worst = max(close.values(), key=lambda x: abs(x - 1))
    said = f"sd {panel.sd:.4f}; RMSE·√n is {close[at]:.3f} of it at {short(at)}, {worst:.3f} where it is farthest "
    said += f"({runs:,} runs: ±{noise:.3f} by chance)"
    held = "yes" if not far else "undecided" if abs(worst - 1) < CLOSE + noise else "no"
    out = [PaperFinding(f"PI's error is its exact sd/√n, within {CLOSE:.0%}", where, held, said)]
    out.append(_tenfold(panel))
    out.append(_beats_direct(panel, "PI eventually beats DM", _paper_crossing(panel)))
    out.append(_far_below(panel))
    out.append(_less_data(panel, "onpolicy", (10, 100), "ONPOLICY needs 10 to 100 times less data than PI"))
    return out


def _tenfold(panel: Panel) -> PaperFinding:
    ratios = {n: panel.ratio("pi", "wips", n) for n in panel.sizes["pi"]}
    at = _at(panel)
    holds = [n for n, (_, _, upper) in ratios.items() if upper <= 0.1]
    said = ", ".join(f"{short(n)}: {value:.3f}" for n, (value, _, _) in ratios.items())
    said = f"RMSE of PI by wIPS: {said}; [{ratios[at][1]:.3f}, {ratios[at][2]:.3f}] at {short(at)}"
    claim = "PI's error is a tenth of wIPS's or less, at all n"
    if len(holds) == len(ratios):
        return PaperFinding(claim, panel.title, "yes", said, "by a factor of 10 or more, p < 1e-8 for all n")
    said += f"; so from n = {short(min(holds))} on" if holds and holds == list(ratios)[-len(holds) :] else ""
    said += "; wIPS is 0, and cannot err by more than the value, where no logged slate is the target's"
    return PaperFinding(claim, panel.title, "no", said, "by a factor of 10 or more, p < 1e-8 for all n")


def _far_below(panel: Panel) -> PaperFinding:
    at, most = _at(panel), {"wips": 0.1, "ridge": 0.35}
    found = {name: panel.ratio("pi", name, at) for name in most if panel.has(name, at)}
    verdicts = [verdict(low - most[name], high - most[name]) for name, (_, low, high) in found.items()]
    holds = "no" if "no" in verdicts else "undecided" if "undecided" in verdicts else "yes"
    said = "; ".join(f"{NAMES[name]}: {v:.3f} [{low:.3f}, {high:.3f}]" for name, (v, low, high) in found.items())
    claim = f"PI's error at n = {short(at)} is at most 0.1 of wIPS's and 0.35 of DM-ridge's"
    return PaperFinding(claim, panel.title, holds, said)


def _paper_crossing(panel: Panel) -> str:
    return "from n ≈ 10k, p ≤ 7.3e-4 at 600k" if panel.world.slots == 5 else "from n ≈ 100k, p ≤ 7.3e-4 at 600k"


def _beats_direct(panel: Panel, claim: str, paper: str) -> PaperFinding:
    best = panel.best_direct()
    if best is None:
        return PaperFinding(claim, panel.title, "undecided", "DM was not run", paper)
    model = best
    sizes = [n for n in panel.sizes[model] if panel.has("pi", n)]
    ratios = {n: panel.ratio("pi", model, n) for n in sizes}
    last = sizes[-1]
    said = ", ".join(f"{short(n)}: {value:.2f}" for n, (value, _, _) in ratios.items())
    at = crossing(panel, "pi", model)
    said = f"RMSE of PI by {NAMES[model]}'s ({len(panel.estimates[model])} runs): {said}; "
    said += f"[{ratios[last][1]:.2f}, {ratios[last][2]:.2f}] at {short(last)}"
    said += f"; PI is ahead from n ≈ {at:,.0f}" if at is not None else "; PI is not ahead at any n"
    said += (
        f"; PI's exact error is {panel.sd / np.sqrt(last):.3g} at {short(last)}, simulated {panel.rmse('pi', last):.3g}"
    )
    return PaperFinding(claim, panel.title, verdict(ratios[last][1] - 1, ratios[last][2] - 1), said, paper)


def _less_data(panel: Panel, other: str, between: tuple[int, int], claim: str) -> PaperFinding:
    """With errors that fall as 1/√n, n₁/n₂ = (RMSE₁/RMSE₂)²."""
    last = panel.sizes["pi"][-1]
    value, low, high = (x**2 for x in panel.ratio("pi", other, last))
    holds = "yes" if between[0] <= low and high <= between[1] else (
        "no" if high < between[0] or low > between[1] else "undecided"
    )  # fmt: skip
    exact = ""
    if other == "onpolicy":
        factor = panel.sd**2 / float(panel.world.values.var())
        exact, holds = f"; exactly {factor:.0f} times", _yes(between[0] <= factor <= between[1])
    said = f"{value:.1f} times [{low:.1f}, {high:.1f}] at {short(last)}{exact}"
    return PaperFinding(claim, panel.title, holds, said, f"{between[0]}x to {between[1]}x")


def _other_logging(uniform: Panel, other: Panel) -> list[PaperFinding]:
    worst = other.worst()[0]
    small = int((other.world.pairs.sizes < 20).sum())
    said = (
        f"exact sd per impression {uniform.sd:.2f} → {other.sd:.2f}, RMSE·√n in the runs "
        f"{per_root(uniform, _at(uniform)) * uniform.sd:.2f} → {per_root(other, _at(other)) * other.sd:.2f} at "
        f"{short(_at(other))}; σ² {other.weights.sigma2.mean():.3g}, ρ {other.weights.rho.max():.3g}; "
        f"{worst['share_of_variance']:.0%} of the variance comes from query {worst['query']}, with "
        f"{worst['candidates']} candidates and a condition number of {worst['condition']:.1g}; {small} of "
        f"{other.world.queries} queries have fewer than 20 documents"
    )
    grew = other.sd / uniform.sd
    out = [
        PaperFinding(
            "PI's error is largely unchanged with α = 10",
            other.title,
            _yes(1 / STABLE < grew < STABLE),
            said,
            "figure 2",
        )
    ]
    for name in ("wips", "ridge"):
        if name not in uniform.estimates or name not in other.estimates:
            continue
        n = min(max(uniform.sizes[name]), max(other.sizes[name]))
        before, after = uniform.errors(name, n) ** 2, other.errors(name, n) ** 2
        gap = after.mean() - before.mean()
        error = np.sqrt(after.var() / len(after) + before.var() / len(before))
        said = f"RMSE {uniform.rmse(name, n):.3g} → {other.rmse(name, n):.3g} at {short(n)}"
        out.append(PaperFinding(f"{NAMES[name]} improves with α = 10", other.title,
                           verdict(gap - 1.96 * error, gap + 1.96 * error), said, "figure 2"))  # fmt: skip
    return out


def _figure4(panels: list[Panel]) -> PaperFinding:
    n = panels[0].sizes["pi"][-1]
    sds = " / ".join(f"{panel.sd:.3g}" for panel in panels)
    pi, wips = (" / ".join(f"{panel.rmse(name, n):.3g}" for panel in panels) for name in ("pi", "wips"))
    stable = max(panel.sd for panel in panels) < STABLE * panels[0].sd
    improves = panels[-1].rmse("wips", n) < panels[0].rmse("wips", n)
    claim = "PI remains stable while wIPS improves, as α goes 0 / 1 / 10 (figure 4)"
    said = f"RMSE at {short(n)}: PI {pi}, wIPS {wips}; PI's exact sd {sds}"
    return PaperFinding(claim, "ℓ=10", _yes(stable and improves), said, "figure 4")


def _better(panel: Panel, one: str, other: str, claim: str, paper: str) -> PaperFinding:
    ratios = {n: panel.ratio(one, other, n) for n in panel.sizes[one]}
    verdicts = [verdict(low - 1, high - 1) for _, low, high in ratios.values()]
    holds = "no" if "no" in verdicts else "undecided" if "undecided" in verdicts else "yes"
    said = "RMSE by RMSE: " + ", ".join(f"{short(n)}: {value:.2f}" for n, (value, _, _) in ratios.items())
    return PaperFinding(claim, panel.title, holds, said, paper)
