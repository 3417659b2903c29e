"""Whether a text is JSON, however deep it is nested: readers that call themselves give up before they know."""

from __future__ import annotations

import re

_TOKEN = re.compile(
    r"[ \t\n\r]*+(?:"
    r"(?P<sign>[\[\]{},:])"
    r'|(?P<text>"(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*+")'
    r"|(?P<other>-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?(?:[eE][+-]?[0-9]++)?|true|false|null|NaN|-?Infinity)"
    r")"
)
_SPACE = re.compile(r"[ \t\n\r]*+")
_CLOSING = {"[": "]", "{": "}"}


def is_json(text: str) -> bool:
    """
    >>> is_json("[" * 9999 + "1" + "]" * 9999), is_json("[" * 9999), is_json('{"a": [1, 2,]}'), is_json('{"a": {}}')
    (True, False, False, True)
    """
    at, open_, expected = 0, [], "value"
    while token := _TOKEN.match(text, at):
        at = token.end()
        sign = token["sign"]
        if sign is None:
            expected = _after(expected, token["text"] is not None)
        elif sign in "[{" and expected in ("value", "value or end"):
            open_.append(sign)
            expected = "value or end" if sign == "[" else "key or end"
        elif sign in "]}" and open_ and _CLOSING[open_[-1]] == sign and expected in _ENDS:
            open_.pop()
            expected = "comma"
        elif sign == ":" and expected == "colon":
            expected = "value"
        elif sign == "," and expected == "comma" and open_:
            expected = "value" if open_[-1] == "[" else "key"
        else:
            return False
        if not expected:
            return False
        if not open_:
            return expected == "comma" and _SPACE.fullmatch(text, at) is not None
    return False


_ENDS = ("comma", "value or end", "key or end")


def _after(expected: str, text: bool) -> str:
    """What may follow a text, a number or a word; nothing where none was expected."""
    if expected in ("value", "value or end"):
        return "comma"
    return "colon" if text and expected in ("key", "key or end") else ""
