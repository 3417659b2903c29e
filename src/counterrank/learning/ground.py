"""What policies are judged on: the clicks of each part by pair, what they are worth, and the logging policy."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from counterrank.compiled import njit
from counterrank.ids import Codes
from counterrank.learning.gate import PairClicks, levelled
from counterrank.policy.scores import BoundScores
from counterrank.records import dataclass
from counterrank.setting.evidence import LogEvidence
from counterrank.statistics.pairs import Pairs, sum_by
from counterrank.statistics.patterns import Patterns

Vector = NDArray[np.float64]


@dataclass(frozen=True)
class Part:
    """What is known of one part of the impressions, by query and by pair."""

    impressions: Codes  # (Q,)
    clicks: Codes  # (P,)
    shown: Codes  # (P,) impressions
    looks: Vector  # (P,) Σ examination over these impressions
    patterns: Patterns

    @classmethod
    def of(cls, patterns: Patterns, pairs: int, queries: int, examination: Vector) -> Part:
        clicks, shown = np.zeros((2, pairs), dtype=np.int64)
        looks, impressions = np.zeros(pairs), np.zeros(queries, dtype=np.int64)
        _tally(patterns.queries, patterns.coded, patterns.impressions, examination, impressions, clicks, shown, looks)
        return cls(impressions, clicks, shown, looks, patterns)

    def __add__(self, other: Part) -> Part:
        return Part(
            self.impressions + other.impressions,
            self.clicks + other.clicks,
            self.shown + other.shown,
            self.looks + other.looks,
            self.patterns,
        )


@njit(nogil=True)
def _tally(
    queries: Any, coded: Any, n: Any, examination: Any, impressions: Any, clicks: Any, shown: Any, looks: Any
) -> None:  # pragma: no cover
    for g in range(len(queries)):
        impressions[queries[g]] += n[g]
        for k in range(coded.shape[1]):
            v = coded[g, k]
            if v < 0:
                break
            shown[v >> 1] += n[g]
            looks[v >> 1] += n[g] * examination[k]
            if v & 1:
                clicks[v >> 1] += n[g]


@dataclass(frozen=True, kw_only=True)
class Ground:
    """Pairs with their propensities and the two parts' clicks. Propensities are of all impressions (eq. 8)."""

    pairs: Pairs
    train: Part
    selection: Part
    propensity: Vector  # (P,) ρ
    shown: NDArray[np.bool_]  # (P,) whether the log shows the pair
    logged: Vector  # (P,) the rank weight that the logging policy gives
    weights: Vector  # (K,) λ
    most: float
    positions: int  # K as asked for
    clip: float = np.inf  # the largest 1/ρ, in what is learnt; the gate weighs clicks as they are
    clustered: bool = False

    @classmethod
    def of(cls, evidence: LogEvidence, train: Patterns, selection: Patterns, most: float, clustered: bool) -> Ground:
        pairs, queries = evidence.counts.pairs, len(evidence.counts.impressions)
        parts = [Part.of(each, len(pairs), queries, evidence.examination) for each in (train, selection)]
        return cls(
            pairs=pairs,
            train=parts[0],
            selection=parts[1],
            propensity=evidence.logging.exposure(evidence.examination),
            shown=np.diff(evidence.cells.starts) > 0,
            logged=evidence.logging.exposure(evidence.weights),
            weights=evidence.weights,
            most=most,
            positions=evidence.positions,
            clip=evidence.clip,
            clustered=clustered,
        )

    @cached_property
    def whole(self) -> Part:
        """Both parts together."""
        return self.train + self.selection

    @property
    def lost(self) -> tuple[int, int]:
        """Shown pairs that nobody can have looked at, as logging policy and curve have it, and clicks on them."""
        blind = self.shown & (self.propensity <= 0)
        return int(blind.sum()), int(self.whole.clicks[blind].sum())

    def worth(self, part: Part) -> Vector:
        """(P,) Σ click/ρ of a part, 1/ρ cut at the clip; 0 where there is no propensity."""
        inverse = np.divide(1.0, self.propensity, out=np.zeros(len(self.pairs)), where=self.propensity > 0)
        return part.clicks.astype(np.float64) * np.minimum(inverse, self.clip)

    def tabular(self, part: Part) -> Vector:
        """(P,) r̂ of eq. 16: Σ click/ρ over the impressions of the query, ties exact."""
        n = np.maximum(part.impressions, 1)[self.pairs.queries]
        return levelled(self.pairs.starts, self.worth(part) / n)

    def by_scores(self, scores: Vector) -> Vector:
        """(P,) the rank weights of the items that the log shows, sorted by these scores; ties share theirs."""
        rows = np.flatnonzero(self.shown)
        return BoundScores(self.pairs, rows, scores[rows]).exposure(self.weights)

    def clicks(self, part: Part) -> PairClicks:
        return PairClicks(
            starts=self.pairs.starts,
            impressions=part.impressions,
            clicks=part.clicks,
            propensity=self.propensity,
            positions=self.positions,
            most=self.most,
            shown=self.shown,
        )

    def value(self, part: Part, weight: Vector) -> Vector:
        """(Q,) Σ click/ρ·weight of the part."""
        worth = np.divide(weight, self.propensity, out=np.zeros(len(weight)), where=self.propensity > 0)
        return sum_by(self.pairs.queries, part.clicks * worth, len(self.pairs.query_ids))

    def without_selection(self) -> Ground:
        """As if the selection part were the training part: what a gate that judges by its own clicks would see."""
        return replace(self, selection=self.train)
