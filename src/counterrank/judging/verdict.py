"""The verdict: which estimator it is about, and whether that may be trusted."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from counterrank.estimate import ESTIMATORS
from counterrank.findings import OF_ESTIMATORS, Case, Tested, assumptions, click_model, disagreement, drift, queries
from counterrank.findings.click_model import UNTESTED
from counterrank.findings.diagnosis import LEVELS, Diagnosis, Finding
from counterrank.threads import one_thread_for_matrices, side_by_side
from counterrank.words import percent


def diagnose(case: Case) -> Diagnosis:
    """All findings, and the verdict on the estimator that stands best."""
    evidence, findings = case.evidence, findings_of(case)
    name = headline(case, findings)
    if name is None:
        return Diagnosis("do not trust", "no estimator has both a value and an interval", worst_first(findings))
    findings += queries(evidence.counts, case.estimates[name].per_query, "the value", [name])
    if why := case.estimator(name).blind:
        findings.append(Finding("assumption", "trust" if evidence.same else "caution", why, [name]))
    return concluded(findings, _good(case, name), name)


def findings_of(case: Case) -> list[Finding]:
    """All that speaks for or against each estimate of a policy."""
    evidence = case.evidence

    def of_users() -> tuple[list[Finding], list[Finding]]:
        tested = Tested.of(case.sample, [(1, evidence)])
        if tested is None:
            return [], disagreement(case, None)
        judged = {name: case.estimator(name) for name in case.rows}
        return assumptions(tested, judged, case.rows), disagreement(case, tested)

    def of_estimates() -> tuple[list[Finding], list[Finding]]:
        found = [finding for find in OF_ESTIMATORS for finding in find(case)]
        return found, click_model(evidence, map(case.estimator, case.rows))

    with one_thread_for_matrices():
        (findings, of_model), (assumed, differing) = side_by_side(of_estimates, of_users)
        return findings + assumed + differing + of_model + drift(evidence.counts)


def headline(case: Case, findings: list[Finding]) -> str | None:
    """Whom the verdict is about: of the estimators with the fewest doubts, the one with the most evidence.

    An assumption that the log is too thin to test speaks for nobody: of estimators with the same doubts, those without
    one come first, and among those with one what assumes least, however much evidence it claims. Where evidence is
    alike, too, the one that assumes least. Those that are blind, such as `rctr` and `dm`, only where there
    is no other: what they say does not rest on how the log bears on the target.
    """
    whole = [name for name, row in case.rows.items() if row.value is not None and row.lower is not None]
    known = [name for name in ESTIMATORS if name in whole]
    judged = sorted(known, key=lambda name: (bool(ESTIMATORS[name].blind), ESTIMATORS[name].assumes))
    if judged and not ESTIMATORS[judged[0]].blind:
        judged = [name for name in judged if not ESTIMATORS[name].blind]
    if not judged:
        return None

    def standing(name: str) -> tuple[int, int, float]:
        mine = [finding for finding in findings if name in finding.estimators]
        worst = max((LEVELS.index(finding.level) for finding in mine), default=0)
        untested = any(finding.numbers.get(UNTESTED) for finding in mine)
        size = -round(case.rows[name].effective_sample_size or 0.0, 6)
        return worst, 1 + case.estimator(name).assumes if untested else 0, size

    return min(judged, key=standing)  # the first of equals


def concluded(findings: list[Finding], good: str, name: str | None = None) -> Diagnosis:
    """The worst finding that concerns it is the verdict, and the reason; `good` is the reason where none is bad."""
    ordered = worst_first(findings)
    for finding in ordered:
        if finding.level != "trust" and (name is None or not finding.estimators or name in finding.estimators):
            return Diagnosis(finding.level, finding.words if name is not None else finding.line(), ordered, name)
    return Diagnosis("trust", good, ordered, name)


def worst_first(findings: list[Finding]) -> list[Finding]:
    """Each sentence once, though it may be true of two policies."""
    once: dict[str, Finding] = {}
    for finding in findings:
        once.setdefault(finding.line(), finding)
    return sorted(once.values(), key=lambda finding: -LEVELS.index(finding.level))


def _good(case: Case, name: str) -> str:
    if case.evidence.same:
        return "the target is the logging policy itself, and its value the log's mean"
    row = case.rows[name]
    size = row.effective_sample_size or 0.0
    return (
        f"the log supports {percent(1 - row.unsupported)} of what the target shows, "
        f"with {size:,.0f} impressions' worth of evidence"
    )


def curve_table(case: Case) -> pa.Table | None:
    """Click-through rates by position, beside the examination that `pbm` uses; None where clicks are not counted."""
    evidence = case.evidence
    if not evidence.of_clicks:
        return None
    counts = evidence.counts
    shown, clicked = (counts.cells.by_position(each) for each in (counts.shown, counts.clicked))
    rate = np.divide(clicked, shown, out=np.zeros(len(shown)), where=shown > 0)
    return pa.table(
        {
            "position": pa.array(np.arange(1, len(shown) + 1)),
            "impressions": pa.array(shown),
            "rate": pa.array(rate, mask=shown == 0),
            "examination": pa.array(evidence.examination),
        }
    )
