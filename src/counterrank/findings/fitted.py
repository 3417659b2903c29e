"""Was the target learnt from this very log? Then it shows first what happened to be clicked."""

from __future__ import annotations

import math

import numpy as np

from counterrank.estimate import Weighs
from counterrank.findings.case import Case
from counterrank.findings.diagnosis import Finding
from counterrank.findings.strata import Matrix
from counterrank.records import dataclass
from counterrank.setting.evidence import Evidence, ratios
from counterrank.words import percent

RARE, COMMON = 5, 20  # impressions: below, a click rate is chance; from there on it says something
CLICKS = 5.0  # as good as so many, before a lift is told
TWICE = 2.0
SURE = 3.0  # standard errors
HALF = 0.5  # of the value


@dataclass(frozen=True)
class Lift:
    """How much more often than all of them the items that the target shows first were clicked."""

    log: float
    variance: float
    clicks: float  # as good as so many

    @classmethod
    def of(cls, sums: Matrix) -> Lift | None:
        """From Σ first·clicks, Σ first²·clicks, Σ first·expected, Σ clicks and Σ expected, `first` being the chance of
        each at position 1, `expected` its clicks if it were like any other."""
        hits, squares, due, every, all_due = map(float, sums)
        if min(hits, due, every, all_due) <= 0:
            return None
        return cls(math.log(hits / due) - math.log(every / all_due), squares / hits**2 + 1 / every, hits**2 / squares)


def lifts(evidence: Evidence) -> tuple[Lift | None, Lift | None]:
    """Of pairs that the log shows rarely, and of those that it shows often; positions by their mean click rates."""
    counts, cells = evidence.counts, evidence.cells
    shown, clicked = (cells.by_position(each) for each in (counts.shown, counts.clicked))
    rate = np.divide(clicked, shown, out=np.zeros(len(shown)), where=shown > 0)
    sums, ones = np.zeros((2, 5)), np.ones(len(shown))
    for part in counts.parts():
        of = part.pairs.start, part.pairs.stop
        seen, hits = (cells.weighed(each, ones, *of) for each in (counts.shown, counts.clicked))
        rows = np.arange(*of)
        expected, first = cells.weighed(counts.shown, rate, *of), evidence.target.at(rows, np.zeros_like(rows))
        for number, some in enumerate(((seen > 0) & (seen < RARE), seen >= COMMON)):
            f, c, e = first[some], hits[some], expected[some]
            sums[number] += f @ c, f**2 @ c, f @ e, c.sum(), e.sum()
    return Lift.of(sums[0]), Lift.of(sums[1])


def fitted(case: Case) -> list[Finding]:
    """An item that was shown once or twice is clicked by chance. A policy that was learnt elsewhere lifts such items no
    more than others; one that was learnt from this log lifts just those that were clicked here."""
    evidence = case.evidence
    if evidence.same or not evidence.of_clicks or not evidence.marginals:
        return []
    names = [name for name, row in case.rows.items() if row.value is not None and _weighs(case, name)]
    rare, common = lifts(evidence)
    if not names or rare is None or common is None or min(rare.clicks, common.clicks) < CLICKS:
        return []
    gap, error = rare.log - common.log, math.sqrt(rare.variance + common.variance)
    share = _share(evidence)
    numbers = {"rare": math.exp(rare.log), "common": math.exp(common.log), "stderr": error, "share": share}
    if gap <= math.log(TWICE) + error or gap <= SURE * error:
        words = f"items shown fewer than {RARE} times bring {percent(share)} of the clicks that count"
        return [Finding("fitted", "trust", words, names, numbers)]
    words = (
        f"the target shows first what happened to be clicked in this very log (of items shown fewer than {RARE} times "
        f"{math.exp(rare.log):.2g} times as often as the rest, of others {math.exp(common.log):.2g} times): it looks "
        "learnt from it, and is worth less elsewhere"
    )
    return [Finding("fitted", "do not trust" if share >= HALF else "caution", words, names, numbers)]


def _weighs(case: Case, name: str) -> bool:
    return case.estimator(name).weighs is not Weighs.NOTHING


def _share(evidence: Evidence) -> float:
    """Of Σ target/logging·θ·click, what pairs bring that the log shows rarely."""
    counts = evidence.counts
    cells, weight = counts.cells, ratios(evidence.shown_by_target, evidence.shown_by_logging)
    brought = cells.weighed(weight * counts.clicked, evidence.weights)
    whole = float(brought.sum())
    return float(brought[cells.by_pair(counts.shown) < RARE].sum()) / whole if 0 < whole < math.inf else 0.0
