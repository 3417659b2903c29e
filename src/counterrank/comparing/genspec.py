"""A comparison by genspec2021's own bound: empirical Bernstein on one term for each shown item."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from counterrank.comparing.comparison import VERDICTS, Comparison, QueryVerdicts, SideValue, decided
from counterrank.comparing.relative import Clicks, contrast, never_seen, rank_weights
from counterrank.comparing.verdict import of_bound
from counterrank.errors import InputError
from counterrank.learning.gate import Bounds
from counterrank.learning.gate.bounds import FEWEST
from counterrank.log import Reading
from counterrank.setting.asked import Asked
from counterrank.setting.evidence import Evidence
from counterrank.setting.options import position_weights
from counterrank.setting.question import Question

GENSPEC = "genspec"
ASSUMED = "it is assumed that a click is the examination of the position times the attraction of the item"
CORRELATED = (
    "the bound takes the items of a page as independent; where clicks of a page go together it is not the bound it says"
)
MUCH = 0.5  # share of the bound's width from which the worst case is told


def check_options(**given: Any) -> None:
    """What the bound has no use for."""
    why = {
        "clip": "the bound weighs clicks as they are",
        "interval": "the bound is empirical Bernstein",
        "reward_range": "the bound is on clicks",
        "features": "the bound fits no regression",
        "model": "the bound fits no regression",
    }
    for name, value in given.items():
        if value is not None:
            raise InputError(f"`{name}` is for `estimator`: {why[name]}")


def compare_by_bound(
    question: Question, sides: Sequence[Evidence], call: str, confidence: float, notes: list[str], reading: Reading
) -> Comparison:
    target, baseline = sides
    counts = target.counts
    clicks = Clicks.of(target, float(position_weights(question.weights)(target.positions).max()))
    difference = clicks.bounds(contrast(target, baseline), per_query=False)
    lower, upper = _ends(difference, confidence)
    alone = {
        name: clicks.bounds(rank_weights(side), per_query=False)
        for name, side in (("target", target), ("baseline", baseline))
    }
    unsupported = {
        name: never_seen(side, clicks.propensity) for name, side in (("target", target), ("baseline", baseline))
    }
    each = clicks.bounds(contrast(target, baseline), per_query=True)
    trust = of_bound(
        (target, baseline),
        {name: float(of.value[0]) for name, of in alone.items()},
        unsupported,
        float(difference.half(confidence)[0]),
        float(difference.by_largest(confidence)[0]),
        int(difference.clicks[0]),
        per_query=each.value,
    )
    corrected = each.verdict(1 - (1 - confidence) / len(counts.impressions))
    verdict, needed = decided(lower, upper, trust), difference.needed(confidence)[0]
    return Comparison(
        difference=float(difference.value[0]),
        lower=lower,
        upper=upper,
        confidence=confidence,
        verdict=verdict,
        impressions_needed=needed or (0 if verdict != "undecided" else None),
        covered=counts.total / counts.log_impressions,
        unsupported=unsupported,
        separate={name: SideValue(float(of.value[0]), *_ends(of, confidence)) for name, of in alone.items()},
        impressions=counts.total,
        queries=len(counts.impressions),
        positions=target.positions,
        metric=question.metric,
        clicks=int(difference.clicks[0]),
        estimator=GENSPEC,
        interval="empirical-bernstein",
        stderr=None,
        by_query=QueryVerdicts.of(each.verdict(confidence), corrected, confidence),
        per_query=_per_query(target, each, corrected, confidence),
        reading=reading,
        warnings=_warnings(clicks, difference, unsupported, confidence),
        notes=[*notes, *target.fitted, ASSUMED, CORRELATED],
        diagnosis=trust,
        asked=Asked.of(question, call, counts),
    )


def _ends(bounds: Bounds, confidence: float) -> tuple[float | None, float | None]:
    value, half = float(bounds.value[0]), float(bounds.half(confidence)[0])
    return (None, None) if np.isnan(half) else (value - half, value + half)


def _per_query(evidence: Evidence, each: Bounds, corrected: Any, confidence: float) -> pa.Table:
    half = each.half(confidence)
    none = np.isnan(half)
    return pa.table(
        {
            "query": evidence.counts.pairs.query_ids.column(),
            "impressions": pa.array(each.impressions),
            "clicks": pa.array(each.clicks),
            "difference": pa.array(each.value),
            "lower": pa.array(each.value - half, mask=none),
            "upper": pa.array(each.value + half, mask=none),
            "verdict": pa.array([VERDICTS[int(v)] for v in each.verdict(confidence)]),
            "impressions_needed": pa.array(each.needed(confidence), pa.int64()),
            "significant_after_correction": pa.array(corrected != 0),
        }
    )


def _warnings(clicks: Clicks, difference: Bounds, unsupported: dict[str, float], confidence: float) -> list[str]:
    said = []
    found = int(difference.clicks[0])
    if found < FEWEST:
        said.append(f"the log has {'no clicks' if found == 0 else '1 click'}: a bound needs at least {FEWEST}")
    for name, share in unsupported.items():
        if share > 1e-9:
            said.append(
                f"the log never shows {share:.1%} of what the {name} shows: its value there counts as 0, and the bound "
                "does not hold this"
            )
    if clicks.lost:
        said.append(
            f"{clicks.lost / found:.1%} of the clicks are on items that nobody can have looked at, as the logging "
            "policy and the examination have it: they count as 0"
        )
    worst = float(difference.by_largest(confidence)[0])
    if worst > MUCH and difference.verdict(confidence)[0] == 0:
        query, item, chance = clicks.rarest()
        said.append(
            f"{worst:.0%} of the bound's width is for the worst case: a click on the rarest shown item ({item!r} of "
            f"query {query!r}, shown and looked at with chance {chance:.2g})"
        )
    return said
