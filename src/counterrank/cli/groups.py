"""Options that belong together as one parameter: a frozen dataclass whose fields are options of the command line.

A command says `question: Annotated[Question, Told(top="…")] = Question(weights="clicks")`: it takes the group, with
another help for one of its options and another default for one.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import MISSING, fields, is_dataclass
from typing import Annotated, Any, get_args, get_origin, get_type_hints

from typer.models import OptionInfo, ParameterInfo

_annotated: Any = Annotated


class Told:
    """What a command says of options in a group, in place of the group's own help."""

    def __init__(self, **help: str) -> None:
        self.help = help


def flat(command: Callable[..., None]) -> Callable[..., None]:
    """The same command, with each field of its groups as a keyword parameter, as Typer and `files` want it."""
    groups: dict[str, Any] = {}
    parameters: list[inspect.Parameter] = []
    for name, parameter in inspect.signature(command, eval_str=True).parameters.items():
        kind, *marks = _parts(parameter.annotation)
        if is_dataclass(kind):
            groups[name] = kind
            help = {option: text for mark in marks if isinstance(mark, Told) for option, text in mark.help.items()}
            parameters += _options(kind, parameter.default, help)
        else:
            parameters.append(parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY))
    signature = inspect.Signature(parameters)

    @functools.wraps(command)
    def run(**given: Any) -> None:
        bound = signature.bind(**given)
        bound.apply_defaults()
        values = bound.arguments
        packed = {name: kind(**{f.name: values.pop(f.name) for f in fields(kind)}) for name, kind in groups.items()}
        command(**values, **packed)

    run.__signature__ = signature  # type: ignore[attr-defined]
    run.__annotations__ = {name: parameter.annotation for name, parameter in signature.parameters.items()}
    return run


def _options(group: Any, default: Any, help: dict[str, str]) -> Iterator[inspect.Parameter]:
    """The fields of a group as parameters."""
    hints = get_type_hints(group, include_extras=True)
    if unknown := help.keys() - hints.keys():
        raise TypeError(f"{group.__name__} has no {', '.join(sorted(unknown))}")
    for field in fields(group):
        kind, *marks = _parts(hints[field.name])
        said = [_said(m, help.get(field.name), group.panel) if isinstance(m, ParameterInfo) else m for m in marks]
        value = field.default if default is inspect.Parameter.empty else getattr(default, field.name)
        yield inspect.Parameter(
            field.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=inspect.Parameter.empty if value is MISSING else value,
            annotation=_annotated[(kind, *said)],
        )


def _said(option: ParameterInfo, help: str | None, panel: str) -> ParameterInfo:
    """An option with another help, in the panel of its group."""
    option = copy(option)
    option.help = help or option.help
    if isinstance(option, OptionInfo):
        option.rich_help_panel = option.rich_help_panel or panel
    return option


def _parts(annotation: Any) -> tuple[Any, ...]:
    return get_args(annotation) if get_origin(annotation) is Annotated else (annotation,)
