"""What genspec2021 says in section 6, and whether it holds here."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from counterrank.lab.genspec2021.gates import CONFIDENCES, NONE, SHRUNK, Gated
from counterrank.lab.genspec2021.null import line
from counterrank.lab.genspec2021.panel import NO_BOUND, Method, Panel, crossing
from counterrank.lab.genspec2021.tables import KINDS, REACHED, ratio, said, short
from counterrank.lab.result import PaperFinding
from counterrank.simulate.labelled import Vector

CLOSE = 0.001  # NDCG: less is no decrease
PERFECT = 0.9999
NEAR_SPECIAL = 0.005  # of the special policy, at the end
WORSE = 0.03  # how far below logging the tabular and online methods begin
SEA_LATER = 3.0
PARTS = ("train", "test")


def findings(panels: Sequence[Panel], null: Panel | None) -> list[PaperFinding]:
    """In the order of the figures, for each data set and noise."""
    out: list[PaperFinding] = []
    for panel in panels:
        out += [_special(panel), _general(panel)]
        out += [_safe(panel, ("genspec", confidence)) for confidence in CONFIDENCES]
        out += [_no_bound(panel), _never_hurts(panel), _perfect(panel), _sea_is_later(panel), _betting(panel)]
        out += [_safe(panel, ("betting", confidence)) for confidence in CONFIDENCES]
        if panel.online:
            out += [_starts_worse(panel), _who_is_first(panel)]
    return [*out, *(_null(null, kind) for kind in ("genspec", "betting", *SHRUNK) if null is not None)]


def _yes(true: bool) -> str:
    return "yes" if true else "no"


def _special(panel: Panel) -> PaperFinding:
    begins, ends = panel.gap("train", "special")[:, 0].mean(), panel.values("train", "special")[:, -1].mean()
    said_so = f"{begins:+.4f} of logging at {short(panel.clicks[0])} clicks, {ends:.5f} at {short(panel.clicks[-1])}"
    holds = begins <= -WORSE and ends >= PERFECT
    return PaperFinding(
        "the tabular model begins far below logging and ends perfect", panel.title, _yes(holds), said_so
    )


def _general(panel: Panel) -> PaperFinding:
    gaps = {part: panel.gap(part, "general").mean(axis=0) for part in PARTS}
    ends = {part: panel.values(part, "general")[:, -1].mean() for part in PARTS}
    after = crossing(panel.clicks, gaps["train"], 0.0)
    holds = min(gap[-1] for gap in gaps.values()) > 0 and ends["train"] < PERFECT
    said_so = (
        f"above logging for good from {short(after)} clicks; ends at train {ends['train']:.4f}, test {ends['test']:.4f}"
    )
    claim = "the feature-based model needs few clicks to beat logging, and never gets to the optimum"
    return PaperFinding(claim, panel.title, _yes(holds), said_so)


def worst(panel: Panel, method: Method) -> tuple[float, float, str]:
    """The largest drop below logging in any run, on average over runs, and where: over all clicks and both parts."""
    gaps = {part: panel.gap(part, method) for part in PARTS}
    part = min(PARTS, key=lambda each: gaps[each].min())
    run, at = np.unravel_index(gaps[part].argmin(), gaps[part].shape)
    where = f"{part}, run {int(run) + 1}, {short(panel.clicks[int(at)])} clicks"
    return float(gaps[part].min()), float(min(gap.mean(axis=0).min() for gap in gaps.values())), where


def _safe(panel: Panel, method: Gated) -> PaperFinding:
    run, mean, where = worst(panel, method)
    said_so = f"worst run {run:+.4f} ({where}), worst mean over runs {mean:+.4f}"
    whose = "ours: " if method[0] == "betting" else ""
    claim = f"{whose}{said(method)}: never below logging (by more than {CLOSE}, in any run)"
    paper = "ε = 0.01 was enough to prevent any decrease" if method == ("genspec", 0.01) else ""
    holds = "yes" if run >= -CLOSE else "in part" if mean >= -CLOSE else "no"
    return PaperFinding(claim, panel.title, holds, said_so, paper)


def _no_bound(panel: Panel) -> PaperFinding:
    run, mean, where = worst(panel, NO_BOUND)
    said_so = f"worst run {run:+.4f} ({where}), worst mean over runs {mean:+.4f}"
    below = run < -CLOSE
    less = mean >= panel.gap("train", "special").mean(axis=0).min()
    claim = "without a bound it falls below logging, if less than the tabular model"
    return PaperFinding(claim, panel.title, _yes(below and less), said_so, "in some cases")


def _drop(values: Vector) -> tuple[float, int]:
    """The largest fall of a mean from one number of clicks to the next, and where."""
    steps = np.diff(values.mean(axis=0))
    return float(steps.min()), int(steps.argmin())


def _never_hurts(panel: Panel) -> PaperFinding:
    found = {
        (confidence, part): _drop(panel.values(part, ("genspec", confidence)))
        for confidence in CONFIDENCES
        for part in PARTS
    }
    (confidence, part), (drop, at) = min(found.items(), key=lambda each: each[1][0])
    where = f"ε = {confidence:g}, {part}, after {short(panel.clicks[at])} clicks"
    said_so = f"largest fall of a mean {min(drop, 0.0):+.4f} ({where})"
    claim = f"more clicks never hurt: no mean falls by more than {CLOSE}"
    return PaperFinding(claim, panel.title, _yes(drop >= -CLOSE), said_so, "never observed")


def _perfect(panel: Panel) -> PaperFinding:
    behind = {
        confidence: float(
            panel.values("train", "special")[:, -1].mean()
            - panel.values("train", ("genspec", confidence))[:, -1].mean()
        )
        for confidence in CONFIDENCES
    }
    said_so = "below the tabular model at the end: " + ", ".join(f"ε = {c:g}: {gap:.4f}" for c, gap in behind.items())
    claim = f"GENSPEC ends perfect: within {NEAR_SPECIAL} of the tabular model"
    close = [gap <= NEAR_SPECIAL for gap in behind.values()]
    holds = "yes" if all(close) else "in part" if any(close) else "no"
    return PaperFinding(claim, panel.title, holds, said_so, "with ε ≤ 0.75, low noise")


def _sea_is_later(panel: Panel) -> PaperFinding:
    told, enough = [], []
    for confidence in CONFIDENCES:
        ours, sea = (panel.half((kind, confidence)) for kind in ("genspec", "sea"))
        told.append(f"ε = {confidence:g}: {ratio(sea, ours, panel)} ({short(ours)} and {short(sea)})")
        enough.append(np.isfinite(ours) and min(sea, panel.clicks[-1]) / ours >= SEA_LATER)
    claim = f"SEA needs {SEA_LATER:g} times the clicks, or more, to have half of the queries on their special policy"
    holds = "yes" if all(enough) else "in part" if any(enough) else "no"
    return PaperFinding(claim, panel.title, holds, "; ".join(told), "10 times on Istella, α = 0.025")


def _betting(panel: Panel) -> PaperFinding:
    """Ours, not the paper's."""
    told = []
    for confidence in CONFIDENCES:
        ours, theirs = (panel.half_of_ever((kind, confidence)) for kind in ("betting", "genspec"))
        told.append(f"ε = {confidence:g}: {short(ours)} against {short(theirs)}")
    ours, theirs = (panel.half_of_ever((kind, 0.95)) for kind in ("betting", "genspec"))
    run, mean, where = worst(panel, ("betting", 0.95))
    told.append(f"at 0.95 its worst run is {run:+.4f} of logging ({where}), its worst mean {mean:+.4f}")
    claim = "ours: at ε = 0.95 betting opens half of what it ever opens with half of the clicks of the paper's bound"
    return PaperFinding(claim, panel.title, _yes(2 * ours <= theirs and mean >= -CLOSE), "; ".join(told))


def _starts_worse(panel: Panel) -> PaperFinding:
    logging = panel.values("train", "logging")[:, 0]
    gaps = {name: float((found[:, 0] - logging).mean()) for name, found in panel.online.items()}
    said_so = f"at {short(panel.online_clicks[0])} clicks: " + ", ".join(
        f"{said(n)} {gap:+.4f}" for n, gap in gaps.items()
    )
    below = [gap <= -WORSE for gap in gaps.values()]
    holds = "yes" if all(below) else "in part" if any(below) else "no"
    return PaperFinding(f"online bandits begin {WORSE} or more below logging", panel.title, holds, said_so)


def _who_is_first(panel: Panel) -> PaperFinding:
    when = {said(n): crossing(panel.online_clicks, found.mean(axis=0), REACHED) for n, found in panel.online.items()}
    methods: list[Method] = ["special", *((kind, c) for kind in ("genspec", "betting") for c in CONFIDENCES)]
    when |= {said(m): crossing(panel.clicks, panel.values("train", m).mean(axis=0), REACHED) for m in methods}
    ours = min(when[said(("genspec", confidence))] for confidence in CONFIDENCES)
    bandits = [when[said(name)] for name in ("hotfix", "pbm-pie")]
    said_so = ", ".join(f"{name} {short(number)}" for name, number in sorted(when.items(), key=lambda each: each[1]))
    claim = f"complete Hotfix and PBM-PIE get to {REACHED} with fewer clicks than GENSPEC"
    holds = "yes" if max(bandits) < ours else "in part" if min(bandits) < ours else "no"
    return PaperFinding(claim, panel.title, holds, said_so, "PBM is first")


def opens_earlier(panel: Panel) -> PaperFinding:
    """Ours: whether tables that are shrunk to the model of features are let through with fewer clicks."""
    told, earlier = [], []
    for confidence in CONFIDENCES:
        plain, shrunk, both = (panel.half((kind, confidence)) for kind in ("betting", "posterior", "both"))
        told.append(f"ε = {confidence:g}: {short(plain)}, {short(shrunk)}, {short(both)}")
        earlier.append(shrunk < plain)
    mean = worst(panel, ("posterior", 0.95))[1]
    claim = "ours: a shrunk special policy is let through for half of the queries with fewer clicks than a plain one"
    holds = "yes" if all(earlier) else "in part" if any(earlier) else "no"
    said_so = f"clicks of plain, shrunk and both: {'; '.join(told)}; shrunk at 0.95, worst mean {mean:+.4f} of logging"
    return PaperFinding(claim, panel.title, holds, said_so)


def beyond(panel: Panel, kind: str) -> dict[float, tuple[float, float]]:
    """By confidence: the largest share of queries falsely let through, and the line with three standard errors."""
    tried = len(panel.runs) * panel.queries
    out = {}
    for confidence in CONFIDENCES:
        limit = line(confidence)
        out[confidence] = (
            float(panel.opened((kind, confidence)).max()),
            limit + 3 * np.sqrt(limit * (1 - limit) / tried),
        )
    return out


def _null(panel: Panel, kind: str) -> PaperFinding:
    found = beyond(panel, kind)
    told = ", ".join(f"ε = {c:g}: {share:.4f} (line {limit:.4f})" for c, (share, limit) in found.items())
    none = float(panel.opened((NONE, 0.0)).max())
    below = [share <= limit for share, limit in found.values()]
    holds = "yes" if all(below) else "in part" if any(below) else "no"
    name = KINDS[kind]
    claim = f"where clicks say nothing of relevance, {name} lets at most Φ(−√(2 ln(2/(1−ε)))) through, at all clicks"
    return PaperFinding(claim, panel.title, holds, f"{told}; no bound: {none:.2f}")
