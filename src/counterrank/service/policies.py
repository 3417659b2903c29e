"""Who ranks: the posterior, its lower bound, the order as received, or a policy directory."""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from counterrank.errors import InputError
from counterrank.policy import GenSpec, read_policy
from counterrank.policy.base import Policy
from counterrank.policy.directory import is_directory
from counterrank.policy.scorer import Scorer
from counterrank.service.bodies import Numbers, Refused, invalid
from counterrank.service.scoring import AS_GIVEN, BY_BOUND, BY_POSTERIOR
from counterrank.service.state import State

Scores = NDArray[np.float64]
NONE: Scores = np.zeros(0)
BUILT_IN = {"ebrank": BY_POSTERIOR, "pessimistic": BY_BOUND, "logging": AS_GIVEN}
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.\-]{0,200}")
REMEMBERED = 10_000  # queries whose ranking is remembered


class Ranks:
    """What the base order goes by: `by`, and scores of the candidates where those are given."""

    def __init__(self, name: str, by: int) -> None:
        self.name, self.by = name, by

    def scores(self, query: str, items: Sequence[str], own: Any, segment: str | None, state: State) -> Scores:
        return NONE if self.by != AS_GIVEN else np.arange(len(items), 0.0, -1.0)


class Directory(Ranks):
    """A policy directory, of which nothing is run. What it does not rank stays as received, below."""

    def __init__(self, name: str, policy: Policy) -> None:
        super().__init__(name, AS_GIVEN)
        self.policy = policy
        self._places: OrderedDict[tuple[str, str | None], dict[str, float]] = OrderedDict()
        self._segments: dict[str, Policy] = {}
        self._general = policy.general if isinstance(policy, GenSpec) and policy.active else None

    def scores(self, query: str, items: Sequence[str], own: Any, segment: str | None, state: State) -> Scores:
        received = np.arange(len(items), 0.0, -1.0)
        if isinstance(self.policy, Scorer):
            return _above(self._scored(self.policy, query, items, own, state), received)
        places = self._ranked(query, segment)
        found = np.array([places.get(item, np.nan) for item in items])
        if np.isnan(found).any() and isinstance(self._general, Scorer):
            received = _above(self._scored(self._general, query, items, own, state), received)
        return _above(found, received)

    def _scored(
        self, scorer: Scorer, query: str, items: Sequence[str], own: list[Numbers | None] | None, state: State
    ) -> Scores:
        """Scores by features; NaN where all of them are missing."""
        x = state.matrix(query, items, own or [None] * len(items), scorer.features)
        missing = np.isnan(x)
        mean = getattr(scorer, "mean", None)
        filled = np.where(missing, mean, x) if mean is not None else x
        with np.errstate(all="ignore"):
            found = np.asarray(scorer.score(filled), dtype=np.float64)
        return np.where(missing.all(axis=1) | ~np.isfinite(found), np.nan, found)

    def _ranked(self, query: str, segment: str | None) -> dict[str, float]:
        """Items that the policy ranks for a query, by height."""
        key = (query, segment)
        found = self._places.get(key)
        if found is None:
            try:
                listed = self._of(segment).rank(query)
            except InputError:  # it has no ranking for this query
                listed = []
            found = {item: float(len(listed) - place) for place, item in enumerate(listed)}
            self._places[key] = found
            if len(self._places) > REMEMBERED:
                self._places.popitem(last=False)
        return found

    def _of(self, segment: str | None) -> Policy:
        if segment is None or not isinstance(self.policy, GenSpec) or segment not in self.policy.segments():
            return self.policy
        if segment not in self._segments:
            self._segments[segment] = self.policy.segment(segment)
        return self._segments[segment]


def _above(found: Scores, received: Scores) -> Scores:
    """The found ones by their height, the others below, as received: heights are counted from the bottom, from 1."""
    lowest = np.where(np.isnan(found), -np.inf, found)
    order = np.lexsort((received, lowest))
    heights = np.empty(len(found))
    tied = np.unique(lowest[np.isfinite(lowest)], return_inverse=True)[1]
    heights[order] = np.arange(1.0, len(found) + 1)
    known = np.isfinite(lowest)
    heights[known] = len(found) + 1 + tied  # equal scores stay equal: then the order received decides
    return heights


class Policies:
    """The policies of a service, by name; directories lie below one folder."""

    def __init__(self, folder: str | None) -> None:
        self.folder = folder
        self._read: dict[str, Ranks] = {name: Ranks(name, by) for name, by in BUILT_IN.items()}

    def get(self, name: str) -> Ranks:
        """A policy that was found before; the order as received where it is not there any more."""
        return self._read.get(name) or self._read["logging"]

    def knows(self, name: str) -> bool:
        return name in self._read

    def find(self, name: str) -> Ranks:
        """A policy by its name, read anew: 422 for what is no name, 404 for what is not there."""
        if name in BUILT_IN:
            return self._read[name]
        if not _NAME.fullmatch(name) or ".." in name:
            raise invalid(f"{name[:80]!r} is no name of a policy: letters, digits, '.', '_' and '-'", "name")
        path = Path(self.folder) / name if self.folder is not None else None
        if path is None or not is_directory(path):
            raise Refused(404, "unknown_policy", f"there is no policy {name!r}: choose from {self._names()}", "name")
        try:
            self._read[name] = Directory(name, read_policy(path))
        except InputError as error:
            raise Refused(422, "invalid_policy", str(error).replace(str(path), name), "name") from None
        return self._read[name]

    def _names(self) -> str:
        below: list[str] = []
        if self.folder is not None and Path(self.folder).is_dir():
            below = sorted(each.name for each in Path(self.folder).iterdir() if is_directory(each))
        return ", ".join([*BUILT_IN, *below[:50]])
