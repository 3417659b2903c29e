"""The options of every command as data, so that words are parsed, helped and refused before anything heavy is imported.

`listing.json` is made from the commands themselves by `python -m counterrank.cli.listing`; a test keeps it in step. It
is used only while the files of this folder are those that it was made from: after a change the commands speak for
themselves, a second later.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import os
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Annotated, Any, get_args, get_origin

import typer
from typer.models import OptionInfo, ParameterInfo

PLACE = Path(__file__).with_name("listing.json")
_KINDS: dict[str, Any] = {
    "context": typer.Context,
    **{kind.__name__: kind for kind in (bool, str, int, float, Path)},
    **{f"{kind.__name__} | None": kind | None for kind in (bool, str, int, float, Path)},
    **{f"list[{kind.__name__}]": list[kind] for kind in (str, int, float, Path)},  # type: ignore[valid-type]
    **{f"list[{kind.__name__}] | None": list[kind] | None for kind in (str, int, float, Path)},  # type: ignore[valid-type]
}
_NAMES = {str(kind): name for name, kind in _KINDS.items()}
_SAID = ("param_decls", "help", "rich_help_panel", "envvar", "metavar")
_annotated: Any = Annotated


def listed(name: str, run: Callable[..., None]) -> Callable[..., None] | None:
    """A function with the parameters of a command, which calls `run`; None where nothing is known of the command."""
    known = _read()
    if name not in known.get("commands", {}) or ("--help" in sys.argv and offered()):
        return None  # a help text names members of packages, which only the command itself knows
    told = known["commands"][name]

    def called(**given: Any) -> None:
        run(**given)

    called.__name__, called.__doc__ = name, told["help"]
    parameters = [_parameter(each) for each in told["parameters"]]
    called.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    called.__annotations__ = {each.name: each.annotation for each in parameters}
    return called


def described(function: Callable[..., None]) -> dict[str, Any]:
    """A command as `listing.json` has it."""
    parameters = inspect.signature(function, eval_str=True).parameters.values()
    return {"help": inspect.getdoc(function), "parameters": [_described(each) for each in parameters]}


def _described(parameter: inspect.Parameter) -> dict[str, Any]:
    marked = get_origin(parameter.annotation) is Annotated
    kind, *marks = get_args(parameter.annotation) if marked else [parameter.annotation]
    out = {"name": parameter.name, "kind": _NAMES[str(kind)]}
    if parameter.default is not inspect.Parameter.empty:
        out["default"] = str(parameter.default) if isinstance(parameter.default, Path) else parameter.default
    for mark in marks:
        if isinstance(mark, ParameterInfo):
            out["as"] = "option" if isinstance(mark, OptionInfo) else "argument"
            said = {name: getattr(mark, name, None) for name in _SAID}
            declared = [mark.default] if isinstance(mark.default, str) else []  # Typer has the first name here
            said["param_decls"] = [*declared, *(mark.param_decls or ())]
            out |= {name: value for name, value in said.items() if value}
    return out


def _parameter(told: dict[str, Any]) -> inspect.Parameter:
    kind = _KINDS[told["kind"]]
    if "as" in told:
        said = {name: told[name] for name in _SAID if name in told}
        declared = said.pop("param_decls", [])
        make: Any = typer.Option if told["as"] == "option" else typer.Argument
        kind = _annotated[kind, make(*declared, **said)]
    default = told.get("default", inspect.Parameter.empty)
    return inspect.Parameter(told["name"], inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)


@cache
def _read() -> dict[str, Any]:
    """What is stored, if it was made from the files that are here."""
    try:
        known = json.loads(PLACE.read_text(encoding="utf-8"))
        return known if known["made_from"] == _stamp() else {}
    except (OSError, ValueError, KeyError, TypeError):
        return {}


def _stamp() -> str:
    """Of the files that say what options there are."""
    digest = hashlib.sha256()
    for path in sorted(PLACE.parent.glob("*.py")):
        digest.update(path.name.encode() + b"\0" + path.read_bytes().replace(b"\r\n", b"\n") + b"\0")
    return digest.hexdigest()


@cache
def offered() -> bool:
    """Whether an installed package offers members of our families.

    Python's own way to ask takes longer than all lists of entry points take to read; it is taken where packages may lie
    elsewhere than in folders.
    """
    try:
        found = [_offers(Path(place or ".")) for place in sys.path]
        if None not in found:
            return any(found)
        from importlib.metadata import entry_points

        return any(name.startswith("counterrank.") for name in entry_points().groups)
    except Exception:  # whatever is wrong with some package
        return True


def _offers(folder: Path) -> bool | None:
    """Whether a package in a folder does; None where it is no folder."""
    if not folder.is_dir():
        return None if folder.exists() else False
    for name in os.listdir(folder):
        if name.endswith((".dist-info", ".egg-info")):
            try:
                if b"[counterrank." in (folder / name / "entry_points.txt").read_bytes():
                    return True
            except OSError:
                continue
    return False


def _plain(function: Callable[..., None]) -> bool:
    """Whether all parameters are of kinds that can be told; a command with others speaks for itself."""
    try:
        json.dumps(described(function))
    except (KeyError, TypeError):
        return False
    return True


def made() -> str:
    """The text of `listing.json`."""
    from counterrank.cli.commands import COMMANDS, function

    commands = {name: described(function(name)) for name in COMMANDS if _plain(function(name))}
    return json.dumps({"made_from": _stamp(), "commands": commands}, ensure_ascii=False, indent=1) + "\n"


if __name__ == "__main__":
    PLACE.write_text(made(), encoding="utf-8")
