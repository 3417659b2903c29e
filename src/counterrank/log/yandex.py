"""Yandex result pages, in the two layouts that are about. Which one a file has is told from its first line.

**Actions** (the relevance-prediction challenge; NAVER's logs too), one line per action:

    session TAB time TAB Q TAB query TAB region TAB url1 TAB … TAB url10
    session TAB time TAB C TAB url

The query id is `query` alone: the region is where the user is, and its ids are not part of what was asked. Lines need
not be in time order. A click goes to the latest page of its session that is not later than the click and shows the
url; of two such pages at the same time, to the one on the later line. Sessions go on from one file to the next.
`day` is time // 86,400,000 (milliseconds), or by `time_unit`: ms, s, min, h, day, or the number of units in a day.

**Records** separated by `;` (and line ends), one per page, with no time, so with no `day`:

    query_region TAB url1,…,url10 : clicked , clicked

Here `query_region` is the query id as it stands, and clicked urls are in click order.

In both a repeated url keeps its first place, so the list gets shorter; repeated clicks on an item count once; a click
on a url that no fitting page shows is left out. Each of these is counted in the notes.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from counterrank.errors import InputError
from counterrank.log.foreign import Foreign, Lines, clipped, files_of, lines_of, no_time_unit, opening
from counterrank.records import dataclass
from counterrank.words import counted

UNITS_PER_DAY = {"ms": 86_400_000, "s": 86_400, "min": 1_440, "h": 24, "day": 1}
ACTIONS = "session TAB time TAB Q TAB query TAB region TAB urls, or session TAB time TAB C TAB url"
RECORDS = "query_region TAB urls with commas ' : ' clicked urls with commas"

Int = NDArray[np.int64]


@dataclass(frozen=True)
class Pages:
    """Pages and clicks as flat arrays: items of page 0, of page 1, …; clicks with the page they name."""

    query: pa.Array
    page: Int  # of each item, ascending
    items: pa.Array
    click_page: Int  # -1: no page
    clicked: pa.Array
    day: Int | None = None


def read(paths: Sequence[Path], *, time_unit: str | None = None) -> Foreign:
    """Read Yandex logs in either layout, all files in the same one."""
    files = files_of(paths)
    actions = [_is_actions(path) for path in files]
    if any(actions) != all(actions):
        other = files[actions.index(not actions[0])]
        raise InputError(f"{files[0]} and {other} have different layouts, expected one: read them apart")
    if actions[0]:
        per_day = _units_per_day(time_unit)
        foreign = _finish(_from_actions(lines_of(files, trim="\t"), per_day))
        foreign.notes.append(f"day = time // {per_day:,}.")
        return foreign
    no_time_unit(time_unit, f"{files[0]} has no time")
    return _finish(_from_records(lines_of(files, separator=";", trim=" \t")))


def _units_per_day(time_unit: str | None) -> int:
    unit = "ms" if time_unit is None else time_unit
    if unit in UNITS_PER_DAY:
        return UNITS_PER_DAY[unit]
    if unit.isdecimal() and int(unit) > 0:
        return int(unit)
    raise InputError(f"time unit came as {unit!r}, expected {', '.join(UNITS_PER_DAY)} or the number of units in a day")


def _is_actions(path: Path) -> bool:
    text = opening(path)
    fields = text.split("\t")
    if len(fields) > 3 and fields[2] in ("Q", "C"):
        return True
    if len(fields) > 1 and " :" in text:
        return False
    raise InputError(f"{path}: the first line came as {clipped(text)}, expected {ACTIONS}; or {RECORDS}")


def _from_actions(lines: Lines, per_day: int) -> Pages:
    starts, width, values = _flat(pc.split_pattern(lines.texts, "\t"))
    _check_actions(lines, starts, width, values)
    is_page = _numpy(pc.equal(values.take(pa.array(starts + 2)), "Q"))
    time = _numpy(values.take(pa.array(starts + 1)).cast(pa.int64()))
    session = _codes(values.take(pa.array(starts)))
    row = np.repeat(np.arange(len(starts)), width)
    is_item = is_page[row] & (np.arange(len(values)) - starts[row] >= 5)
    number = np.cumsum(is_page) - 1  # page of each Q line
    query = values.take(pa.array(starts[is_page] + 3))
    page, items = number[row[is_item]], values.filter(pa.array(is_item))
    clicked = values.take(pa.array(starts[~is_page] + 3))
    if not len(query):
        raise InputError(f"{lines.paths[0]}: has clicks but no page, expected lines with Q")
    where = _latest_page(
        session[is_page][page], time[is_page][page], page, items, session[~is_page], time[~is_page], clicked=clicked
    )
    return Pages(query, page, items, where, clicked, time[is_page] // per_day)


def _check_actions(lines: Lines, starts: Int, width: Int, values: pa.Array) -> None:
    lines.check(width >= 4, ACTIONS)
    kind = values.take(pa.array(starts + 2))
    is_page = _numpy(pc.equal(kind, "Q"))
    lines.check(is_page | _numpy(pc.equal(kind, "C")), f"Q or C in the third field: {ACTIONS}")
    time = values.take(pa.array(starts + 1))
    lines.check(pc.match_substring_regex(time, r"^-?[0-9]{1,18}$"), "a whole number as time, in the second field")
    lines.check(~is_page | (width >= 6), "a page with at least one url: session, time, Q, query, region, urls")
    lines.check(is_page | (width == 4), "a click with one url: session, time, C, url")
    lines.check(_empty(starts, values) == 0, "no empty field between two tabs")


def _latest_page(
    session: Int, time: Int, page: Int, items: pa.Array, click_session: Int, click_time: Int, *, clicked: pa.Array
) -> Int:
    """The latest page of the click's session, not later than the click, that shows its url; -1 where there is none.

    Pages and clicks of the same session and url are sorted together by time, pages first: the page that a click
    belongs to is the nearest page before it.
    """
    both = _codes(pa.concat_arrays([items, clicked]))
    size = int(both.max()) + 1
    shown_key = session * size + both[: len(items)]
    click_key = click_session * size + both[len(items) :]
    wanted = np.flatnonzero(_find(np.unique(click_key), shown_key) >= 0)
    n, m = len(wanted), len(clicked)
    key = np.concatenate([shown_key[wanted], click_key])
    is_click = np.repeat([0, 1], [n, m])
    moment = np.concatenate([time[wanted], click_time])
    order = np.lexsort((np.concatenate([page[wanted], np.arange(m)]), is_click, moment, key))
    nearest = np.maximum.accumulate(np.where(is_click[order] == 0, np.arange(n + m), -1))
    before = np.where(nearest >= 0, order[nearest], -1)  # the page's index, for each of the sorted
    fits = (before >= 0) & (key[before] == key[order])
    found = np.full(m, -1, dtype=np.int64)
    hit = fits & (is_click[order] == 1)
    found[order[hit] - n] = page[wanted[before[hit]]]
    return found


def _from_records(lines: Lines) -> Pages:
    parts, width, values = _flat(pc.split_pattern(pc.ascii_ltrim_whitespace(lines.texts), "\t"))
    lines.check(width == 2, RECORDS)
    halves = pc.split_pattern(values.take(pa.array(parts + 1)), " :")
    lines.check(pc.equal(pc.list_value_length(halves), 2), f"one ' : ' between shown and clicked urls: {RECORDS}")
    starts, shown, items = _urls(halves, 0)
    lines.check(_empty(starts, items) == 0, f"no empty url: {RECORDS}")
    starts, clicks, clicked = _urls(halves, 1)
    lines.check((_empty(starts, clicked) == 0) | (clicks == 1), f"no empty url among the clicked: {RECORDS}")
    real = _numpy(pc.not_equal(clicked, ""))  # nothing after the colon: no click
    page = np.arange(len(parts))
    click_page = np.repeat(page, clicks)[real]
    query, clicked = values.take(pa.array(parts)), clicked.filter(pa.array(real))
    return Pages(query, np.repeat(page, shown), items, click_page, clicked)


def _urls(halves: pa.Array, which: int) -> tuple[Int, Int, pa.Array]:
    starts, width, urls = _flat(pc.split_pattern(pc.list_element(halves, which), ","))
    return starts, width, pc.ascii_trim_whitespace(urls)


def _finish(pages: Pages) -> Foreign:
    """Drop repeated urls, set the clicks, and say what was found."""
    both = _codes(pa.concat_arrays([pages.items, pages.clicked]))
    size = int(both.max()) + 1
    count = len(pages.query)
    keys, first = np.unique(pages.page * size + both[: len(pages.items)], return_index=True)
    keep = np.sort(first)
    place = np.full(len(pages.items), -1, dtype=np.int64)  # new place of an item that is kept
    place[keep] = np.arange(len(keep))
    at = _find(keys, pages.click_page * size + both[len(pages.items) :])
    at[pages.click_page < 0] = -1
    clicks = np.zeros(len(keep), dtype=np.int8)
    clicks[place[first[at[at >= 0]]]] = 1
    lengths = np.bincount(pages.page[keep], minlength=count)
    offsets = pa.array(np.concatenate([[0], np.cumsum(lengths)]), pa.int32())
    columns: dict[str, Any] = {
        "query": pages.query.cast(pa.string()),
        "items": pa.ListArray.from_arrays(offsets, pages.items.take(pa.array(keep)).cast(pa.string())),
        "clicks": pa.ListArray.from_arrays(offsets, pa.array(clicks)),
    }
    if pages.day is not None:
        columns["day"] = pa.array(pages.day)
    table = pa.table(columns)
    repeats = int((lengths < np.bincount(pages.page, minlength=count)).sum())
    return Foreign(table, _notes(pages, table, at, int(clicks.sum()), repeats))


def _notes(pages: Pages, table: pa.Table, at: Int, set_clicks: int, repeats: int) -> list[str]:
    queries = counted(pc.count_distinct(table["query"]).as_py(), "query", "queries")
    notes = [f"{counted(len(pages.query), 'page')} of {queries}, {counted(len(at), 'click')}."]
    lost = int((at < 0).sum())
    if lost and pages.day is None:
        on = counted(len(np.unique(pages.click_page[at < 0])), "page")
        notes.append(f"{counted(lost, 'unmatched click')} left out: the url is not on its page ({on}).")
    elif lost:
        notes.append(f"{counted(lost, 'unmatched click')} left out: no earlier page of the session shows the url.")
    if again := len(at) - lost - set_clicks:
        notes.append(f"{counted(again, 'repeated click')} on an item already clicked, counted once.")
    if repeats:
        notes.append(f"{counted(repeats, 'page')} with a repeated url, which keeps its first place.")
    return notes


def _flat(lists: pa.Array) -> tuple[Int, Int, pa.Array]:
    """Where each list starts in the flat values, how long it is, and the flat values."""
    offsets = _numpy(lists.offsets).astype(np.int64)
    return offsets[:-1] - offsets[0], np.diff(offsets), lists.flatten()


def _empty(starts: Int, values: pa.Array) -> Int:
    """How many empty texts each list has."""
    return np.add.reduceat(_numpy(pc.equal(values, "")).astype(np.int64), starts)


def _codes(texts: pa.Array) -> Int:
    return _numpy(texts.dictionary_encode().indices).astype(np.int64)


def _find(keys: Int, wanted: Int) -> Int:
    """Where each wanted key is among sorted keys, -1 where it is not."""
    if not len(keys):
        return np.full(len(wanted), -1, dtype=np.int64)
    at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return np.where(keys[at] == wanted, at, -1)


def _numpy(array: Any) -> NDArray[Any]:
    return np.asarray(array.to_numpy(zero_copy_only=False))
