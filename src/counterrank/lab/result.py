"""What a reproduction gives: tables, findings beside the paper's, pictures."""

from __future__ import annotations

from dataclasses import asdict, astuple, field, fields, replace
from typing import Any

from counterrank.log.reading import Reading
from counterrank.records import dataclass
from counterrank.result.answer import Answer


@dataclass(frozen=True)
class PaperTable:
    """A titled table for people."""

    title: str
    header: list[str]
    rows: list[list[str]]


@dataclass(frozen=True)
class PaperFinding:
    """A claim of the paper, and whether it holds on this data: `yes`, `no`, `in part` or `undecided`."""

    claim: str
    where: str
    holds: str
    measured: str
    paper: str = ""


@dataclass(frozen=True, repr=False, kw_only=True)
class Reproduction(Answer):
    """The numbers and pictures of one paper on the data at hand."""

    listed = "findings"
    paper: str
    tables: list[PaperTable]
    findings: list[PaperFinding]
    numbers: dict[str, Any]  # everything that the tables and pictures show, in full precision
    pictures: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    claims: str = "What the paper found, and whether it holds here"  # over the findings
    reading: Reading | None = None  # the rows of the data sets; None where all is simulated

    def to_dict(self) -> dict[str, Any]:
        rows = self.reading or Reading(rows=0, rejected=0)
        found = {"rows": rows.rows, "rejected": rows.rejected} | asdict(replace(self, reading=None))
        del found["reading"]
        return found

    def summary(self) -> str:
        return f"{self.paper}: {self.claims}"

    def cells(self) -> tuple[list[str], list[list[str]]]:
        """The findings."""
        return [f.name for f in fields(PaperFinding)], [list(astuple(finding)) for finding in self.findings]

    def remarks(self) -> list[str]:
        return [*self.notes, *([self.reading.line()] if self.reading is not None else [])]


def verdict(lower: float | None, upper: float | None) -> str:
    """Whether something that should be below 0 is, by its interval.

    >>> verdict(-0.2, -0.1), verdict(-0.1, 0.1), verdict(0.1, 0.2), verdict(None, None)
    ('yes', 'undecided', 'no', 'undecided')
    """
    if lower is None or upper is None:
        return "undecided"
    return "yes" if upper < 0 else "no" if lower > 0 else "undecided"
