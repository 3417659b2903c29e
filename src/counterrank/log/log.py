"""A click log: where its rows are, and how to read them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TextIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from counterrank.errors import InputError
from counterrank.log.keys import text_keys
from counterrank.log.originals import Originals, as_json, shown
from counterrank.log.parts import Part
from counterrank.log.prefetch import prefetched
from counterrank.log.problems import MESSAGES, Problem, Tally
from counterrank.log.rows import Kinds, Rows, read_rows
from counterrank.log.schema import source


@dataclass
class Log:
    """Impressions in list form, read as often as they are asked for, never all in memory.

    `found[i]` says where part i has each of our columns. Rows that are not as they must be stop the reading with
    their file and number, or go to `bad_rows`, a JSON Lines file, and are counted.
    """

    name: str
    parts: Sequence[Part]
    found: Sequence[dict[str, str]]
    notes: list[str] = field(default_factory=list)
    bad_rows: Path | None = None
    table: Any = None  # an Ibis expression, where the log lives in a database of its own
    rejected: int = 0
    by_day: bool = False
    tally: Tally | None = None  # count bad rows and go on, for a check
    also: tuple[str, ...] = ()  # columns to read and check though nothing asks for them

    def daily(self) -> Log:
        """The same log with each day of a query as a query of its own, named so that `split_day` tells them apart."""
        if "day" not in self.columns:
            raise InputError(
                f"{self.name}: column 'day' is missing: give each row its day, or its name with --columns day=NAME"
            )
        return replace(self, by_day=True)

    @property
    def columns(self) -> frozenset[str]:
        """Which of our columns every part has."""
        return frozenset.intersection(*(frozenset(f) for f in self.found))

    def kinds(self) -> Kinds:
        queries, items = [], []
        for part, found in zip(self.parts, self.found, strict=True):
            types = part.types({c: found[c] for c in ("query", "items")})
            queries.append(_integer(types["query"]))
            items.append(_integer(_value_type(types["items"])))
        binary = not any(part.textual for part in self.parts)
        integer = all(queries) and not self.by_day
        return Kinds(binary and integer, binary and all(items), integer, all(items))

    def rows(self, columns: Sequence[str]) -> Iterator[Rows]:
        """Checked rows with these columns (`query` and `items` come always)."""
        kinds = self.kinds()
        wanted = [
            c for c in ("query", "items", *columns, *self.also) if source(c) in self.columns or c in ("query", "items")
        ]
        wanted += ["day"] if self.by_day else []
        self.rejected = 0
        reject = _opened(self.bad_rows) if self.bad_rows else None
        seen = 0
        try:
            for part, found in zip(self.parts, self.found, strict=True):
                before = 0
                originals = Originals(part)
                batches = part.batches({c: found[source(c)] for c in dict.fromkeys(wanted)})
                decoded = ((b, *read_rows(b, kinds, part.name)) for b in batches if len(b))
                for batch, rows, problem in prefetched(decoded):
                    if problem.any():
                        rows = self._set_aside(batch, problem, kinds, originals, before, reject)
                    if self.tally is not None:
                        _look(rows, self.tally)
                    before += len(batch)
                    seen += len(rows)
                    if len(rows):
                        yield _daily(rows) if self.by_day else rows
        finally:
            if reject:
                reject.close()
        if seen == 0:
            why = f"all its {self.rejected} rows were set aside as bad" if self.rejected else "it has no rows"
            raise InputError(f"{self.name}: the log is empty: {why}. Give one with at least one good row")

    def _set_aside(
        self,
        batch: pa.RecordBatch,
        problem: Any,
        kinds: Kinds,
        originals: Originals,
        before: int,
        reject: TextIO | None,
    ) -> Rows:
        """The good rows of a batch; its bad ones are counted, written down, or the end of the run."""
        for i in np.flatnonzero(problem):
            file, number = originals.place(batch, int(i), before)
            if self.tally is not None:
                self.tally.add(file, problem[i], number)
            elif reject is None:
                raise InputError(
                    f"{file}: row {number}: {MESSAGES[Problem(problem[i])]} "
                    f"({shown(originals.content(batch, int(i), number))}). "
                    "Mend it, or set bad rows aside with --bad-rows FILE.jsonl"
                )
            if reject is not None:
                content = originals.content(batch, int(i), number)
                record = {"file": file, "row": number, "problem": MESSAGES[Problem(problem[i])], "content": content}
                reject.write(as_json(record) + "\n")
        self.rejected += int(np.count_nonzero(problem))
        rows, _ = read_rows(batch.filter(pa.array(problem == 0)), kinds, originals.part.name)
        return rows


SEPARATOR = "\x1f"


def _opened(path: Path) -> TextIO:
    try:
        return path.open("w", encoding="utf-8")
    except OSError as error:
        raise InputError(f"--bad-rows {path}: cannot be written ({error.strerror}): give another path") from None


def _daily(rows: Rows) -> Rows:
    assert rows.day is not None  # noqa: S101 - asked for above
    days = pa.array(rows.day).cast(pa.string())
    names = pc.binary_join_element_wise(rows.query_values, days, SEPARATOR)
    return replace(rows, query_values=names, query_keys=text_keys(names))


def _look(rows: Rows, tally: Tally) -> None:
    if rows.day is not None:
        tally.days.update(np.unique(rows.day).tolist())
    if rows.reward is not None:
        tally.reward[0] += float(rows.reward @ rows.impressions)
        tally.reward[1] += float(rows.impressions.sum())


def split_day(names: pa.Array) -> tuple[pa.Array, NDArray[np.int64]]:
    """The query and the day of each name that `daily` made."""
    texts = names.to_pylist()
    halves = [text.rpartition(SEPARATOR) for text in texts]
    return pa.array([h[0] for h in halves], pa.string()), np.array([int(h[2]) for h in halves], dtype=np.int64)


def _integer(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind)) and kind != pa.uint64()


def _value_type(kind: pa.DataType) -> pa.DataType:
    return kind.value_type if hasattr(kind, "value_type") else kind
