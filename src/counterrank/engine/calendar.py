"""Days as Ibis expressions, as `counterrank.log.days` has them for arrays."""

from __future__ import annotations

from typing import Any

import ibis
import ibis.expr.datatypes as dt

from counterrank.errors import InputError
from counterrank.log.days import (
    FIRST,
    GROUPS,
    LAST,
    NUMBER,
    SECONDS,
    TIME,
    TIMES_FROM,
    UNITS,
    WHOLE,
    civil_day,
    possible,
)

_NO_DAY = ibis.null().cast("int64")
_UNNAMED = TIME
for _name in GROUPS:
    _UNNAMED = _UNNAMED.replace(f"?P<{_name}>", "")  # groups by number: not every database knows them by name


def day_number(column: Any, what: str) -> tuple[Any, Any]:
    """A day per row, null where it has none, and whether it was told as a time since 1970."""
    kind = column.type()
    never = ibis.literal(False)
    if kind.is_string():
        whole = ibis.ifelse(column.re_search(WHOLE), column.strip(), ibis.null().cast("string")).try_cast("int64")
        number = ibis.ifelse(column.re_search(NUMBER), column.strip(), ibis.null().cast("string")).try_cast("float64")
        whole_day, timed = _of_whole(whole)
        number_day, timed_too = _of_number(number)
        return ibis.coalesce(whole_day, number_day, _of_text(column)), timed | timed_too
    if kind.is_date():
        day = column.epoch_days().cast("int64")
        return _between(day), never
    if kind.is_timestamp() and kind.scale == 9:
        return _between(_days_in(epoch_ns(column), 10**9)), never
    if kind.is_timestamp():
        # cut to the second first: databases round when they count seconds
        return _between(column.truncate("s").epoch_seconds().cast("int64") // SECONDS), never
    if kind.is_null():
        return column.cast("int64"), never
    if kind.is_integer():
        return _of_whole(column)
    if kind.is_floating() or kind.is_decimal():
        return _of_number(column.cast("float64"))
    raise InputError(f"{what} must be an integer, date or timestamp, but came as {kind}")


@ibis.udf.scalar.builtin(signature=((dt.timestamp,), dt.int64))  # type: ignore[untyped-decorator]
def epoch_ns(moment: Any) -> Any:
    """Nanoseconds since 1970, where a database has such times: it would round them to coarser ones."""


def _days_in(ticks: Any, a_second: int) -> Any:
    """Whole days. What is left over is taken away first, because databases divide in floating point."""
    a_day = a_second * SECONDS
    return ((ticks - ((ticks % a_day) + a_day) % a_day) / a_day).cast("int64")


def _between(day: Any) -> Any:
    return ibis.ifelse((day >= FIRST) & (day <= LAST), day, _NO_DAY)


def _of_whole(number: Any) -> tuple[Any, Any]:
    number = number.try_cast("int64") if number.type() != ibis.dtype("int64") else number
    timed = (number >= TIMES_FROM).fill_null(False)
    sizes = [(number < size, _days_in(number, ticks)) for size, ticks in UNITS[:-1]]
    time = ibis.cases(*sizes, else_=_days_in(number, UNITS[-1][1]))
    return ibis.cases((timed, time), (number > -TIMES_FROM, number), else_=_NO_DAY), timed


def _of_number(number: Any) -> tuple[Any, Any]:
    fits = (number > -TIMES_FROM) & (number < 2.0**63) & ~number.isnan()
    safe = ibis.ifelse(fits.fill_null(False), number, ibis.null().cast("float64"))  # else it cannot be rounded down
    whole = (safe >= TIMES_FROM) | (safe == safe.floor())
    return _of_whole(ibis.ifelse(whole, safe.floor().cast("int64"), _NO_DAY))


def _of_text(text: Any) -> Any:
    matched = text.re_search(_UNNAMED)
    group = {name: text.re_extract(_UNNAMED, i + 1) for i, name in enumerate(GROUPS)}
    behind = group.pop("sign") == "-"
    number = {name: of.try_cast("int64").fill_null(0) for name, of in group.items()}
    offset = number["hours"] * 60 + number["minutes"]
    minutes = number["hour"] * 60 + number["minute"] - ibis.ifelse(behind, -offset, offset)
    day = civil_day(number["year"], number["month"], number["day"]) + minutes // (24 * 60)
    return ibis.ifelse(matched & possible(**number), day, _NO_DAY).cast("int64")
