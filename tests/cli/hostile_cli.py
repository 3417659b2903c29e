"""What no command may do, whatever it is given: a harness that runs commands within this process."""

from __future__ import annotations

import inspect
import io
import json
import re
import types
import typing
import warnings
from collections.abc import Callable, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer

from counterrank.cli import COMMANDS, app, function

_COMMAND = typer.main.get_command(app)
_UNSEEN = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]")
_NO_NUMBER = re.compile(
    r"(?<![\w-])[+−-]?(nan|inf|infinity)(?![\w-])|(?<![\d\w.e(,])[−-]0(\.0*)?(?![\d.])", re.IGNORECASE
)


@dataclass(frozen=True)
class Outcome:
    """How a command ended, and what it wrote."""

    words: Sequence[str]
    code: int
    out: str
    err: str


@dataclass(frozen=True)
class Parameter:
    """An option or argument of a command, by its function's signature."""

    command: str
    name: str  # as typed, e.g. --top
    kind: type  # int, float, str, Path or bool
    argument: bool


def parameters(command: str, called: Callable[..., None]) -> list[Parameter]:
    """The options and arguments of a command."""
    hints = typing.get_type_hints(called, include_extras=True)
    found = []
    for name, parameter in inspect.signature(called).parameters.items():
        hint = hints[name]
        info = parameter.default
        if typing.get_origin(hint) is typing.Annotated:
            hint, *more = typing.get_args(hint)
            info = next(found for found in more if isinstance(found, typer.models.ParameterInfo))
        if isinstance(hint, types.UnionType):
            hint = next(kind for kind in typing.get_args(hint) if kind is not type(None))
        if hint is typer.Context:
            continue
        argument = isinstance(info, typer.models.ArgumentInfo)
        declared = [word for word in getattr(info, "param_decls", None) or () if word.startswith("--")]
        typed = declared[0] if declared else "--" + name.replace("_", "-")
        found.append(Parameter(command, name if argument else typed, hint, argument))
    return found


def every_parameter() -> list[Parameter]:
    return [found for name in COMMANDS for found in parameters(name, function(name))]


def run(*words: object) -> Outcome:
    """Run a command; warnings count as what a user would see on stderr."""
    typed = [str(word) for word in words]
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", newline="") for _ in range(2))
    with redirect_stdout(out), redirect_stderr(err), warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = lambda message, kind, *rest: print(f"{kind.__name__}: {message}", file=err)
        try:
            _COMMAND.main(args=typed, prog_name="counterrank")
            code: Any = 0
        except SystemExit as end:
            code = 0 if end.code is None else end.code
    out.flush(), err.flush()
    texts = [stream.buffer.getvalue().decode() for stream in (out, err)]  # type: ignore[attr-defined]
    return Outcome(typed, code if isinstance(code, int) else 1, *texts)


def wrong_with(outcome: Outcome) -> str | None:
    """What a command did that none may do, or None."""
    if outcome.code == 2:
        if outcome.out:
            return "refused, with output on stdout"
        if outcome.err.count("\n") != 1 or not outcome.err.startswith("counterrank: "):
            return f"refused, but not in one line: {outcome.err!r}"
        if _UNSEEN.search(outcome.err):
            return f"control characters on stderr: {outcome.err!r}"
        return None if len(outcome.err) < 3000 else f"refused in {len(outcome.err):,} characters: {outcome.err[:300]!r}"
    if outcome.code == 1 and not outcome.err and any(word.startswith("--require") for word in outcome.words):
        return None  # the answer is no
    if outcome.code != 0:
        return f"exit code {outcome.code}: {outcome.err!r}"
    if outcome.err:
        return f"an answer, with {outcome.err!r} on stderr"
    if "--json" in outcome.words:
        return wrong_with_json(outcome.out)
    if _UNSEEN.search(outcome.out):
        return f"control characters on stdout: {outcome.out!r}"
    given = {word.partition("=")[2] for word in outcome.words if word.startswith("--")}
    if any(map(_NO_NUMBER.search, given)):
        return None  # an id may be called so
    found = _NO_NUMBER.search(outcome.out)
    return f"{found[0]!r} on stdout: {outcome.out!r}" if found else None


def wrong_with_json(text: str) -> str | None:
    """Whether a text is one JSON value of finite numbers without a negative zero."""
    try:
        found = json.loads(text, parse_constant=_refuse)
    except ValueError as error:
        return f"no strict JSON ({error}): {text[:300]!r}"
    return _negative_zero(found)


def wrong_with_page(path: Path) -> str | None:
    """Whether the words of a page hold what is no number."""
    words = re.sub(r"<(script|style)>.*?</\1>|<[^>]*>", " ", path.read_text(encoding="utf-8"), flags=re.DOTALL)
    found = _UNSEEN.search(words) or _NO_NUMBER.search(words)
    return f"{found[0]!r} in a page, at {words[max(found.start() - 80, 0) : found.end() + 20]!r}" if found else None


def _refuse(word: str) -> None:
    raise ValueError(word)


def _negative_zero(value: Any, place: str = "") -> str | None:
    if isinstance(value, dict):
        parts: Any = value.items()
    elif isinstance(value, list):
        parts = enumerate(value)
    else:
        return f"-0.0 at {place}" if isinstance(value, float) and value == 0 and str(value)[0] == "-" else None
    return next(filter(None, (_negative_zero(part, f"{place}/{key}") for key, part in parts)), None)
