"""What a reproduction gives: tables, findings beside the paper's, pictures."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from counterrank.screen import json_text


@dataclass(frozen=True)
class Table:
    """A titled table for people."""

    title: str
    header: list[str]
    rows: list[list[str]]


@dataclass(frozen=True)
class Finding:
    """A claim of the paper, and whether it holds on this data: `yes`, `no`, `in part` or `undecided`."""

    claim: str
    where: str
    holds: str
    measured: str
    paper: str = ""


@dataclass(frozen=True)
class Reproduction:
    """The numbers and pictures of one paper on the data at hand."""

    paper: str
    tables: list[Table]
    findings: list[Finding]
    numbers: dict[str, Any]  # everything that the tables and pictures show, in full precision
    pictures: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    claims: str = "What the paper found, and whether it holds here"  # over the findings

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    def to_json(self) -> str:
        return json_text(self.to_dict())


def verdict(lower: float | None, upper: float | None) -> str:
    """Whether something that should be below 0 is, by its interval.

    >>> verdict(-0.2, -0.1), verdict(-0.1, 0.1), verdict(0.1, 0.2), verdict(None, None)
    ('yes', 'undecided', 'no', 'undecided')
    """
    if lower is None or upper is None:
        return "undecided"
    return "yes" if upper < 0 else "no" if lower > 0 else "undecided"
