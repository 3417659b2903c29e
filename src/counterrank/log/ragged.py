"""CSV rows that are not as long as the header: DuckDB stops at them, so here the rows are read one by one."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, NamedTuple

import pyarrow as pa

from counterrank.errors import InputError
from counterrank.log import parts
from counterrank.log.problems import RowProblem


class RaggedRow(NamedTuple):
    """A row's values as far as they can be told, whether something is wrong with it, and its text."""

    values: list[str]
    wrong: bool
    text: str


def rows(lines: Iterable[str], width: int, delimiter: str, name: str) -> Iterator[RaggedRow]:
    """The rows below the header of a CSV file with so many columns. Blank lines are none, as DuckDB has it."""
    seen: list[str] = []
    read = csv.reader(_kept(lines, seen), strict=True, delimiter=delimiter)
    next(read, None)
    while True:
        seen.clear()
        values: list[str] = []
        wrong = False
        try:
            values = next(read)
        except StopIteration:
            return
        except UnicodeDecodeError:
            raise InputError(f"{name}: the text is not UTF-8: save it as UTF-8") from None
        except csv.Error as error:
            if str(error) == "unexpected end of data":
                shown = seen[0].rstrip()[:80] if seen else ""
                raise InputError(f"{name}: a quote is opened and never closed in {shown!r}: mend the file") from None
            wrong = True
        if len(values) == width + 1 and values[-1] == "":
            values.pop()  # a comma at the end of the line
        if values or wrong or width == 1:
            yield RaggedRow(values, wrong or len(values) != max(width, 1), "".join(seen).rstrip("\r\n"))


def tables(found: Iterator[RaggedRow], width: int, skip: int = 0) -> Iterator[pa.Table]:
    """Rows from the one after `skip` on as text columns c0, c1, …, with what is wrong as `problem_`."""
    left = islice(found, skip, None)
    while chunk := list(islice(left, parts.BATCH_ROWS)):
        padded = [[*row.values, *[""] * width][:width] for row in chunk]
        columns: dict[str, Any] = {
            f"c{i}": pa.array([value or None for value in column], pa.string())
            for i, column in enumerate(zip(*padded, strict=True))
        }
        problem = [RowProblem.RAGGED if row.wrong else RowProblem.NONE for row in chunk]
        yield pa.table(columns | {"problem_": pa.array(problem, pa.int8())})


def _kept(lines: Iterable[str], seen: list[str]) -> Iterator[str]:
    """The same lines, each remembered."""
    for line in lines:
        seen.append(line)
        yield line
