"""Tables, plain or to be sorted and searched."""

from __future__ import annotations

import math
from collections.abc import Sequence

from counterrank.records import dataclass
from counterrank.report.markup import Child, Markup, element


@dataclass(frozen=True)
class Column:
    """A heading; numbers stand right and sort as numbers."""

    name: str
    number: bool = True


@dataclass(frozen=True)
class Cell:
    """What is shown, and the number it sorts by."""

    shown: Child
    value: float | None = None
    class_: str | None = None


def table(caption: str, columns: Sequence[Column], rows: Sequence[Sequence[Cell]], *, tools: bool = False) -> Markup:
    """A table whose first column names the rows; `tools`: it can be sorted and searched where scripts run."""
    head = element("tr", [_heading(column) for column in columns])
    body = [
        element("tr", [_cell(c, column, i == 0) for i, (c, column) in enumerate(zip(row, columns, strict=True))])
        for row in rows
    ]
    made = element(
        "div",
        element("table", element("caption", caption, class_="unseen"), element("thead", head), element("tbody", body)),
        class_="wide",
        tabindex=0,
        role="region",
        aria_label=caption,
    )
    if not tools:
        return made
    bar = element(
        "p",
        element("label", "Search ", element("input", type="search", autocomplete="off", spellcheck="false")),
        element("output", f"{len(rows):,} rows", aria_live="polite"),
        class_="tools",
        hidden=True,
    )
    return element("div", bar, made, class_="sortable")


def _heading(column: Column) -> Markup:
    return element("th", column.name, scope="col", class_="number" if column.number else None)


def _cell(cell: Cell, column: Column, first: bool) -> Markup:
    known = cell.value is not None and math.isfinite(cell.value)
    value = repr(float(cell.value)) if known and cell.value is not None else "" if column.number else None
    names = " ".join(name for name in ("number" if column.number else "", cell.class_ or "") if name) or None
    if first:
        return element("th", cell.shown, scope="row", data_v=value, class_=names)
    return element("td", cell.shown, data_v=value, class_=names)
