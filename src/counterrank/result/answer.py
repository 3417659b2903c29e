"""What every result can do: print as a table, render in a notebook, and give itself as JSON and as tables of data."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any, ClassVar

import pyarrow as pa

from counterrank.errors import NotInstalled
from counterrank.screen import json_text, visible


class Answer(ABC):
    """A summary, a table whose first column is text, remarks below it, and the same as data; ids come as they are.

    One that reads a log has a `reading`, whose counts and notes are in its JSON.
    """

    listed: ClassVar[str]  # which rows of `to_dict` are its table

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """As in JSON."""

    @abstractmethod
    def summary(self) -> str: ...

    @abstractmethod
    def cells(self) -> tuple[list[str], list[list[str]]]:
        """The table for people: header and rows."""

    @abstractmethod
    def remarks(self) -> list[str]:
        """What to say below the table."""

    def headline(self) -> str | None:
        """The decision, in one sentence that comes before all else; None where there is nothing to decide."""
        return None

    def quiet(self) -> list[str]:
        """What is left out of the table since it says nothing, in a line or two."""
        return []

    def to_json(self) -> str:
        return "".join(self.json_parts())

    def json_parts(self) -> Iterator[str]:
        """The JSON bit by bit, for answers that are long."""
        yield json_text(self.to_dict())

    def records(self) -> list[dict[str, Any]]:
        """The rows of its table."""
        rows: list[dict[str, Any]] = self.to_dict()[self.listed]
        return rows

    def to_arrow(self) -> pa.Table:
        rows = self.records()
        every = dict.fromkeys(name for row in rows for name in row)
        return pa.Table.from_pylist([{name: row.get(name) for name in every} for row in rows])

    def to_pandas(self) -> Any:
        return _need("pandas") and self.to_arrow().to_pandas()

    def to_polars(self) -> Any:
        return _need("polars").from_arrow(self.to_arrow())

    def __repr__(self) -> str:
        summary, header, body, remarks = self._visible()
        first = [visible(text)] if (text := self.headline()) is not None else []
        widths = [max(len(r[i]) for r in [header, *body]) for i in range(len(header))]
        lines = [
            "  ".join(c.ljust(w) if i == 0 else c.rjust(w) for i, (c, w) in enumerate(zip(r, widths, strict=True)))
            for r in [header, *body]
        ]
        return "\n".join([*first, summary, *lines, *map(visible, self.quiet()), *remarks])

    def _repr_html_(self) -> str:
        import html

        summary, header, body, remarks = self._visible()
        head = "".join(f"<th>{html.escape(c)}</th>" for c in header)
        rows = "".join("<tr>" + "".join(f"<td>{html.escape(c)}</td>" for c in row) + "</tr>" for row in body)
        said = "".join(f"<li>{html.escape(text)}</li>" for text in [*map(visible, self.quiet()), *remarks])
        text = self.headline()
        first = f"<p><strong>{html.escape(visible(text))}</strong></p>" if text is not None else ""
        return first + (
            f"<table><caption>{html.escape(summary)}</caption><thead><tr>{head}</tr></thead>"
            f"<tbody>{rows}</tbody></table>" + (f"<ul>{said}</ul>" if said else "")
        )

    def _visible(self) -> tuple[str, list[str], list[list[str]], list[str]]:
        """Summary, header, rows and remarks without characters that a screen obeys."""
        header, body = self.cells()
        rows = [[visible(cell) for cell in row] for row in body]
        return visible(self.summary()), list(map(visible, header)), rows, list(map(visible, self.remarks()))


def _need(package: str) -> Any:
    """A package that only some results need."""
    try:
        return __import__(package)
    except ImportError:
        raise NotInstalled(f"{package} is not installed: pip install {package}") from None
