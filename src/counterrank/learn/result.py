"""Rankings that were found, as a policy, as a table and as JSON."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from counterrank.evaluate.result import need, number
from counterrank.evaluate.tabular import Tabular
from counterrank.ids import Codes, Ids
from counterrank.learn.value import HeldOut
from counterrank.log.foreign import counted
from counterrank.policy import Table

SHOWN = 10  # rankings in the table for people
WIDE = 48  # signs of a ranking there


@dataclass(frozen=True, repr=False)
class Optimization(Tabular):
    """One ranking per query, with what it is predicted to be worth; `.policy` is what `evaluate` takes."""

    by: str
    model: str
    chosen: str
    r2: float | None
    metric: str
    impressions: int
    covered: float
    positions: int
    slots: str
    gains: list[float]
    held_out: HeldOut | None
    query_ids: Ids
    item_ids: Ids
    offsets: Codes  # (Q+1,) where each ranking begins
    items: Codes  # item codes, ranking after ranking
    values: NDArray[np.float64]  # (Q,)
    reasons: list[str]
    notes: list[str] = field(default_factory=list)

    @cached_property
    def policy(self) -> Table:
        """The rankings as a policy."""
        return Table(self.query_ids.texts, self._lists(self.item_ids.texts))

    def to_arrow(self) -> pa.Table:
        """Columns query, items, value and reason; ids as they came."""
        return pa.table(
            {
                "query": self.query_ids.column(),
                "items": self._lists(self.item_ids.column()),
                "value": pa.array(self.values),
                "reason": pa.array(self.reasons, pa.string()),
            }
        )

    def policy_rows(self) -> pa.Table:
        """The rows of a policy file."""
        return self.to_arrow().select(["query", "items"])

    def to_pandas(self) -> Any:
        return need("pandas") and self.to_arrow().to_pandas()

    def to_polars(self) -> Any:
        return need("polars").from_arrow(self.to_arrow())

    def to_dict(self) -> dict[str, Any]:
        return {
            "by": self.by,
            "model": self.model,
            "chosen": self.chosen,
            "r2": self.r2,
            "metric": self.metric,
            "impressions": self.impressions,
            "covered": self.covered,
            "positions": self.positions,
            "slots": self.slots,
            "gains": self.gains,
            "held_out": asdict(self.held_out) if self.held_out is not None else None,
            "delta": None,
            "prior": None,
            "rankings": [
                {"query": query, "items": items, "value": value, "lower": None, "prior": None, "reason": reason}
                for query, items, value, reason in self._rows(len(self.values))
            ],
            "notes": self.notes,
        }

    def to_json(self) -> str:
        return json.dumps(self.to_dict(), ensure_ascii=False, allow_nan=False)

    def summary(self) -> str:
        of = f"{counted(len(self.values), 'query', 'queries')} ranked by {self.by}"
        return f"{of}: {self.metric} of {counted(self.impressions, 'impression')}, {self.model} ({self.chosen})"

    def cells(self) -> tuple[list[str], list[list[str]]]:
        """The first rankings, for people."""
        body = [
            [_one_line(str(query)), _joined(items), number(value), reason]
            for query, items, value, reason in self._rows(min(SHOWN, len(self.values)))
        ]
        return ["query", "ranking", "value", "reason"], body

    def remarks(self) -> list[str]:
        left = len(self.values) - SHOWN
        return ([f"and {counted(left, 'more query', 'more queries')}"] if left > 0 else []) + self.notes

    def _rows(self, size: int) -> list[tuple[Any, list[Any], float, str]]:
        queries = self.query_ids.native(np.arange(size))
        items = self.item_ids.native(self.items[: self.offsets[size]])
        ends = self.offsets.tolist()
        return [(queries[q], items[ends[q] : ends[q + 1]], float(self.values[q]), self.reasons[q]) for q in range(size)]

    def _lists(self, ids: pa.Array) -> pa.Array:
        return pa.ListArray.from_arrays(pa.array(self.offsets, pa.int32()), ids.take(pa.array(self.items)))


def _joined(items: list[Any]) -> str:
    """The items of a ranking, as many as fit."""
    out = ""
    for item in items:
        longer = f"{out}, {_one_line(str(item))}" if out else _one_line(str(item))
        if len(longer) > WIDE - 3 and out:
            return out + ", …"
        out = longer
    return out


def _one_line(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= WIDE else text[: WIDE - 1] + "…"
