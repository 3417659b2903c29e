"""The order as received, as a policy that a log can judge: what came differs from request to request."""

from __future__ import annotations

from typing import Any

MOST = 200_000  # different orders that are told apart


class Received:
    """Rows of a log, each under a name for its query and what came for it; `policy` has what came for each name.

    What came does not depend on what was drawn, so that impressions with the same are as good a sample of their own as
    those of a query are.
    """

    def __init__(self, most: int = MOST) -> None:
        self.most = most
        self.policy: dict[str, list[str]] = {}
        self.unknown = self.beyond = 0
        self._names: dict[tuple[str, ...], str] = {}
        self._numbers: dict[str, int] = {}  # of queries with several orders, how many names were made

    def __call__(self, row: dict[str, Any]) -> dict[str, Any] | None:
        """The row under its name; none where it is not known what came, or where too much did."""
        came = row["received"]
        if came is None:
            self.unknown += 1
            return None
        key = (row["query"], *came)
        name = self._names.get(key)
        if name is None:
            if len(self._names) >= self.most:
                self.beyond += 1
                return None
            name = self._names[key] = self._new(row["query"])
            self.policy[name] = came
        return {**row, "query": name}

    def _new(self, query: str) -> str:
        """A name that no other query and order has."""
        name = query
        while name in self.policy:
            self._numbers[query] = self._numbers.get(query, 1) + 1
            name = f"{query} ({self._numbers[query]})"
        return name

    @property
    def notes(self) -> list[str]:
        """What was left out, and how it was judged."""
        said = {
            f"{len(self.policy):,} queries are told apart by the items that came first: each is a query here": True,
            f"{self.unknown:,} impressions left out: from before the order as received was kept": self.unknown,
            f"{self.beyond:,} impressions left out: more than {self.most:,} different orders came": self.beyond,
        }
        return [note for note, holds in said.items() if holds]
