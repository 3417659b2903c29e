"""Results that print as a text table and render as HTML in a notebook."""

from __future__ import annotations

import html
from abc import ABC, abstractmethod


class Tabular(ABC):
    """A summary, a table whose first column is text, and remarks below it; ids and words come escaped."""

    @abstractmethod
    def summary(self) -> str: ...

    @abstractmethod
    def cells(self) -> tuple[list[str], list[list[str]]]:
        """Header and rows."""

    @abstractmethod
    def remarks(self) -> list[str]: ...

    def __repr__(self) -> str:
        header, body = self.cells()
        widths = [max(len(r[i]) for r in [header, *body]) for i in range(len(header))]
        lines = [
            "  ".join(c.ljust(w) if i == 0 else c.rjust(w) for i, (c, w) in enumerate(zip(r, widths, strict=True)))
            for r in [header, *body]
        ]
        return "\n".join([self.summary(), *lines, *self.remarks()])

    def _repr_html_(self) -> str:
        header, body = self.cells()
        head = "".join(f"<th>{html.escape(c)}</th>" for c in header)
        rows = "".join("<tr>" + "".join(f"<td>{html.escape(c)}</td>" for c in row) + "</tr>" for row in body)
        remarks = "".join(f"<li>{html.escape(text)}</li>" for text in self.remarks())
        return (
            f"<table><caption>{html.escape(self.summary())}</caption><thead><tr>{head}</tr></thead>"
            f"<tbody>{rows}</tbody></table>" + (f"<ul>{remarks}</ul>" if remarks else "")
        )
