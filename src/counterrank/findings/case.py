"""What findings are made from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from functools import cached_property

from counterrank.estimate import ESTIMATORS, Estimate, Estimator
from counterrank.findings.diagnosis import Finding, Level, Tail
from counterrank.findings.joint import Joint
from counterrank.findings.tails import tail_of
from counterrank.records import dataclass
from counterrank.result.row import Row
from counterrank.setting.evidence import Evidence
from counterrank.statistics.histogram import Spreads
from counterrank.statistics.sample import Sample
from counterrank.threads import side_by_side

ROUNDING = 1e-9  # of a number


@dataclass(frozen=True, kw_only=True)
class Case:
    """The evidence and the estimates, by name, with their intervals."""

    evidence: Evidence
    estimates: Mapping[str, Estimate]
    rows: Mapping[str, Row]
    joint: Joint = field(default_factory=lambda: Joint({}))
    of: str | None = None  # the estimator, where names are those of policies
    what: str = "the value"
    sample: Sample | None = None  # of the log's impressions, where single clicks can be looked at

    def estimator(self, name: str) -> Estimator:
        """Whose estimate the one called `name` is."""
        return ESTIMATORS[self.of or name]

    @cached_property
    def spreads(self) -> dict[str, Spreads]:
        made = {
            name: estimate.spreads
            for name, estimate in self.estimates.items()
            if estimate.spreads is not None and self.rows[name].stderr is not None
        }
        names = list(made)
        one, other = side_by_side(
            lambda: {name: made[name]() for name in names[::2]}, lambda: {name: made[name]() for name in names[1::2]}
        )
        return {name: {**one, **other}[name] for name in names}

    @cached_property
    def tails(self) -> dict[str, Tail]:
        return {name: tail_of(spreads) for name, spreads in self.spreads.items()}


def grade(number: float, caution: float, never: float) -> Level:
    """The larger, the worse; what reaches a limit but for rounding reaches it."""
    number += ROUNDING * abs(number)
    return "do not trust" if number >= never else "caution" if number >= caution else "trust"


def merged(findings: list[Finding]) -> list[Finding]:
    """Findings that say the same of several estimators, said once; their numbers stay apart, by estimator."""
    groups: dict[tuple[str, str, str], list[Finding]] = {}
    for finding in findings:
        groups.setdefault((finding.key, finding.level, finding.words), []).append(finding)
    out = []
    for (key, level, words), same in groups.items():
        names = [name for finding in same for name in finding.estimators]
        out.append(Finding(key, level, words, names, same[0].numbers))  # type: ignore[arg-type]
    return out
