"""Rankings that were found, as a policy, as a table and as JSON."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from counterrank.ids import Codes, Ids
from counterrank.log import Reading
from counterrank.optimizing.holdout import HeldOut
from counterrank.policy import Table
from counterrank.records import dataclass
from counterrank.result.answer import Answer
from counterrank.screen import json_text, visible
from counterrank.words import counted, number

SHOWN = 10  # rankings in the table for people
WIDE = 48  # signs of a ranking there
_AT_ONCE = 1 << 14  # rankings that are put into words at a time


@dataclass(frozen=True, repr=False, kw_only=True)
class Optimization(Answer):
    """Rankings of queries, with what each is worth; `.policy` is what `evaluate` takes.

    A query has one ranking, or several with their probabilities: a row is a ranking. What only one way of finding them
    knows is in its own class.
    """

    listed = "rankings"
    by: str
    metric: str
    impressions: int
    covered: float
    positions: int
    query_ids: Ids
    item_ids: Ids
    queries: Codes  # (R,) the query of each row
    offsets: Codes  # (R+1,) where each ranking begins
    items: Codes  # item codes, ranking after ranking
    values: NDArray[np.float64]  # (R,) NaN where undefined
    reasons: list[str]
    reading: Reading
    notes: list[str] = field(default_factory=list)
    probability: NDArray[np.float64] | None = None  # (R,)
    holdout: HeldOut | None = None  # what it is worth on impressions that had no say in it

    @cached_property
    def policy(self) -> Table:
        """The rankings as a policy."""
        return Table(
            self.query_ids.texts.take(pa.array(self.queries)), self._lists(self.item_ids.texts), self.probability
        )

    def to_arrow(self) -> pa.Table:
        """Columns query, items, value and reason, and probability where rankings are drawn; ids as they came."""
        columns = {
            "query": self.query_ids.column().take(pa.array(self.queries)),
            "items": self._lists(self.item_ids.column()),
            **({} if self.probability is None else {"probability": pa.array(self.probability)}),
            "value": pa.array(self.values, mask=~np.isfinite(self.values)),
            "reason": pa.array(self.reasons, pa.string()),
        }
        return pa.table(columns)

    def policy_rows(self) -> pa.Table:
        """The rows of a policy file."""
        return self.to_arrow().select(["query", "items"] + (["probability"] if self.probability is not None else []))

    def details(self) -> dict[str, Any]:
        """What this way of finding rankings adds to the JSON."""
        return {}

    def row_details(self, row: int) -> dict[str, Any]:
        """What it adds to each ranking's."""
        return {"lower": None, "prior": None}

    def to_dict(self) -> dict[str, Any]:
        return self._dict(self._listed(0, len(self.values)))

    def json_parts(self) -> Iterator[str]:
        whole, empty = json_text(self._dict([])), '"rankings": []}'
        if not whole.endswith(empty):
            raise AssertionError("rankings come last")
        yield whole.removesuffix("]}")
        for first in range(0, len(self.values), _AT_ONCE):
            text = json_text(self._listed(first, min(first + _AT_ONCE, len(self.values))))
            yield (", " if first else "") + text[1:-1]
        yield "]}"

    def _listed(self, first: int, last: int) -> list[dict[str, Any]]:
        """What is said of rankings first to last."""
        return [
            {"query": query, "items": items, "value": value, **self.row_details(r), "reason": reason}
            | ({} if self.probability is None else {"probability": float(self.probability[r])})
            for r, (query, items, value, reason) in enumerate(self._rows(first, last), first)
        ]

    def _dict(self, rows: list[dict[str, Any]]) -> dict[str, Any]:
        common = {
            "by": self.by, "metric": self.metric, "impressions": self.impressions, "covered": self.covered,
            "positions": self.positions, "delta": None, "prior": None,
        }  # fmt: skip
        return (
            self.reading.to_dict()
            | common
            | self.details()
            | {
                "holdout": self.holdout.to_dict() if self.holdout is not None else None,
                "rankings": rows,
                "notes": self.notes,
            }
        )

    def how(self) -> str:
        """How rankings were found, at the end of the title."""
        return ""

    def summary(self) -> str:
        of = f"{counted(len(np.unique(self.queries)), 'query', 'queries')} ranked by {self.by}"
        return f"{of}: {self.metric} of {counted(self.impressions, 'impression')}{self.how()}"

    def cells(self) -> tuple[list[str], list[list[str]]]:
        """The first rankings, for people."""
        body = []
        for r, (query, items, value, reason) in enumerate(self._rows(0, min(SHOWN, len(self.values)))):
            chance = [] if self.probability is None else [number(float(self.probability[r]), 3)]
            body.append([_one_line(str(query)), _joined(items), *chance, number(value), reason])
        chance = [] if self.probability is None else ["chance"]
        return ["query", "ranking", *chance, "value", "reason"], body

    def remarks(self) -> list[str]:
        left = len(self.values) - SHOWN
        what = ("more query", "more queries") if self.probability is None else ("more ranking", "more rankings")
        return ([f"and {counted(left, *what)}"] if left > 0 else []) + [*self.notes, self.reading.line()]

    def _rows(self, first: int, last: int) -> list[tuple[Any, list[Any], float | None, str]]:
        queries = self.query_ids.native(self.queries[first:last])
        items = self.item_ids.native(self.items[self.offsets[first] : self.offsets[last]])
        ends = (self.offsets[first : last + 1] - self.offsets[first]).tolist()
        lists = [items[begin:end] for begin, end in pairwise(ends)]
        values = [float(v) if np.isfinite(v) else None for v in self.values[first:last]]
        return list(zip(queries, lists, values, self.reasons[first:last], strict=True))

    def _lists(self, ids: pa.Array) -> pa.Array:
        return pa.ListArray.from_arrays(pa.array(self.offsets, pa.int32()), ids.take(pa.array(self.items)))


def flat(rows: Codes, items: Codes) -> tuple[Codes, Codes]:
    """Rankings as (R, K) rows of pairs, -1 beyond the end: their offsets, and the items one after the other."""
    inside = rows >= 0
    return np.concatenate([[0], np.cumsum(inside.sum(axis=1))]), items[rows[inside]]


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
    text = visible(text)
    return text if len(text) <= WIDE else text[: WIDE - 1] + "…"
