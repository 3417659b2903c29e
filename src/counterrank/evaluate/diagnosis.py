"""May an answer be trusted? Findings, each a sentence with its numbers, and the verdict that follows from them."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any, Literal

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


@dataclass(frozen=True)
class Diagnosis:
    """The verdict on an answer."""

    verdict: Level
    reason: str  # one sentence
    findings: list[Finding]  # worst first
    estimator: str | None = None  # whom the verdict is about

    def words(self) -> str:
        """The verdict in one sentence."""
        of = f" {self.estimator}" if self.estimator is not None else ""
        return f"Verdict: {self.verdict}{of}: {self.reason}"

    def doubts(self, most: int | None = None) -> list[Finding]:
        """The findings that speak against trust, worst first."""
        return [finding for finding in self.findings if finding.level != "trust"][:most]

    def to_dict(self) -> dict[str, Any]:
        return {
            "level": self.verdict,
            "reason": self.reason,
            "estimator": self.estimator,
            "findings": [asdict(finding) for finding in self.findings],
        }


@dataclass(frozen=True)
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
