"""What `learn` is asked for, checked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from counterrank.errors import InputError, unknown
from counterrank.learning.models import MODELS
from counterrank.learning.verdicts import GATES
from counterrank.policy import Policy, Uniform, read_policy
from counterrank.records import dataclass
from counterrank.setting.options import check_confidence
from counterrank.setting.setting import Setting

SPECIALS = ("tabular", "posterior", "both")
NONE = "none"  # no bound at all
LARGEST_SEED = 2**63 - 1


@dataclass(frozen=True, kw_only=True)
class How:
    """How policies are learnt and let through."""

    gate: str
    confidence: float | None  # None: no bound
    special: str
    model: str
    selection_share: float
    validation_share: float
    seed: int

    @classmethod
    def of(
        cls,
        *,
        gate: str,
        confidence: float | str | None,
        special: str,
        model: str,
        selection_share: float,
        validation_share: float,
        seed: int,
    ) -> How:
        """From options as users give them."""
        for name, value, choices in (("gate", gate, GATES), ("special", special, SPECIALS), ("model", model, MODELS)):
            if value not in choices:
                raise unknown(name, value, choices)
        if not isinstance(seed, int) or not 0 <= seed <= LARGEST_SEED:
            raise InputError(f"`seed` is {seed!r}: expected a whole number from 0 to 2^63 - 1")
        return cls(
            gate=gate,
            confidence=confidence_of(confidence),
            special=special,
            model=model,
            selection_share=share_of_rows(selection_share, "selection_share"),
            validation_share=share_of_rows(validation_share, "validation_share", least=True),
            seed=seed,
        )

    @property
    def candidates(self) -> tuple[str, ...]:
        """The special policies that are tested for each query."""
        return ("tabular", "posterior") if self.special == "both" else (self.special,)

    @property
    def each(self) -> float | None:
        """The confidence of each test of a query: two candidates share the error."""
        if self.confidence is None:
            return None
        return 1 - (1 - self.confidence) / len(self.candidates)


def confidence_of(given: float | str | None) -> float | None:
    if given is None or given == NONE:
        return None
    try:
        value = float(given)
    except (TypeError, ValueError):
        raise InputError(f"`confidence` is {given!r}: expected a number between 0 and 1, e.g. 0.95, or none") from None
    return check_confidence(value)


def share_of_rows(given: Any, name: str, least: bool = False) -> float:
    try:
        share = float(given)
    except (TypeError, ValueError):
        share = -1.0
    if not (0 <= share < 1 if least else 0 < share < 1):
        zero = "0 or more and below 1" if least else "between 0 and 1"
        raise InputError(f"`{name}` is {given!r}: expected a share {zero}")
    return share


@dataclass(frozen=True, kw_only=True)
class LearnSetting(Setting):
    """A setting whose policies name items that the log may never show."""

    naming: tuple[Policy, ...] = ()

    @property
    def judged(self) -> tuple[Policy, ...]:
        return self.naming


def read_general(given: Any) -> Policy:
    """The user's own ranker."""
    policy = Uniform() if isinstance(given, str) and given == "uniform" else read_policy(given)
    known = policy.queries()
    if known is not None and len(known) == 0:
        raise InputError("`general` scores features: give it a table of them, or train one with `features`")
    return policy


def check_logging(given: Any) -> Any:
    """Shares of the log unless a policy is given. A learner asks for the chance of each item at every position, over
    the whole log; propensities are of what was shown, where it was."""
    if isinstance(given, str) and given == "propensity":
        raise InputError(
            "`logging` is propensity, which tells of pages as they were shown: what is learnt needs each item's chance "
            "at every position: give log, uniform or a policy"
        )
    return "log" if given is None else given


Numbers = str | Sequence[float]
