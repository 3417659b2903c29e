"""The columns of a log: names, which form a log is in, and how foreign names map to ours."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal

from counterrank.errors import InputError, near, unknown

Form = Literal["list", "long"]

LIST_COLUMNS = (
    "query", "items", "clicks", "reward", "day", "propensity", "item_propensities", "impressions", "cluster"
)  # fmt: skip
LONG_COLUMNS = (
    "impression", "query", "position", "item", "click", "reward", "day", "propensity", "item_propensity", "impressions",
    "cluster",
)  # fmt: skip
KNOWN_COLUMNS = tuple(dict.fromkeys(LIST_COLUMNS + LONG_COLUMNS))
SEGMENT = "segment"  # what a query is told apart by, where a command asks for it; never read by itself
REQUIRED = ("query", "items", "item", "impression", "position")
OPTIONAL = tuple(c for c in KNOWN_COLUMNS if c not in REQUIRED)
_LISTS = ("items", "clicks", "item_propensities")  # they can be nothing else
# the same in the other form
_TWINS = {"clicks": "click", "click": "clicks", "item_propensities": "item_propensity"}
_TWINS["item_propensity"] = "item_propensities"


def parse_columns(text: str | None) -> dict[str, str]:
    """`query=q,items=shown` as a mapping from our names to the log's."""
    mapping: dict[str, str] = {}
    for part in filter(None, (text or "").split(",")):
        ours, equals, theirs = part.partition("=")
        if not equals or not theirs:
            raise InputError(f"`columns` got {part!r}: expected OURS=THEIRS pairs, e.g. query=q,items=shown")
        if ours.strip() in mapping:
            raise InputError(f"`columns` names {ours.strip()!r} twice: give each of our columns once")
        mapping[ours.strip()] = theirs.strip()
    return check_columns(mapping)


def check_columns(mapping: Mapping[str, str]) -> dict[str, str]:
    for ours in mapping:
        if ours not in (*KNOWN_COLUMNS, SEGMENT):
            raise unknown("column", ours, KNOWN_COLUMNS)
    return dict(mapping)


def parse_ignored(text: str | None) -> tuple[str, ...]:
    """`day,propensity` as names of columns that need not be read."""
    return check_ignored([name.strip() for name in (text or "").split(",") if name.strip()])


def check_ignored(names: Iterable[str]) -> tuple[str, ...]:
    given = tuple(dict.fromkeys(names))
    for name in given:
        if name in REQUIRED:
            raise InputError(f"`ignore` names {name!r}, which every log needs: choose from {', '.join(OPTIONAL)}")
        if name not in OPTIONAL:
            raise unknown("column", name, OPTIONAL)
    return given


def resolve(
    name: str, present: Iterable[str], mapping: Mapping[str, str], ignore: Iterable[str] = ()
) -> tuple[Form, dict[str, str]]:
    """The form of a log with these columns, and where each of our columns is found in it, but for ignored ones."""
    came = list(present)
    for ours, theirs in mapping.items():
        if theirs not in came:
            raise InputError(
                f"{name}: column {theirs!r} (for {ours}) is missing{near(theirs, came)}: the file has {_list(came)}. "
                f"Name one of these with `columns` {ours}=THEIRS"
            )
    unread = {*ignore, *(_TWINS[c] for c in ignore if c in _TWINS)}
    found = {c: mapping.get(c, c) for c in KNOWN_COLUMNS if mapping.get(c, c) in came and c not in unread}
    form: Form = "long" if "item" in found and "items" not in found else "list"
    wanted = LONG_COLUMNS if form == "long" else LIST_COLUMNS
    required = ("query", "impression", "position", "item") if form == "long" else ("query", "items")
    for column in required:
        if column not in found:
            raise _missing(name, column, came)
    if form == "long" and "item_propensities" in found:  # by either name: a row has one number
        found.setdefault("item_propensity", found["item_propensities"])
    click = "click" if form == "long" else "clicks"
    if click not in found and "reward" not in found:
        raise _missing(name, click, came, " (or 'reward')")
    found = {c: found[c] for c in wanted if c in found}
    if SEGMENT in mapping:
        found[SEGMENT] = mapping[SEGMENT]
    for ours, theirs in found.items():
        twin = next((c for c in _LISTS if c in found and c != ours and found[c] == theirs), None)
        if twin is not None:
            raise InputError(f"{name}: column {theirs!r} is to be both {twin} and {ours}: name another one for {ours}")
        if came.count(theirs) > 1:
            raise InputError(f"{name}: column {theirs!r} comes {came.count(theirs)} times: give columns distinct names")
    return form, found


def _missing(name: str, column: str, came: list[str], extra: str = "") -> InputError:
    return InputError(
        f"{name}: column {column!r}{extra} is missing{near(column, came)}: the file has {_list(came)}. "
        f"Name it with `columns` {column}=THEIRS"
    )


def _list(came: list[str]) -> str:
    return (", ".join(came[:12]) + (", …" if len(came) > 12 else "")) or "no columns"
