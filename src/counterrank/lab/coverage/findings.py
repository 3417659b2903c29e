"""What should hold of every interval, and whether it did."""

from __future__ import annotations

import math
from collections.abc import Sequence

from counterrank.interval import FEW
from counterrank.lab.coverage.path import Path
from counterrank.lab.coverage.runs import CONFIDENCE, LOGGINGS, Measured
from counterrank.lab.coverage.verdicts import Verdicts
from counterrank.lab.result import PaperFinding

LEAST, MOST = CONFIDENCE - 0.01, CONFIDENCE + 0.02
APPROXIMATE = ("normal", "t", "bootstrap")
BOUNDED = ("empirical-bernstein", "hoeffding", "theorem3")
HEAVY = ("far", "tail")
TRUSTED = 0.9
NAMED = 4  # cells that are named


def findings(measured: Sequence[Measured], paths: Sequence[Path], logs: int) -> list[PaperFinding]:
    slack = 3 * math.sqrt(CONFIDENCE * (1 - CONFIDENCE) / logs)
    out = []
    for logging in LOGGINGS:
        where = "a known logging policy" if logging == "known" else "shares from the log"
        enough = [m for m in measured if m.holds and _enough(m) and m.logging == logging]
        for kind in APPROXIMATE:
            out.append(_within(f"{kind} covers 94 to 97 %", where, enough, kind, slack, MOST))
    known = [m for m in measured if m.holds and m.logging == "known"]
    for kind in BOUNDED:
        out.append(
            _within(f"{kind} covers 94 % or more, heavy tails too", "a known logging policy", known, kind, slack)
        )
    out.append(_throughout(paths, slack))
    out.append(_fails([m for m in measured if m.holds and m.world in HEAVY]))
    return out


def warned(verdicts: Sequence[Verdicts]) -> PaperFinding:
    """Whether trusted intervals are right, in worlds with heavy tails above all."""
    claim, where = "an answer that the verdict trusts is right in 90 % of logs or more", "all worlds"
    trusted = [(v.right, v) for v in verdicts if v.right is not None]
    off = sorted(
        (right, v.world, v.logging, v.impressions, v.shares["trust"]) for right, v in trusted if right < TRUSTED
    )
    if not off:
        return PaperFinding(
            claim, where, "yes" if trusted else "undecided", f"in all of {len(trusted)} cells with trust"
        )
    named = "; ".join(
        f"{world}, {logging}, {n:,}: right in {right:.0%} of the {share:.0%} trusted"
        for right, world, logging, n, share in off[:NAMED]
    )
    return PaperFinding(claim, where, "no", f"not in {len(off)} of {len(trusted)} cells with trust: {named}")


def _enough(m: Measured) -> bool:
    """Whether an approximation is meant to be good: much evidence, and no heavy tails."""
    return m.effective >= FEW and m.world not in HEAVY


def _within(
    claim: str, where: str, cells: Sequence[Measured], kind: str, slack: float, most: float = 1.0
) -> PaperFinding:
    """Whether all cells lie between the least and `most`; what chance alone may have done is undecided."""
    seen = [(coverage, m) for m in cells if (coverage := m.coverage.get(kind)) is not None]
    if not seen:
        return PaperFinding(claim, where, "undecided", "no interval of this kind")
    off = [(c, m) for c, m in seen if not LEAST <= c <= most]
    far = [(c, m) for c, m in off if not LEAST - slack <= c <= most + slack]
    shares = sorted(c for c, _ in seen)
    measured = f"{100 * shares[0]:.1f} to {100 * shares[-1]:.1f} % in {len(seen)} cells"
    if off:
        worst = sorted(off, key=lambda each: min(each[0] - LEAST, most - each[0]))[:NAMED]
        named = ", ".join(f"{m.estimator} in {m.world} at {m.impressions:,}: {100 * c:.1f}" for c, m in worst)
        measured += f"; {len(off)} outside: {named}"
    return PaperFinding(claim, where, "no" if far else "undecided" if off else "yes", measured)


def _throughout(paths: Sequence[Path], slack: float) -> PaperFinding:
    claim = "sequence holds the truth on all days at once, 94 % or more; normal does not"
    if not paths:
        return PaperFinding(claim, "growing logs", "undecided", "not measured")
    least = min(p.throughout["sequence"] for p in paths)
    usual = max(p.throughout["normal"] for p in paths)
    holds = least >= LEAST and usual < LEAST
    verdict = "yes" if holds else "undecided" if least >= LEAST - slack else "no"
    return PaperFinding(
        claim, "growing logs", verdict, f"sequence at least {100 * least:.1f} %, normal at most {100 * usual:.1f} %"
    )


def _fails(cells: Sequence[Measured]) -> PaperFinding:
    claim = "normal covers less than 94 % where few impressions carry the value"
    seen = sorted(
        (m.effective, m.estimator, m.impressions, c) for m in cells if (c := m.coverage["normal"]) is not None
    )
    if not seen:
        return PaperFinding(claim, " and ".join(HEAVY), "undecided", "no such cell")
    low = [each for each in seen if each[3] < LEAST]
    named = "; ".join(
        f"{name} at {n:,}, effective size {size:,.0f}: {100 * c:.1f} %" for size, name, n, c in low[:NAMED]
    )
    last = f"the largest effective size at which it does: {low[-1][0]:,.0f}" if low else "it never does"
    return PaperFinding(claim, " and ".join(HEAVY), "yes" if low else "no", f"{named}; {last}")
