"""Ids and sentences as a reader can bear them."""

from __future__ import annotations

from counterrank.report.markup import Markup, element
from counterrank.screen import visible

SHOWN = 64  # characters of an id before it is cut


def ident(text: str, longest: int = 2000) -> Markup:
    """An id: a long one is cut and opens up to `longest` characters."""
    if len(text) <= SHOWN:
        return element("bdi", visible(text), class_="id")
    rest = visible(text[:longest]) + ("…" if len(text) > longest else "")
    return element(
        "details",
        element("summary", element("bdi", visible(text[:SHOWN]), "…", class_="id")),
        element("bdi", rest, class_="id whole"),
        element(
            "small", f"{len(text):,} characters" + (f", the first {longest:,} here" if len(text) > longest else "")
        ),
        class_="long",
    )


def sentence(text: str, longest: int = 700) -> str:
    """A sentence, which may hold an id of any length."""
    shown = visible(text)
    return shown if len(shown) <= longest else f"{shown[: longest // 2]} … {shown[-longest // 2 :]}"
