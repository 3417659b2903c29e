"""HTML and SVG made of elements: text is escaped and made visible unless `element` made it, so no id can
become markup or hide."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable
from typing import TypeAlias

from counterrank.screen import visible

_NAME = re.compile(r"[a-zA-Z][a-zA-Z0-9:-]*")
_VOID = {"meta", "br", "hr", "input", "col"}


class Markup:
    """What `element` made. It has no way in from text."""

    __slots__ = ("_text",)

    def __init__(self, text: str, made_by: object) -> None:
        if made_by is not _KEY:
            raise TypeError("markup is made by element(), never from text")
        self._text = text

    def __str__(self) -> str:
        return self._text


Child: TypeAlias = "Markup | str | int | float | Iterable[Child] | None"
_KEY = object()


def element(name: str, /, *children: Child, **attributes: str | int | float | bool | None) -> Markup:
    """An element. Attributes of None or False are left out; `class_` is class, `data_v` is data-v.

    >>> str(element("td", "<b>", class_="number", data_v=1.5))
    '<td class="number" data-v="1.5">&lt;b&gt;</td>'
    """
    shown = "".join(_attribute(key, value) for key, value in attributes.items())
    opening = f"<{_checked(name)}{shown}>"
    return Markup(opening if name in _VOID else f"{opening}{joined(children)}</{name}>", _KEY)


def joined(children: Child) -> Markup:
    """Several as one, without an element around them."""
    if isinstance(children, Markup):
        return children
    if children is None:
        return Markup("", _KEY)
    if isinstance(children, str | int | float):
        return Markup(html.escape(visible(str(children))), _KEY)
    return Markup("".join(str(joined(child)) for child in children), _KEY)


def verbatim(name: str, text: str) -> Markup:
    """A style or script element around our own constant text, which must not hold its end."""
    if name not in ("style", "script") or "</" in text or "<!--" in text:
        raise ValueError(f"{name} cannot hold this text")
    return Markup(f"<{name}>{text}</{name}>", _KEY)


def _attribute(key: str, value: str | int | float | bool | None) -> str:
    if value is None or value is False:
        return ""
    name = _checked(key.rstrip("_").replace("_", "-"))
    return f" {name}" if value is True else f' {name}="{html.escape(visible(str(value)))}"'


def _checked(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise ValueError(f"{name!r} cannot name an element or attribute")
    return name
