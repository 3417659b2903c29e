"""The exceptions that users meet: each in one line, with parameters in backticks. `InputError` catches them all."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


class InputError(ValueError):
    """What came is wrong: what came, what was expected and what to do, in one line. The command line exits with 2."""


class Unanswerable(InputError):
    """What was asked cannot be done with this data: nothing is wrong with either, but they do not go together."""


class NoneFound(Unanswerable):
    """The log has none of the queries that were to be counted."""


class NotInstalled(InputError):
    """A package or program that only this needs is not there, or too old."""


def unknown(kind: str, name: str, choices: Iterable[str]) -> InputError:
    """An error for a name that is not in a registry, with the nearest names first.

    >>> str(unknown("estimator", "lst", ["list", "ip"]))
    "unknown estimator 'lst': did you mean 'list'? Choose from list, ip"
    """
    options = list(choices)
    near = get_close_matches(name, options, n=3, cutoff=0.5)
    hint = f"did you mean {' or '.join(map(repr, near))}? " if near else ""
    return InputError(f"unknown {kind} {name!r}: {hint}Choose from {', '.join(options)}")


def near(name: str, came: Iterable[str]) -> str:
    """A hint at what came instead of a missing name, or nothing.

    >>> near("items", ["query", "itmes"])
    " (is it 'itmes'?)"
    """
    found = get_close_matches(name, list(came), n=1, cutoff=0.6)
    return f" (is it {found[0]!r}?)" if found else ""
