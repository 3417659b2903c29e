"""Results that print as a text table and render as HTML in a notebook."""

from __future__ import annotations

import html
from abc import ABC, abstractmethod

from counterrank.screen import visible


class Tabular(ABC):
    """A summary, a table whose first column is text, and remarks below it; ids come as they are."""

    @abstractmethod
    def summary(self) -> str: ...

    @abstractmethod
    def cells(self) -> tuple[list[str], list[list[str]]]:
        """Header and rows."""

    @abstractmethod
    def remarks(self) -> list[str]: ...

    def __repr__(self) -> str:
        summary, header, body, remarks = self._visible()
        widths = [max(len(r[i]) for r in [header, *body]) for i in range(len(header))]
        lines = [
            "  ".join(c.ljust(w) if i == 0 else c.rjust(w) for i, (c, w) in enumerate(zip(r, widths, strict=True)))
            for r in [header, *body]
        ]
        return "\n".join([summary, *lines, *remarks])

    def _repr_html_(self) -> str:
        summary, header, body, remarks = self._visible()
        head = "".join(f"<th>{html.escape(c)}</th>" for c in header)
        rows = "".join("<tr>" + "".join(f"<td>{html.escape(c)}</td>" for c in row) + "</tr>" for row in body)
        said = "".join(f"<li>{html.escape(text)}</li>" for text in remarks)
        return (
            f"<table><caption>{html.escape(summary)}</caption><thead><tr>{head}</tr></thead>"
            f"<tbody>{rows}</tbody></table>" + (f"<ul>{said}</ul>" if said else "")
        )

    def _visible(self) -> tuple[str, list[str], list[list[str]], list[str]]:
        """Summary, header, rows and remarks without characters that a screen obeys."""
        header, body = self.cells()
        rows = [[visible(cell) for cell in row] for row in body]
        return visible(self.summary()), list(map(visible, header)), rows, list(map(visible, self.remarks()))
