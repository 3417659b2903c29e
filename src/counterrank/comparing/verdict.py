"""The verdict on a comparison: may the difference be trusted?"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

from counterrank.estimate import ESTIMATORS, Estimate, Estimator, PositionBased
from counterrank.findings import Case, click_model, drift, queries
from counterrank.findings.case import merged
from counterrank.findings.diagnosis import Diagnosis, Finding
from counterrank.findings.overlap import balance, clipped, overlap, supported
from counterrank.findings.weights import size, skew, ten
from counterrank.judging.verdict import concluded
from counterrank.result.row import Row
from counterrank.setting.evidence import Evidence
from counterrank.words import percent

THE_DIFFERENCE = "the difference"


def of_bound(
    sides: tuple[Evidence, Evidence],
    values: Mapping[str, float],
    unsupported: Mapping[str, float],
    half: float,
    worst: float,
    clicks: int,
    *,
    per_query: NDArray[np.float64],
) -> Diagnosis:
    """Of genspec2021's bound. `half`: half its width (NaN: none), `worst`: the share of that for the worst case."""
    width = None if np.isnan(half) else 2 * half
    findings = [
        finding
        for name, value in values.items()
        for finding in supported(name, unsupported[name], abs(value), width, f"the {name}")
    ]
    if width is None:
        few = "the log has no clicks" if clicks == 0 else f"the log has only {clicks} click: a bound needs two"
        findings.append(Finding("size", "do not trust", few, [], {"clicks": clicks}))
    else:
        words = f"{percent(min(worst, 1.0))} of the bound's width is for the worst case, a click on the rarest item"
        findings.append(Finding("bound", "trust", words, [], {"share": worst}))
    findings = merged(findings) + _shared(sides, PositionBased(), per_query)
    return concluded(findings, _both(unsupported.values()))


def of_pair(
    name: str,
    sides: tuple[Evidence, Evidence],
    done: Mapping[str, Estimate],
    rows: Mapping[str, Row],
    gap: Row,
    doubts: list[Finding],
    *,
    kind: str,
) -> Diagnosis:
    """Of paired differences of one estimator; `rows` has those of target and baseline, `doubts` what is known of its
    assumption. A bet on weights that are known holds however few impressions carry it, and however skewed they are."""
    exact = kind == "betting" and ESTIMATORS[name].knows(sides[0])
    weighed = {side for side, evidence in zip(rows, sides, strict=True) if not evidence.same}
    mine = {side: row for side, row in rows.items() if side in weighed}  # the logging policy has no weights
    apart = Case(evidence=sides[0], estimates={side: done[side] for side in mine}, rows=mine, of=name)
    gaps, rows_of_gap = {"difference": done["difference"]}, {"difference": gap}
    both = Case(evidence=sides[0], estimates=gaps, rows=rows_of_gap, of=name, what=THE_DIFFERENCE)
    findings = [finding for find in (overlap, clipped, balance, *([] if exact else [size])) for finding in find(apart)]
    if gap.value is None or gap.stderr is None:
        findings.append(Finding("size", "do not trust", "the log gives no interval for the difference"))
    elif (gap.value or gap.stderr) and not exact:
        findings += [finding for find in (ten, skew) for finding in find(both)]
    findings += [*doubts, *drift(sides[0].counts)]
    findings += queries(sides[0].counts, done["difference"].per_query, THE_DIFFERENCE, [])
    least = min((row.effective_sample_size or 0.0 for row in rows.values()), default=0.0)
    good = f"{_both(row.unsupported for row in rows.values())}, with {least:,.0f} impressions' worth of evidence"
    return concluded(findings, good)


def _shared(sides: tuple[Evidence, Evidence], estimator: Estimator, per_query: NDArray[np.float64]) -> list[Finding]:
    """What the log itself says, and which queries carry the difference."""
    judged = next((side for side in sides if not side.same), None)
    found = click_model(judged, [estimator]) if judged is not None else []
    return [*found, *drift(sides[0].counts), *queries(sides[0].counts, per_query, THE_DIFFERENCE, [])]


def _both(unsupported: Iterable[float]) -> str:
    most = max(unsupported, default=0.0)
    return f"the log supports {'' if most <= 0 else 'at least '}{percent(1 - most)} of what both policies show"
