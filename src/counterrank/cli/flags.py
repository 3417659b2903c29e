"""Parameters as options: what the library calls `reward_range` is --reward-range at the command line.

The library writes a parameter in backticks, alone or with its value: `metric='clicks'`. Only what the command that runs
has as an option is changed, so that a column or an id in backticks stays.
"""

from __future__ import annotations

import re
from typing import Any

_NAMED = re.compile(r"`(\w+)(?:=('?)([^`]*)\2)?`")
_SINGULAR = {"estimators": "estimator", "models": "model"}  # where parameter and option differ
_options: dict[str, str] = {}


def speak_of(command: Any) -> None:
    """From now on messages are for who called this command."""
    _options.clear()
    _options.update({p.name: p.opts[0] for p in command.params if p.opts[0].startswith("--")})


def flags(text: str) -> str:
    """A message of the library, as the command line says it."""
    return _NAMED.sub(_flag, text)


def _flag(found: re.Match[str]) -> str:
    name, value = found[1], found[3]
    option = _options.get(name) or _options.get(_SINGULAR.get(name, ""))
    if option is None:
        return found[0]
    return option if value is None else f"{option} {value}"


def phrase(result: Any) -> None:
    """Let the notes and warnings of a result speak of options, on the screen as in JSON and on a page."""
    parts = [result, *getattr(result, "rows", []), *getattr(result, "models", [])]
    for said in (getattr(part, name, None) for part in parts for name in ("notes", "warnings")):
        if isinstance(said, list):
            said[:] = map(flags, said)
