"""Bad rows as their files have them, for messages and for the file that takes them."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Iterator
from functools import cached_property
from typing import Any

import pyarrow as pa

from counterrank.log.parts import Part
from counterrank.log.text import TextPart
from counterrank.records import dataclass

_HIDDEN = ("problem_", "row_", "file_", "impression_")
_SHOWN = 160  # characters of a row that a message repeats


@dataclass(frozen=True)
class Originals:
    """The rows of one part, asked for in rising order.

    A text file is read a second time as far as its last bad row, because what cannot be parsed is not in the batch.
    """

    part: Part

    def place(self, batch: pa.RecordBatch, i: int, before: int) -> tuple[str, int]:
        """The file of a batch's i-th row and its number there, from 1; `before` rows came in earlier batches."""
        if "row_" not in batch.schema.names:
            return self.part.name, before + 1 + i
        return batch.column("file_")[i].as_py(), batch.column("row_")[i].as_py()

    def content(self, batch: pa.RecordBatch, i: int, number: int) -> Any:
        """What stands in the row."""
        if isinstance(self.part, TextPart):
            try:
                for at, row in self._rows:
                    if at == number:
                        return row
            except (OSError, EOFError, ValueError, csv.Error):
                pass  # the batch has to do
        row = batch.slice(i, 1).to_pylist()[0]
        named = row.get("impression_")
        whose = {"impression": None if named is None else str(named)} if "impression_" in row else {}
        return whose | {name: value for name, value in row.items() if name not in _HIDDEN}

    @cached_property
    def _rows(self) -> Iterator[tuple[int, Any]]:
        assert isinstance(self.part, TextPart)  # noqa: S101
        return enumerate(self.part.content(), 1)


def as_json(record: Any) -> str:
    """One line of JSON, whatever is in it: numbers that JSON does not know are written as text."""
    return json.dumps(_finite(record), ensure_ascii=False, default=str, allow_nan=False)


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(k): _finite(v) for k, v in value.items()}
    if isinstance(value, list):
        return [_finite(v) for v in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def shown(content: Any) -> str:
    """A row for a message: on one line, and not long."""
    text = ", ".join(f"{k}={v!r}" for k, v in content.items()) if isinstance(content, dict) else repr(content)
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"
