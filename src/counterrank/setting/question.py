"""A question to a log: a setting, and the policies that are judged in it."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from counterrank.engine import Pass
from counterrank.log import Log
from counterrank.policy import Policy, Uniform, read_policy
from counterrank.records import dataclass
from counterrank.setting.evidence import Evidence
from counterrank.setting.need import Need
from counterrank.setting.setting import Setting

IDLE_CANDIDATES = "`candidates` changes nothing here: each policy given names the items that it shows itself"


@dataclass(frozen=True, kw_only=True)
class Question(Setting):
    """What is the target worth, or, where there is a baseline, how much more than that?"""

    target: Policy
    baseline: Policy | None = None
    idle_candidates: bool = False  # they have no say in any policy

    @classmethod
    def ask(cls, log: Log, target: Any, *, baseline: Any = None, **options: Any) -> Question:
        """From options as users give them: those of `Setting.of`."""
        setting = Setting.of(log, **options)
        sources = [_source(each) for each in (target, baseline) if each is not None]
        judged = [setting.policy(each) for each in sources]
        open_to_any = any(each.ranks_all for each in (*sources, setting.given) if each is not None)
        idle = setting.candidates is not None and not open_to_any and not all(map(setting.is_logging, judged))
        mine = {each.name: getattr(setting, each.name) for each in fields(Setting)}
        return cls(**mine, target=judged[0], baseline=judged[1] if len(judged) > 1 else None, idle_candidates=idle)

    @property
    def judged(self) -> tuple[Policy, ...]:
        return (self.target,) if self.baseline is None else (self.target, self.baseline)

    @property
    def same(self) -> bool:
        """Whether the target is the logging policy itself."""
        return self.is_logging(self.target)

    @property
    def baseline_same(self) -> bool:
        return self.baseline is not None and self.is_logging(self.baseline)

    def evidences(self, run: Pass, needs: frozenset[Need]) -> list[Evidence]:
        """The evidence on each policy that is judged."""
        evidence = self.evidence(run, needs)
        return [evidence.judging(policy) for policy in self.judged]

    def said(self, evidence: Evidence) -> list[str]:
        """What to know of the policies and of what became of the options."""
        said = [*self.notes, *([IDLE_CANDIDATES] if self.idle_candidates else [])]
        if evidence.cut and not all(map(self.is_logging, self.judged)):
            said.append(f"propensities are of whole rankings, but `top={self.top}` cuts them: shares are used instead")
        return said


def _source(given: Any) -> Policy:
    return Uniform() if isinstance(given, str) and given == "uniform" else read_policy(given)
