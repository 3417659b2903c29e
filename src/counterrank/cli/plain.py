"""Words that are what they say: a text, a whole number, a number or a path is taken as it is.

Typer (0.26 and later) lets Pydantic look at every option, given or not, which takes longer to import than most commands
to refuse a misspelt word. Whatever is not plain, Typer still judges in its own words; an older Typer does so anyway.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Final

_WHOLE = re.compile(r"-?\d{1,15}", re.ASCII)
_NUMBER = re.compile(r"-?\d{1,15}(\.\d{1,17})?", re.ASCII)
_FOREIGN: Final = object()


def take_plainly(command: Any) -> Any:
    """The same command; its parameters, --help among them, ask Typer only where they must."""
    whole = command.get_params

    def get_params(context: Any) -> Any:
        found = whole(context)
        for parameter in found:
            if getattr(parameter, "_runtime_param", parameter) is None and hasattr(parameter, "type_descriptor"):
                parameter._runtime_param = _Plainly()
        return found

    command.get_params = get_params
    return command


class _Plainly:
    """In the place of what Typer makes of a parameter's type."""

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        many = param.multiple or param.nargs == -1
        found = _taken(value, param.type_descriptor.annotation) if not many else _FOREIGN
        if found is not _FOREIGN:
            return found
        if value is None and many:
            return ()
        param._runtime_param = None
        try:
            return param.get_runtime_param().coerce(value, param=param, ctx=ctx)  # Typer's own
        finally:
            param._runtime_param = self


def _taken(value: Any, kind: Any) -> Any:
    """The value, where it is plain."""
    if value is None or (kind in (bool, int, float, str) and type(value) is kind):
        return value
    if kind is int and isinstance(value, str) and _WHOLE.fullmatch(value):
        return int(value)
    if kind is float and isinstance(value, str) and _NUMBER.fullmatch(value):
        return float(value)
    if kind is Path and isinstance(value, str | Path):
        return Path(value)
    return _FOREIGN
