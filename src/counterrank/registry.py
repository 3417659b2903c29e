"""A family's members by name: ours, and those that installed packages offer through entry points."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

from counterrank.errors import InputError, unknown

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

T = TypeVar("T")
D = TypeVar("D")


class Registry(dict[str, T], Generic[T]):
    """The members of a family. Ours are there; a package's is imported when it is asked for by name, and is there then.

    Packages are not looked at before a name is asked for that is not ours. One that cannot be used is an error for
    those who ask for it, and for nobody else. No package takes the place of a member that is there.

    `kind` is what users call a member, `group` the entry points' group; `admit` makes a member of what an entry point
    names, or says what is wrong with it.
    """

    def __init__(self, kind: str, group: str, admit: Callable[[str, Any], T], ours: Mapping[str, T]) -> None:
        super().__init__(ours)
        self.kind, self.group, self._admit = kind, group, admit
        self._came: set[str] = set()  # from packages

    def names(self) -> list[str]:
        """Of all members, also of those that are not imported yet."""
        return [*self, *(name for name in self._offered if not super(Registry, self).__contains__(name))]

    def usual(self) -> list[str]:
        """Of the members that are meant where none is named: to install a package does not change an answer."""
        return [name for name in self if name not in self._came]

    def left_out(self) -> list[str]:
        """Why members that packages offer under a name that is taken are left out, in a sentence each."""
        taken = [name for name in self._offered if super(Registry, self).__contains__(name) and name not in self._came]
        return [f"{_whose(self._offered[name])} offers {name!r}, a name that is taken." for name in taken]

    def unknown(self, name: str, *more: str) -> InputError:
        """The error for a name that no member has; `more` are words that may stand in a name's place."""
        return unknown(self.kind, name, [*self.names(), *more])

    def __contains__(self, name: object) -> bool:
        return super().__contains__(name) or name in self._offered

    def __missing__(self, name: str) -> T:
        offered = self._offered.get(name, [])
        if not offered:
            raise KeyError(name)
        if len(offered) > 1:
            raise InputError(f"{self.kind} {name!r} is offered by {_whose(offered)}: uninstall all but one of them")
        try:
            member = self._admit(name, offered[0].load())
        except Exception as error:
            said = str(error).splitlines()[0] if str(error) else "without a word"
            kind = "" if isinstance(error, InputError) else f"{type(error).__name__}: "
            raise InputError(
                f"{self.kind} {name!r} of {_whose(offered)} cannot be used ({kind}{said}): mend that package, or "
                f"choose from {', '.join(self)}"
            ) from error
        self[name] = member
        self._came.add(name)
        return member

    @overload
    def get(self, name: str, default: None = None, /) -> T | None: ...
    @overload
    def get(self, name: str, default: T, /) -> T: ...
    @overload
    def get(self, name: str, default: D, /) -> T | D: ...
    def get(self, name: str, default: Any = None, /) -> Any:
        try:
            return self[name]
        except KeyError:
            return default

    @cached_property
    def _offered(self) -> dict[str, list[EntryPoint]]:
        """What installed packages offer; a broken list of theirs counts as none."""
        from importlib.metadata import entry_points  # slow, and of use to few

        try:
            found = sorted(set(entry_points(group=self.group)), key=lambda point: (point.name, point.value))
        except Exception:  # whatever is wrong with some package, ours go on
            return {}
        out: dict[str, list[EntryPoint]] = {}
        for point in found:
            out.setdefault(point.name, []).append(point)
        return out


def instance_of(kind: Any, own: str) -> Callable[[str, Any], Any]:
    """Admits what is such a thing, or a class of such things, and has its name as `own`."""

    def admit(name: str, value: Any) -> Any:
        member = value() if isinstance(value, type) else value
        if not isinstance(member, kind):
            raise InputError(f"it is no {kind.__name__}, but of type {type(member).__name__}")
        _check_name(name, getattr(member, own, None))
        return member

    return admit


def subclass_of(kind: Any, own: str = "") -> Callable[[str, Any], Any]:
    """Admits a subclass, which has its name as `own`."""

    def admit(name: str, value: Any) -> Any:
        if not (isinstance(value, type) and issubclass(value, kind)):
            raise InputError(f"it is no subclass of {kind.__name__}")
        _check_name(name, getattr(value, own, None) if own else name)
        return value

    return admit


def _check_name(name: str, own: object) -> None:
    if own != name:
        raise InputError(f"it calls itself {own!r}")


def _whose(offered: list[EntryPoint]) -> str:
    names = [f"{point.dist.name} {point.dist.version}" if point.dist is not None else point.value for point in offered]
    return " and ".join(names)
