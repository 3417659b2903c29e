"""Which estimator a comparison goes by, and what the log says of what it assumes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from counterrank.engine import Pass
from counterrank.errors import Unanswerable
from counterrank.estimate import ESTIMATORS, Estimate, Weighs
from counterrank.estimate.choose import choose_estimators
from counterrank.estimate.difference import Sides
from counterrank.findings import Case, Tested, assumptions
from counterrank.findings.diagnosis import LEVELS, Finding
from counterrank.judging.distance import too_much
from counterrank.judging.evaluate import estimates_of, judged_row
from counterrank.judging.verdict import findings_of, headline
from counterrank.records import dataclass
from counterrank.result.row import Row
from counterrank.setting.evidence import Evidence
from counterrank.setting.need import Need
from counterrank.statistics.sample import Sample

ON_SIDES = frozenset({"overlap", "clipped", "balance", "size", "tails", "ten", "skew", "rarity", "drift", "queries"})
OF_USERS = frozenset({"neighbours", "stopping", "below", "moving"})  # asked again of the difference itself


def has_bound(name: str) -> bool:
    """Whether its value is the mean of one bounded term per impression, so that a bet can be placed on it."""
    estimator = ESTIMATORS[name]
    return not (estimator.self_normalised or estimator.blind or estimator.modelled)


def candidates(metric: str) -> list[str]:
    """The estimators that `auto` looks at: all that an evaluation would run."""
    return choose_estimators(None, metric)[0]


@dataclass(frozen=True)
class Looked:
    """What an evaluation finds of each policy that is not the logging policy itself."""

    cases: Sequence[Case]
    findings: Sequence[Finding]
    sample: Sample | None

    @classmethod
    def at(cls, names: Sequence[str], sides: Sides, run: Pass, confidence: float) -> Looked:
        judged = [side for side in sides if not side.same]
        counts = sides[0].counts
        sample = run.sample(counts.pairs) if sides[0].of_clicks and judged else None
        cases = [_case(_quick(names, side), side, run, sample, confidence) for side in judged]
        return cls(cases, [finding for case in cases for finding in findings_of(case)], sample)

    def best(self) -> str:
        """Of the estimators with a bound, the one that an evaluation's verdict would name."""
        if not self.cases:  # two times the logging policy: any will do
            return next(name for name in ESTIMATORS if has_bound(name))
        rows = {name: row for name, row in self._rows().items() if has_bound(name)}
        first = self.cases[0]
        found = headline(Case(evidence=first.evidence, estimates=first.estimates, rows=rows), list(self.findings))
        if found is None:
            found = min(rows, key=lambda name: ESTIMATORS[name].assumes, default=None)
        if found is None:
            raise Unanswerable("no estimator can compare these policies on this metric: name one with `estimator`")
        return found

    def _rows(self) -> Mapping[str, Row]:
        """Of each estimator the row with the least evidence."""
        out: dict[str, Row] = {}
        for case in self.cases:
            for name, row in case.rows.items():
                if name not in out or (row.effective_sample_size or 0.0) < (out[name].effective_sample_size or 0.0):
                    out[name] = row
        return out

    def doubts(self, name: str, sides: Sides, gap: Row) -> list[Finding]:
        """What the log says of the assumptions of one estimator: contrasts with others, and users."""
        own = [
            f for f in self.findings if f.key not in ON_SIDES | OF_USERS and (not f.estimators or name in f.estimators)
        ]
        tested = Tested.of(self.sample, [(1, sides[0]), (-1, sides[1])])
        asked = assumptions(tested, {name: ESTIMATORS[name]}, {name: gap}) if tested is not None else []
        return [*own, *(deciding(finding, gap) for finding in asked)]

    def level(self, name: str) -> int:
        """How bad the worst finding on an estimator is."""
        mine = [LEVELS.index(f.level) for f in self.findings if name in f.estimators]
        return max(mine, default=0)

    @property
    def from_the_top(self) -> bool:
        """Whether users read from the top: a click makes others further down rarer, or what stands above matters."""
        return any(f.key in ("stopping", "neighbours") and f.level != "trust" for f in self.findings)


def deciding(finding: Finding, gap: Row) -> Finding:
    """Nobody wins by a bound that is no further from 0 than the bias that a broken assumption may bring."""
    bias, clear = finding.numbers.get("bias"), max(gap.lower or 0.0, -(gap.upper or 0.0))
    if finding.level == "trust" or bias is None or clear <= 0 or abs(bias) + 2 * finding.numbers["stderr"] < clear:
        return finding
    return replace(finding, level="do not trust", words=f"{finding.words}, which may be all that decides")


def _quick(names: Sequence[str], side: Evidence) -> list[str]:
    """Without those that would take long on this evidence."""
    if side.counts.pages is None or too_much(side):
        return [name for name in names if ESTIMATORS[name].weighs is not Weighs.PAGES]
    return list(names)


def _case(names: Sequence[str], side: Evidence, run: Pass, sample: Sample | None, confidence: float) -> Case:
    wanted = [name for name in names if Need.FEATURES not in ESTIMATORS[name].needs]
    estimates, _, joint = estimates_of(wanted, side, run)
    rows: dict[str, Row] = {}
    done: dict[str, Estimate] = dict(estimates)
    for name, estimate in done.items():
        rows[name] = judged_row(name, estimate, side, None, None, confidence)
    return Case(evidence=side, estimates=done, rows=rows, joint=joint, sample=sample)
