"""What is asked of a simulation of sessions, checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from counterrank.errors import InputError, unknown
from counterrank.online import RANKERS
from counterrank.online.ranker import BEHAVIOURS, EVIDENCE
from counterrank.records import dataclass
from counterrank.regress import PRIOR_MODELS
from counterrank.simulate.sessions.corpus import Corpus, Vector

EXAMINATIONS = ("log", "reciprocal")
MOST_SESSIONS = 10**9
Exploration = float | str | Mapping[str, float | str] | None


@dataclass(frozen=True, kw_only=True)
class Asked:
    """The settings of a simulation; see `simulate_sessions`."""

    rankers: Sequence[str]
    sessions: int | str = "auto"
    behaviour: Sequence[str] = ("none",)
    exploration: Exploration = None
    evidence: str = "ips"
    beta: float | str = 5.0
    prior_model: str = "linear"
    arrival: float = 1.0
    start: tuple[int, int] = (5, 10)
    warmup: int = 20
    warmup_feature: int | str | None = None
    show: int = 5
    retrain: int = 20
    examination: str | Sequence[float] = "log"
    discount: float = 0.995
    split: tuple[float, float, float] = (0.6, 0.2, 0.2)
    trials: int = 5
    seed: int = 0
    new_share: float | None = None
    new_below: int = 20

    def checked(self) -> Asked:
        """The same, or one line on what cannot be."""
        _names("ranker", self.rankers, RANKERS)
        _names("behaviour", self.behaviour, BEHAVIOURS)
        _names("evidence", [self.evidence], EVIDENCE)
        _names("prior model", [self.prior_model], PRIOR_MODELS)
        least = {"warmup": 0, "show": 1, "retrain": 1, "trials": 1, "seed": 0, "new_below": 0}
        for name, low in least.items():
            value = getattr(self, name)
            if not low <= value <= MOST_SESSIONS:
                raise InputError(f"`{name}` is {value}: give a whole number from {low} to {MOST_SESSIONS:,}")
        if self.show > 1000:
            raise InputError(f"`show` is {self.show}: a page has at most 1000 places here")
        if isinstance(self.sessions, str) != (self.sessions == "auto") or (
            not isinstance(self.sessions, str) and not 1 <= self.sessions <= MOST_SESSIONS
        ):
            raise InputError(f"`sessions` is {self.sessions}: give auto, or a number from 1 to {MOST_SESSIONS:,}")
        self._shares()
        self._beta()
        return self

    def _shares(self) -> None:
        for name, low in {"arrival": 0.0, "discount": 0.0, "new_share": 0.0}.items():
            value = getattr(self, name)
            if value is not None and not low <= value <= 1.0:
                raise InputError(f"`{name}` is {value:g}: give a number from 0 to 1")
        if len(self.split) != 3 or not all(0 <= each <= 1 for each in self.split) or not sum(self.split) > 0:
            raise InputError("`split` is three shares for training, validation and test queries, such as 0.6,0.2,0.2")
        if self.split[2] <= 0:
            raise InputError("`split` leaves no test queries, on which all is measured: give their share above 0")
        low, high = self.start
        if not 1 <= low <= high:
            raise InputError(f"`start` is {low},{high}: give two whole numbers from 1 up, the smaller first")

    def _beta(self) -> None:
        if isinstance(self.beta, str):
            if self.beta != "learnt":
                raise InputError(f"`beta` is {self.beta!r}: give a number above 0, or learnt")
        elif not 0 < self.beta <= 1e6:
            raise InputError(f"`beta` is {self.beta:g}: give a number above 0, or learnt")

    def curve(self) -> Vector:
        """The examination of each place of a page."""
        places = np.arange(1, self.show + 1)
        if isinstance(self.examination, str):
            _names("examination", [self.examination], [*EXAMINATIONS, "or numbers such as 1,0.7"])
            return np.asarray(1 / np.log2(places + 1) if self.examination == "log" else 1 / places)
        given = np.asarray(self.examination, dtype=np.float64)
        if len(given) < self.show or not ((given > 0) & (given <= 1)).all():
            raise InputError(f"`examination` must be {self.show} numbers above 0 and up to 1, one for each place shown")
        if (np.diff(given) > 0).any():
            raise InputError("`examination` rises with the position: rankings are sorted on the promise that it falls")
        return given[: self.show]

    def sessions_on(self, corpus: Corpus) -> int:
        return corpus.automatic(self.arrival) if isinstance(self.sessions, str) else int(self.sessions)

    def explorations(self) -> dict[str, float | str | None]:
        """By ranker: a number, `tune`, or none for its own default."""
        given = self.exploration
        if isinstance(given, Mapping):
            _names("ranker", list(given), RANKERS)
            return {name: _weight(given.get(name)) for name in self.rankers}
        return {name: _weight(given) for name in self.rankers}


def _weight(value: Any) -> float | str | None:
    if value is None or value == "tune":
        return value  # type: ignore[no-any-return]
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = np.nan
    if not 0 <= number <= 1e9:
        raise InputError(f"`exploration` is {value}: give a number from 0 up, tune, or both by ranker: ebrank=20")
    return number


def _names(kind: str, given: Sequence[str], known: Any) -> None:
    if not given:
        raise InputError(f"no {kind} was given: choose from {', '.join(known)}")
    for each in given:
        if each not in known:
            raise unknown(kind, each, known)
