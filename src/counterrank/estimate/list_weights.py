"""The chance of each ranking under both policies, and its weight."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from counterrank.estimate.base import Vector
from counterrank.estimate.support import listed_rankings
from counterrank.setting.evidence import ROUNDING, Evidence, LogEvidence
from counterrank.statistics.rankings import Rankings


def ranking_weights(evidence: Evidence, chunk: Rankings) -> tuple[Vector, Vector, Vector, NDArray[np.bool_]]:
    """The chance of each group's ranking under target and logging policy, its weight, and whether it was clipped."""
    h = evidence.target.probability(chunk.queries, chunk.rows)
    pi = logging_chances(evidence, chunk)
    with np.errstate(over="ignore"):  # such weights are clipped, or told to be too large
        raw = np.divide(h, pi, out=np.zeros_like(h), where=pi > 0)
    over = raw > evidence.clip * (1 + ROUNDING)
    return h, pi, np.where(over, evidence.clip, raw), over


def largest_possible(evidence: Evidence, logged: Vector) -> tuple[Vector, Vector]:
    """(Q,) the largest weight of a ranking, as far as anyone knows, and a number that no weight can be above.

    Where shares stand for the logging policy, rankings that were not logged have no weight: both are the largest one
    `logged`. Else both are of all rankings, where those of a policy can be listed; if not, only a clip is a limit.
    """
    if evidence.estimated:
        return logged, logged
    listed = None if evidence.by_propensity else listed_rankings(evidence)
    if listed is None:
        return logged, np.full_like(logged, evidence.clip)
    queries, rankings = listed
    h, pi = (policy.probability(queries, rankings) for policy in (evidence.target, evidence.logging))
    with np.errstate(over="ignore"):
        weight = np.divide(h, pi, out=np.zeros_like(h), where=pi > 0)
    most = logged.copy()
    np.maximum.at(most, queries, np.minimum(weight, evidence.clip))
    return most, most


def logging_chances(evidence: LogEvidence, chunk: Rankings) -> Vector:
    """The chance of each group's ranking under the logging policy."""
    if evidence.by_propensity:
        assert chunk.propensity is not None  # noqa: S101
        return chunk.propensity
    if evidence.estimated:
        return chunk.impressions / evidence.counts.impressions[chunk.queries]
    return evidence.logging.probability(chunk.queries, chunk.rows)
