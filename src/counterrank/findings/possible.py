"""Can a value be what it says? Pages have so many clicks and no more."""

from __future__ import annotations

import numpy as np

from counterrank.estimate import Estimate
from counterrank.estimate.spread import largest_reward
from counterrank.findings.case import Case, grade, merged
from counterrank.findings.diagnosis import Finding, Level
from counterrank.setting.evidence import Evidence
from counterrank.words import number, percent

SOME, MUCH = 0.1, 0.3  # of the value that queries bring beyond what their pages can be worth
ROUNDING = 1e-9


def possible(case: Case) -> list[Finding]:
    """Values beyond the least and the largest that a page has, and queries beyond what their pages can have."""
    limits = _seen(case)
    if limits is None or case.evidence.same:
        return []
    least, most, whole = limits
    out = []
    slack = ROUNDING * max(abs(least), abs(most), 1e-300)
    for name, row in case.rows.items():
        if row.value is None or case.estimator(name).blind:
            continue
        numbers = {"least": least, "most": most, "value": row.value}
        if not least - slack <= row.value <= most + slack:
            words = f"the value is impossible: no page of the log is worth more than {number(most)}"
            if row.value < least:
                words = f"the value is impossible: no page is worth less than {number(least)}"
            elif not whole:
                words = f"the value is impossible: no page can be worth more than {number(most)}"
            out.append(Finding("possible", "do not trust", words, [name], numbers))
            continue
        beyond, share, count = _queries(case.evidence, case.estimates[name])
        level: Level = grade(beyond, SOME, MUCH)
        words = "the value is a possible one"
        if level != "trust":
            words = (
                f"{count:,} queries are worth more, or less, than any page of theirs can be: they bring "
                f"{percent(share)} of the value, {percent(beyond)} beyond what is possible"
            )
        more = {"beyond": beyond, "share": share, "queries": count}
        out.append(Finding("possible", level, words, [name], numbers | more))
    return merged(out)


def _seen(case: Case) -> tuple[float, float, bool] | None:
    """The least and the largest that pages are worth, and whether that is what the whole log shows."""
    evidence, sample = case.evidence, case.sample
    limits = largest_reward(evidence)
    if limits is None:
        return None
    if not evidence.of_clicks or sample is None or sample.share < 1 or not len(sample):
        return (*limits, not evidence.of_clicks and evidence.limits is None)
    worth = sample.clicks @ evidence.weights[: sample.coded.shape[1]]
    return min(0.0, float(worth.min())), max(0.0, float(worth.max())), True


def _queries(evidence: Evidence, estimate: Estimate) -> tuple[float, float, int]:
    """What queries bring beyond what is possible, and in all, as shares of the value; and how many they are."""
    limits = largest_reward(evidence)
    value = np.where(np.isfinite(estimate.per_query), estimate.per_query, 0.0)
    n = evidence.counts.impressions
    whole = float((np.abs(value) * n).sum())
    if limits is None or whole <= 0 or not np.isfinite(whole):
        return 0.0, 0.0, 0
    most = np.full(len(value), limits[1])
    if evidence.of_clicks:
        upto = np.concatenate([[0.0], np.cumsum(np.maximum(evidence.weights, 0.0))])
        most = upto[np.minimum(evidence.counts.pairs.lengths, len(upto) - 1)]
    beyond = np.maximum(value - most, 0.0) + np.maximum(limits[0] - value, 0.0)
    off = beyond > ROUNDING * max(abs(limits[0]), abs(limits[1]))
    return float((beyond * n).sum()) / whole, float((np.abs(value) * n)[off].sum()) / whole, int(off.sum())
