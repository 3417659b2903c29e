"""What a pass over a log read: how many rows it used, how many it set aside and why, and what was repaired."""

from __future__ import annotations

from dataclasses import field, replace
from pathlib import Path
from typing import Any

from counterrank.log.problems import MESSAGES, RowProblem
from counterrank.records import dataclass

SHOWN_ROWS = 5


@dataclass(frozen=True)
class Wrong:
    """Bad rows of one file with the same problem."""

    file: str
    problem: RowProblem
    count: int
    first: tuple[int, ...] = ()  # the numbers of the first ones, from 1; none where they are not known

    def to_dict(self) -> dict[str, Any]:
        numbers = ", ".join(map(str, self.first)) + (", …" if self.count > SHOWN_ROWS else "")
        return {
            "problem": MESSAGES[self.problem],
            "count": self.count,
            "file": self.file,
            "rows": list(self.first),
            "where": f"{self.file}: row{'s' if self.count > 1 else ''} {numbers}" if self.first else self.file,
        }


@dataclass(frozen=True, kw_only=True)
class Reading:
    """`rows` good rows were used and `rejected` bad ones were not; in the long form a row is an impression.

    >>> Reading(rows=12_345, rejected=7, bad_rows=Path("q.jsonl")).line()
    '12,345 rows read, 7 set aside in q.jsonl'
    """

    rows: int
    rejected: int
    notes: tuple[str, ...] = ()  # repairs, and files that were left out
    wrong: tuple[Wrong, ...] = ()  # most frequent first
    bad_rows: Path | None = None  # the file that took the bad rows
    days: int | None = None  # how many different days, where the plan asked for an overview
    mean_reward: float | None = None  # likewise

    def to_dict(self) -> dict[str, Any]:
        """As in the JSON of every command that reads a log."""
        return {"rows": self.rows, "rejected": self.rejected, "notes": list(self.notes)}

    def line(self) -> str:
        """The counts in words."""
        read = f"{self.rows:,} {'row' if self.rows == 1 else 'rows'} read"
        if self.bad_rows is not None:
            return f"{read}, {self.rejected:,} set aside in {self.bad_rows}"
        if not self.rejected:
            return f"{read}, none set aside"
        return f"{read}, {self.rejected:,} bad {'row' if self.rejected == 1 else 'rows'} left out"

    def __add__(self, other: Reading) -> Reading:
        """Of two logs that one command reads; what is said of both is said once."""
        notes = tuple(dict.fromkeys((*self.notes, *other.notes)))
        both = replace(self, rows=self.rows + other.rows, rejected=self.rejected + other.rejected, notes=notes)
        return replace(both, wrong=self.wrong + other.wrong, bad_rows=self.bad_rows or other.bad_rows)


@dataclass(kw_only=True)
class Tally:
    """What a pass counts while it goes on."""

    rows: int = 0
    rejected: int = 0
    counts: dict[tuple[str, RowProblem], int] = field(default_factory=dict)
    first: dict[tuple[str, RowProblem], list[int]] = field(default_factory=dict)
    timed: int = 0  # good rows whose day was told as a time since 1970
    repaired: int = 0  # good rows that repeated an item
    days: set[int] | None = None
    reward: list[float] = field(default_factory=lambda: [0.0, 0.0])  # Σ reward·impressions, Σ impressions

    def add(self, file: str, problem: RowProblem, rows: int = 1, number: int | None = None) -> None:
        """Bad rows; `number` tells which row of the file it is."""
        key = file, problem
        self.rejected += rows
        self.counts[key] = self.counts.get(key, 0) + rows
        first = self.first.setdefault(key, [])
        if number is not None and len(first) < SHOWN_ROWS:
            first.append(number)

    def reading(self, notes: tuple[str, ...], bad_rows: Path | None) -> Reading:
        notes += self._repairs()
        order = sorted(self.counts, key=lambda key: -self.counts[key])
        wrong = tuple(Wrong(*key, self.counts[key], tuple(self.first[key])) for key in order)
        mean = self.reward[0] / self.reward[1] if self.reward[1] else None
        days = None if self.days is None else len(self.days)
        return Reading(
            rows=self.rows,
            rejected=self.rejected,
            notes=notes,
            wrong=wrong,
            bad_rows=bad_rows,
            days=days,
            mean_reward=mean,
        )

    def _repairs(self) -> tuple[str, ...]:
        timed, repaired = (f"{n:,} {'row' if n == 1 else 'rows'}" for n in (self.timed, self.repaired))
        found = {
            f"the day of {timed} is a time since 1970 (10^8 or more, in seconds, milli-, micro- or nanoseconds by its "
            "size): taken to its day in UTC": self.timed,
            f"{repaired} repeated an item: it keeps its first place, where a click on a later place counts": (
                self.repaired
            ),
        }
        return tuple(note for note, rows in found.items() if rows)
