"""What `learn` found: a policy, the gate's decisions, and how they came about."""

from __future__ import annotations

from dataclasses import asdict, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from counterrank.log import Reading
from counterrank.policy import GenSpec
from counterrank.policy.genspec import ACTS
from counterrank.records import dataclass
from counterrank.result.answer import Answer
from counterrank.words import counted, level, number, percent

SHOWN = 10  # queries in the table for people


@dataclass(frozen=True, kw_only=True)
class GeneralVerdict:
    """The general policy against the logging policy, on the selection part."""

    model: str
    active: bool
    difference: float | None
    lower: float | None
    upper: float | None
    clicks: int
    covariance: float | None = None  # of the two policies' estimates
    width_ratio: float | None = None  # of the relative bound to SEA's two

    def line(self) -> str:
        ends = f" ({number(self.lower)} … {number(self.upper)})" if self.lower is not None else ""
        who = "the general policy" + ("" if self.model == "given" else f" ({self.model})")
        what = "acts" if self.active else "does not act"
        return f"{who} {what}: {number(self.difference)}{ends} against logging, {counted(self.clicks, 'click')}"


@dataclass(frozen=True, repr=False, kw_only=True)
class Learning(Answer):
    """What was learnt: `policy` ranks, `gate` is a row per query, `save` writes a policy directory."""

    listed = "gate"
    impressions: int
    queries: int
    positions: int
    gate_kind: str
    confidence: float | None
    split: dict[str, int]
    general: GeneralVerdict | None
    special: dict[str, Any]
    served: dict[str, float]
    gate: pa.Table
    policy: GenSpec
    examination: dict[str, Any]
    weights: NDArray[np.float64]
    reading: Reading
    unit: str = "discounted clicks an impression"
    curve: list[dict[str, Any]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    call: str = ""
    log: str = ""

    def save(self, path: str | Path) -> Path:
        """Write a policy directory, whole; `cr.read_policy` reads it."""
        return self.policy.save(path)

    def report(self, path: str | Path, command: str | None = None) -> Path:
        """Write one HTML page with all that there is to say; `command` is shown as the way to get it again."""
        from counterrank.pages.learning import write_learning

        return write_learning(self, Path(path), command)

    def to_dict(self) -> dict[str, Any]:
        return {
            **self.reading.to_dict(),
            "impressions": self.impressions,
            "queries": self.queries,
            "positions": self.positions,
            "gate": self.gate_kind,
            "confidence": self.confidence,
            "split": self.split,
            "general": asdict(self.general) if self.general is not None else None,
            "special": self.special,
            "served": self.served,
            "examination": self.examination,
            "notes": self.notes,
        }

    def records(self) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = self.gate.to_pylist()
        return rows

    def to_arrow(self) -> pa.Table:
        return self.gate

    def headline(self) -> str:
        shares = [f"{name} {percent(self.served[name])}" for name in ACTS if self.served[name] > 0]
        return f"Who acts, by share of the impressions: {', '.join(shares)}"

    def summary(self) -> str:
        sure = f"at {level(self.confidence)}" if self.confidence is not None else "without any bound"
        of = f"{counted(self.impressions, 'impression')} of {counted(self.queries, 'query', 'queries')}"
        return f"{of}, gate {self.gate_kind} {sure}; gains in {self.unit}"

    def cells(self) -> tuple[list[str], list[list[str]]]:
        """The queries whose special policy gains most, then the others, by impressions."""
        segment = ["segment"] if "segment" in self.gate.column_names else []
        header = ["query", *segment, "impressions", "clicks", "gain", "lower", "upper", "acts", "reason"]
        body = []
        for row in self.gate.take(pa.array(self.order()[:SHOWN])).to_pylist():
            said = [str(row[name]) for name in ("query", *segment)]
            counts = [f"{row[name]:,}" for name in ("impressions", "clicks")]
            ends = [number(row[name]) for name in ("difference", "lower", "upper")]
            body.append([*said, *counts, *ends, row["acts"], row["reason"]])
        return header, body

    def order(self) -> NDArray[np.int64]:
        """Rows of the gate: where a special policy acts first, by impressions within."""
        acts = np.isin(np.array(self.gate["acts"].to_pylist(), dtype=object), ["special", "posterior"])
        return np.lexsort((-self.gate["impressions"].to_numpy(), ~acts))

    def remarks(self) -> list[str]:
        left = self.gate.num_rows - SHOWN
        kinds = {"tabular": "a special policy", "posterior": "a shrunk special policy", "both": "a special policy"}
        what = kinds[self.special["kind"]]
        acts = f"{what} acts for {self.special['active']:,} of {self.special['queries']:,} queries"
        return [
            *([f"and {counted(left, 'more row')}"] if left > 0 else []),
            *([self.general.line()] if self.general is not None else []),
            acts,
            *self.notes,
            self.reading.line(),
        ]
