"""What may reach a screen: no character that hides, moves or turns what stands beside it, and only finite numbers."""

from __future__ import annotations

import codecs
import json
import math
import os
import re
import sys
from typing import Any

# control characters (C0, DEL, C1), marks that turn text around, line and paragraph separators, what has no width, lone
# surrogates; a joiner within text that is not ASCII (an emoji, Persian) is left alone
_HIDDEN = re.compile(
    "[\x00-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u2028-\u202e"
    "\u2060-\u206f\u3164\ufeff\uffa0\ufff0-\ufffb\ud800-\udfff\U000e0000-\U000e0fff]"
    "|(?<![^\x00-\x7f])[\u200c\u200d]|[\u200c\u200d](?![^\x00-\x7f])"
)
_PLAIN = {
    "•": "*", "–": "-", "−": "-", "…": "...", "±": "+-", "×": "x", "·": "*", "≥": ">=", "≤": "<=", "→": "->",
    "\u00a0": " ", "’": "'", "“": '"', "”": '"', "⟨": "<", "⟩": ">",
}  # fmt: skip
_NEGATIVE_ZERO = re.compile(r"-0\.0(?![\d])")
LONGEST = 1200  # characters of a message
_WHAT_FITS = "counterrank-fits"


def visible(text: str) -> str:
    """Characters that hide or turn text around, by their number instead.

    >>> visible("a\\u202eb\\x1b[2J")
    'a⟨U+202E⟩b⟨U+001B⟩[2J'
    """
    return text if text.isascii() and text.isprintable() else _HIDDEN.sub(_numbered, text)


def one_line(text: str) -> str:
    """A message as one visible line, the middle of a very long one left out.

    >>> one_line("no file\\n  'a\\x07'")
    "no file 'a⟨U+0007⟩'"
    """
    line = visible(re.sub(r"[ \t\r\n]+", " ", text).strip())
    return line if len(line) <= LONGEST else f"{line[: LONGEST // 2]} … {line[-LONGEST // 2 :]}"


def json_text(value: Any, indent: int | None = None) -> str:
    """JSON that every reader takes: nothing but finite numbers, no negative zero, no character that a screen obeys.

    Strings stay as they are once parsed; what is undefined is null.

    >>> json_text({"a": -0.0, "b": float("nan"), "c": "é\\x9b"})
    '{"a": 0.0, "b": null, "c": "é\\\\u009b"}'
    """
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False, indent=indent)
    except ValueError:
        text = json.dumps(_plain(value), ensure_ascii=False, allow_nan=False, indent=indent)
    if _NEGATIVE_ZERO.search(text):
        text = json.dumps(_plain(value), ensure_ascii=False, allow_nan=False, indent=indent)
    return _HIDDEN.sub(_escaped, text)


def fitting(text: str, encoding: str | None) -> str:
    """JSON in an encoding that may lack some characters: they are escaped."""
    try:
        text.encode(encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return re.sub(r"[^\x00-\x7f]+", lambda found: json.dumps(found[0])[1:-1], text)
    return text


def prepare_streams() -> None:
    """Let stdout and stderr write what their encoding lacks in other characters, and nowhere if they are closed."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115 - open until the end
    for stream in (sys.stdout, sys.stderr):
        change = getattr(stream, "reconfigure", None)
        if change is not None:
            change(errors=_WHAT_FITS)


def _numbered(found: re.Match[str]) -> str:
    return f"⟨U+{ord(found[0]):04X}⟩"


def _escaped(found: re.Match[str]) -> str:
    return json.dumps(found[0])[1:-1] if found[0] >= "\x7f" else found[0]  # the others are JSON's own line ends


def _plain(value: Any) -> Any:
    """None for what is no finite number, and 0 for its negative."""
    if isinstance(value, float):
        return value + 0.0 if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _plain(part) for key, part in value.items()}
    return [_plain(part) for part in value] if isinstance(value, list | tuple) else value


def _instead(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    text = error.object[error.start : error.end]
    shown = "".join(_PLAIN.get(sign, sign.encode("ascii", "backslashreplace").decode()) for sign in text)
    return shown, error.end


codecs.register_error(_WHAT_FITS, _instead)
