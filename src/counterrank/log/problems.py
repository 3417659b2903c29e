"""What can be wrong with a row, in words."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

SHOWN_ROWS = 5


class Problem(IntEnum):
    """A row's first problem; 0 is none."""

    NONE = 0
    QUERY = 1
    ITEMS = 2
    ITEM = 3
    REPEATED = 4
    CLICKS = 5
    LENGTH = 6
    CLICK = 7
    REWARD = 8
    PROPENSITY = 9
    IMPRESSIONS = 10
    DAY = 11
    POSITIONS = 12
    DIFFERS = 13
    IMPRESSION = 14


MESSAGES: dict[Problem, str] = {
    Problem.QUERY: "query is missing (or the line could not be parsed)",
    Problem.ITEMS: 'items is missing, empty or not a list: expected the shown items in order, e.g. ["a", "b"]',
    Problem.ITEM: "an item is missing (null) in items",
    Problem.REPEATED: "an item is repeated in items: a ranking shows each item once",
    Problem.CLICKS: "clicks is missing or not a list of 0 and 1",
    Problem.LENGTH: "clicks is not as long as items",
    Problem.CLICK: "a click is neither 0 nor 1",
    Problem.REWARD: "reward is missing, NaN or infinite: expected a number",
    Problem.PROPENSITY: "propensity is not a number in (0, 1]",
    Problem.IMPRESSIONS: "impressions is not a positive whole number below 2^53",
    Problem.DAY: "day is missing or is not an integer, date or timestamp",
    Problem.POSITIONS: "the positions of this impression are not 1, 2, 3, … without gaps or repeats",
    Problem.DIFFERS: "the rows of this impression differ in query, reward, day, propensity or impressions",
    Problem.IMPRESSION: "impression is missing",
}


@dataclass
class Tally:
    """Bad rows counted by problem, with where the first stand; and what a check wants to know of the good ones."""

    counts: dict[tuple[str, Problem], int] = field(default_factory=dict)
    first: dict[tuple[str, Problem], list[int]] = field(default_factory=dict)
    days: set[int] = field(default_factory=set)
    reward: list[float] = field(default_factory=lambda: [0.0, 0.0])  # Σ reward·impressions, Σ impressions

    def add(self, part: str, problem: int, row: int) -> None:
        key = part, Problem(problem)
        self.counts[key] = self.counts.get(key, 0) + 1
        rows = self.first.setdefault(key, [])
        if len(rows) < SHOWN_ROWS:
            rows.append(row)

    def count(self, part: str, problem: int, rows: int) -> None:
        """Bad rows whose numbers are not known."""
        key = part, Problem(problem)
        self.counts[key] = self.counts.get(key, 0) + rows
        self.first.setdefault(key, [])

    @property
    def total(self) -> int:
        return sum(self.counts.values())

    def mean_reward(self) -> float | None:
        return self.reward[0] / self.reward[1] if self.reward[1] else None

    def rows(self) -> list[dict[str, Any]]:
        """Most frequent first."""
        out = []
        for (part, problem), count in sorted(self.counts.items(), key=lambda pair: -pair[1]):
            rows = self.first[part, problem]
            numbers = ", ".join(map(str, rows)) + (", …" if count > SHOWN_ROWS else "")
            out.append(
                {
                    "problem": MESSAGES[problem],
                    "count": count,
                    "file": part,
                    "rows": rows,
                    "where": f"{part}: row{'s' if count > 1 else ''} {numbers}" if rows else part,
                }
            )
        return out
