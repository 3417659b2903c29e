"""Days: whole numbers, dates and times, each as one number."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from counterrank.errors import InputError
from counterrank.ids import is_text

TIMES_FROM = 10**8  # a number of this size or larger is a time since 1970, and no count of days
UNITS = ((10**11, 1), (10**14, 10**3), (10**17, 10**6), (2**63, 10**9))  # below this size: so many a second
SECONDS = 86_400  # of a day
FIRST, LAST = -719_162, 2_932_896  # 0001-01-01 and 9999-12-31, from 1970-01-01 on
WHOLE = r"^\s*[+-]?[0-9]{1,18}\s*$"
NUMBER = r"^\s*[+-]?[0-9]{1,19}(\.[0-9]*)?([eE][+-]?[0-9]{1,3})?\s*$"
DATE = r"^\s*(?P<year>[0-9]{4})-(?P<month>[0-9]{2})-(?P<day>[0-9]{2})"
CLOCK = r"[Tt ](?P<hour>[0-9]{2}):(?P<minute>[0-9]{2})(?::(?P<second>[0-9]{2})(?:[.,][0-9]+)?)?"
ZONE = r"\s*(?:[Zz]|UTC|(?P<sign>[+-])(?P<hours>[0-9]{2}):?(?P<minutes>[0-9]{2})?)?"
TIME = rf"{DATE}(?:{CLOCK}{ZONE})?\s*$"
GROUPS = ("year", "month", "day", "hour", "minute", "second", "sign", "hours", "minutes")
_A_DAY = {"s": SECONDS, "ms": SECONDS * 10**3, "us": SECONDS * 10**6, "ns": SECONDS * 10**9}


class DayNumbers(NamedTuple):
    """A day per row (0 where it has none), which rows have none, and which were told as a time since 1970."""

    day: NDArray[np.int64]
    bad: NDArray[np.bool_]
    timed: NDArray[np.bool_]


def day_numbers(values: pa.Array, what: str) -> DayNumbers:
    """Days as integers: a date, or a time in UTC, is its number of days since 1970-01-01."""
    values = values.dictionary_decode() if pa.types.is_dictionary(values.type) else values
    kind = values.type
    none = np.zeros(len(values), dtype=bool)
    if pa.types.is_null(kind):
        return DayNumbers(np.zeros(len(values), dtype=np.int64), ~none, none)
    if is_text(kind):
        return _from_texts(values.cast(pa.string()))
    missing = np.asarray(values.is_null().to_numpy(zero_copy_only=False)) if values.null_count else none
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        a_day = 1 if kind == pa.date32() else _A_DAY["ms"] if pa.types.is_date64(kind) else _A_DAY[kind.unit]
        ticks = values.cast(pa.int32() if a_day == 1 else pa.int64()).fill_null(0).to_numpy(zero_copy_only=False)
        day = ticks.astype(np.int64) // a_day
        return _without(day, missing | (day < FIRST) | (day > LAST) | (np.abs(ticks) == np.iinfo(ticks.dtype).max))
    if pa.types.is_integer(kind):
        return _from_numbers(values.fill_null(0).to_numpy(zero_copy_only=False), missing)
    if pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return _from_numbers(values.cast(pa.float64()).fill_null(0).to_numpy(zero_copy_only=False), missing)
    raise InputError(f"{what} must be an integer, date or timestamp, but came as {kind}: store it as one of these")


def _without(day: NDArray[np.int64], bad: NDArray[np.bool_], timed: NDArray[np.bool_] | None = None) -> DayNumbers:
    timed = np.zeros(len(day), dtype=bool) if timed is None else timed & ~bad
    return DayNumbers(np.where(bad, 0, day) if bad.any() else day, bad, timed)


def _from_numbers(numbers: NDArray[Any], bad: NDArray[np.bool_]) -> DayNumbers:
    """Numbers of days, and times since 1970 in the unit that their size tells."""
    large = not ((numbers > -TIMES_FROM) & (numbers < TIMES_FROM)).all()
    if large:
        bad = bad | ~((numbers > -TIMES_FROM) & (numbers < 2**63))
        numbers = np.where(bad, np.zeros(1, dtype=numbers.dtype), numbers)
    timed = numbers >= TIMES_FROM
    if numbers.dtype.kind == "f":
        bad = bad | ((numbers != np.floor(numbers)) & ~timed)
        numbers = np.floor(np.where(bad, 0, numbers))
    day = numbers.astype(np.int64)
    if large:
        unit = np.select([day < size for size, _ in UNITS[:-1]], [ticks for _, ticks in UNITS[:-1]], UNITS[-1][1])
        day = np.where(timed, day // (unit * SECONDS), day)
    return _without(day, bad, timed)


def _from_texts(texts: pa.Array) -> DayNumbers:
    """Whole numbers, ISO dates and ISO times, with or without a zone. Each distinct text is looked at once."""
    encoded = texts.dictionary_encode(null_encoding="encode")
    found = _parsed(encoded.dictionary)
    at = encoded.indices.to_numpy(zero_copy_only=False)
    return DayNumbers(found.day[at], found.bad[at], found.timed[at])


def _parsed(texts: pa.Array) -> DayNumbers:
    whole = _matching(texts, WHOLE)
    if whole.all():
        return _from_numbers(pc.utf8_trim_whitespace(texts).cast(pa.int64()).to_numpy(), ~whole)
    number = _matching(texts, NUMBER) & ~whole
    day, bad, timed = _civil(texts)
    for where, kind in ((whole, pa.int64()), (number, pa.float64())):
        if where.any():
            numbers = pc.utf8_trim_whitespace(texts.filter(pa.array(where))).cast(kind).to_numpy()
            day[where], bad[where], timed[where] = _from_numbers(numbers, np.zeros(len(numbers), dtype=bool))
    return DayNumbers(day, bad, timed)


def _matching(texts: pa.Array, pattern: str) -> NDArray[np.bool_]:
    found = pc.match_substring_regex(texts, pattern).fill_null(False)
    return np.asarray(found.to_numpy(zero_copy_only=False))


def _civil(texts: pa.Array) -> DayNumbers:
    """ISO dates and times; what has no such day, as 30 February, has none."""
    matched = pc.extract_regex(texts, TIME)
    group = {name: pc.struct_field(matched, name) for name in GROUPS}
    behind = pc.equal(group.pop("sign"), "-").fill_null(False).to_numpy(zero_copy_only=False)
    number = {
        name: pc.if_else(pc.equal(of, ""), "0", of).fill_null("0").cast(pa.int64()).to_numpy()
        for name, of in group.items()
    }
    bad = np.asarray(matched.is_null().to_numpy(zero_copy_only=False)) | ~possible(**number)
    offset = number["hours"] * 60 + number["minutes"]
    minutes = number["hour"] * 60 + number["minute"] - np.where(behind, -offset, offset)
    day = civil_day(number["year"], number["month"], number["day"]) + minutes // (24 * 60)
    return DayNumbers(np.where(bad, 0, day), bad, np.zeros(len(texts), dtype=bool))


def civil_day(year: Any, month: Any, day: Any) -> Any:
    """The number of a date's day since 1970-01-01, in arrays or expressions of whole numbers.

    >>> civil_day(1970, 1, 1), civil_day(2024, 2, 29), civil_day(2000, 3, 1) - civil_day(2000, 2, 1)
    (0, 19782, 29)
    """
    before = (14 - month) // 12  # 1 for January and February, which end the year before
    years, months = year + 4800 - before, month + 12 * before - 3
    leaps = years // 4 - years // 100 + years // 400
    return day + (153 * months + 2) // 5 + 365 * years + leaps - 32_045 - 2_440_588


def possible(year: Any, month: Any, day: Any, hour: Any, minute: Any, second: Any, *, hours: Any, minutes: Any) -> Any:
    """Whether there is such a date, time and zone."""
    last = civil_day(year + month // 12, month % 12 + 1, 1) - civil_day(year, month, 1)
    date = (year >= 1) & (month >= 1) & (month <= 12) & (day >= 1) & (day <= last)
    return date & (hour < 24) & (minute < 60) & (second <= 60) & (hours < 24) & (minutes < 60)
