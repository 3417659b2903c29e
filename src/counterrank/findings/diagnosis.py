"""May an answer be trusted? Findings, each a sentence with its numbers, and the verdict that follows from them."""

from __future__ import annotations

import math
from dataclasses import asdict, field
from typing import Any, Literal

from counterrank.records import dataclass

Level = Literal["trust", "caution", "do not trust"]
LEVELS: tuple[Level, ...] = ("trust", "caution", "do not trust")  # rising


@dataclass(frozen=True)
class Finding:
    """One thing that speaks for or against an answer."""

    key: str  # a name of FINDINGS
    level: Level  # what it alone would say
    words: str  # one plain sentence with the number in it
    estimators: list[str] = field(default_factory=list)  # whom it concerns; none: all
    numbers: dict[str, Any] = field(default_factory=dict)  # JSON can hold them

    def line(self) -> str:
        """The words, with whom they concern."""
        return f"{', '.join(self.estimators)}: {self.words}" if self.estimators else self.words


@dataclass(frozen=True)
class Diagnosis:
    """The verdict on an answer."""

    verdict: Level
    reason: str  # one sentence
    findings: list[Finding]  # worst first
    estimator: str | None = None  # whom the verdict is about

    def words(self) -> str:
        """The verdict in one sentence.

        >>> Diagnosis("caution", "few impressions", [], "ip").words(), Diagnosis("trust", "enough", []).words()
        ('Caution with ip: few impressions.', 'Trust it: enough.')
        """
        return f"{self.label()}: {self.reason}."

    def label(self) -> str:
        """The verdict, and whom it is about."""
        start = {"trust": "Trust", "caution": "Caution with", "do not trust": "Do not trust"}[self.verdict]
        return f"{start} {self.estimator or 'it'}"

    def told(self, most: int = 4) -> list[str]:
        """The verdict, then the doubts that it does not tell already, those on what it is about first."""
        said = [f for f in self.doubts() if self.reason not in (f.words, f.line())]
        own = [f for f in said if self.concerns(f)]
        others = [f for f in said if not self.concerns(f) and f.key in ("disagreement", "click-model")]
        return [self.words(), *(f.line() for f in [*own, *others][:most])]

    def concerns(self, finding: Finding) -> bool:
        """Whether a finding speaks of what the verdict is about."""
        return not finding.estimators or self.estimator is None or self.estimator in finding.estimators

    def doubts(self, most: int | None = None) -> list[Finding]:
        """The findings that speak against trust, worst first."""
        return [finding for finding in self.findings if finding.level != "trust"][:most]

    def to_dict(self) -> dict[str, Any]:
        return {
            "level": self.verdict,
            "reason": self.reason,
            "estimator": self.estimator,
            "findings": [_known(asdict(finding)) for finding in self.findings],
        }


def _known(value: Any) -> Any:
    """The same, with None for numbers that JSON does not have."""
    if isinstance(value, dict):
        return {key: _known(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_known(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


@dataclass(frozen=True, kw_only=True)
class Tail:
    """How an estimator's weights and terms are spread over impressions.

    Bucket i holds `counts[i]` impressions whose absolute weight is at least `edges[i]` and below `edges[i + 1]`, one
    edge being twice the one before.
    """

    edges: list[float]
    counts: list[float]
    zero: float  # impressions without weight
    negative: float  # share of impressions with a negative weight
    largest: float | None  # the largest absolute weight
    largest_share: float | None  # of the sum of absolute weights
    ten: float | None  # share of the sum of absolute terms (weighted rewards) that ten impressions bring
