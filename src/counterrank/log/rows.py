"""A batch of a log as plain arrays, checked row by row."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from counterrank.compiled import njit
from counterrank.errors import InputError
from counterrank.ids import as_text, is_text
from counterrank.limits import LARGEST
from counterrank.log.days import day_numbers
from counterrank.log.keys import SEPARATOR, IdKeys, Keys, id_keys
from counterrank.log.lists import is_list, plain_lists
from counterrank.log.problems import RowProblem
from counterrank.log.spelled import parse_lists
from counterrank.records import dataclass

_BAD_CLICK = 2


@dataclass(frozen=True)
class Kinds:
    """What a log's ids are. They are counted as integers only where every part has them so; `native_…` says
    whether output gives them back as integers."""

    integer_queries: bool
    integer_items: bool
    native_queries: bool
    native_items: bool


@dataclass(frozen=True, kw_only=True)
class Rows:
    """Impressions as arrays: row i shows the items from offsets[i] to offsets[i+1]."""

    query_keys: IdKeys
    query_values: Any  # Arrow array, integer or text
    offsets: NDArray[np.int64]
    item_keys: IdKeys
    item_values: Any
    clicks: NDArray[np.int8] | None
    reward: NDArray[np.float64] | None
    propensity: NDArray[np.float64] | None
    item_propensities: NDArray[np.float64] | None  # one for each item key
    impressions: NDArray[np.int64]
    day: NDArray[np.int64] | None
    cluster: Keys | None = None
    cluster_values: Any = None  # Arrow array of text
    segment: Any = None  # Arrow array of text
    timed: int = 0  # rows whose day was told as a time since 1970
    repaired: int = 0  # rows that repeated an item

    def __len__(self) -> int:
        return len(self.query_keys)


def read_rows(batch: pa.RecordBatch, kinds: Kinds, name: str, repair: bool = False) -> tuple[Rows, NDArray[np.int8]]:
    """The rows of a batch, and the first problem of each (0: none). With `repair` an item that is repeated keeps its
    first place only, and is clicked there if it was clicked anywhere."""
    problem = np.zeros(len(batch), dtype=np.int8)
    column = dict(zip(batch.schema.names, batch.columns, strict=True))
    if "problem_" in column:
        problem[:] = column["problem_"].to_numpy()
    query_keys, query_values = id_keys(column["query"], kinds.integer_queries, f"{name}: query")
    nameless = query_values if not kinds.integer_queries else column["query"]
    if nameless.null_count:
        _mark(problem, _null(nameless), RowProblem.QUERY)

    items = _list(column["items"], f"{name}: items", "VARCHAR[]")
    offsets, values = _unnest(items)
    item_keys, item_values = id_keys(values, kinds.integer_items, f"{name}: items")
    _mark(problem, _null(items) | (offsets[1:] == offsets[:-1]), RowProblem.ITEMS)
    missing = values if kinds.integer_items else item_values
    if missing.null_count:
        _mark(problem, _any_in(_null(missing), offsets), RowProblem.ITEM)
    repeats = _repeats(item_keys.marks(), offsets)
    if not repair:
        _mark(problem, repeats, RowProblem.REPEATED)

    clicks = _clicks(column.get("clicks"), offsets, f"{name}: clicks", problem)
    reward = _number(column.get("reward"), f"{name}: reward")
    if reward is not None:
        _mark(problem, ~np.isfinite(reward), RowProblem.REWARD)
        _mark(problem, np.abs(reward) > LARGEST, RowProblem.LARGE)
    propensity = _propensity(column.get("propensity"), f"{name}: propensity", problem)
    chances = _chances(column.get("item_propensities"), offsets, f"{name}: item_propensities", problem)
    impressions = _impressions(column.get("impressions"), f"{name}: impressions", problem)
    day, timed = None, 0
    if "day" in column:
        day, no_day, as_time = day_numbers(column["day"], f"{name}: day")
        _mark(problem, no_day, RowProblem.DAY)
        timed = int(np.count_nonzero(as_time))
    cluster = named = None
    if "cluster" in column:
        cluster, named = id_keys(column["cluster"], False, f"{name}: cluster")
        _mark(problem, _null(named), RowProblem.CLUSTER)
    rows = Rows(
        query_keys=query_keys,
        query_values=query_values,
        offsets=offsets,
        item_keys=item_keys,
        item_values=item_values,
        clicks=clicks,
        reward=reward,
        propensity=propensity,
        item_propensities=chances,
        impressions=impressions,
        day=day,
        cluster=None if cluster is None else cluster.each(),
        cluster_values=named,
        segment=_segment(column.get("segment"), f"{name}: segment", problem),
        timed=timed,
    )
    if repair and repeats.any() and not problem.any():  # where a row is bad, the good ones are read once more
        rows = _repaired(rows, repeats)
    return rows, problem


def _segment(column: pa.Array | None, name: str, problem: NDArray[np.int8]) -> pa.Array | None:
    """What queries are told apart by, as text; what is no id is marked."""
    if column is None:
        return None
    segment = as_text(column, name)
    mixed = pc.fill_null(pc.match_substring(segment, SEPARATOR), False).to_numpy(zero_copy_only=False)
    _mark(problem, _null(segment) | mixed, RowProblem.SEGMENT)
    return segment


def _clicks(
    column: pa.Array | None, offsets: NDArray[np.int64], name: str, problem: NDArray[np.int8]
) -> NDArray[np.int8] | None:
    """The clicks of all rows, one after the other; what is wrong with them is marked."""
    if column is None:
        return None
    lists = _list(column, name, "DOUBLE[]")
    click_offsets, values = _unnest(lists)
    clicks, good = _click_codes(values, name)
    _mark(problem, _null(lists), RowProblem.CLICKS)
    if not np.array_equal(click_offsets, offsets):
        _mark(problem, np.diff(click_offsets) != np.diff(offsets), RowProblem.LENGTH)
    if not good:
        _mark(problem, _any_in(clicks == _BAD_CLICK, click_offsets), RowProblem.CLICK)
    return clicks


def _impressions(column: pa.Array | None, name: str, problem: NDArray[np.int8]) -> NDArray[np.int64]:
    """How many identical impressions each row stands for."""
    number = _number(column, name)
    if number is None:
        return np.ones(len(problem), dtype=np.int64)
    whole = (number >= 1) & (number == np.floor(number)) & (number < 2**53)
    _mark(problem, ~whole, RowProblem.IMPRESSIONS)
    return np.where(whole, number, 1).astype(np.int64)


def _propensity(column: pa.Array | None, name: str, problem: NDArray[np.int8]) -> NDArray[np.float64] | None:
    propensity = _number(column, name)
    if propensity is not None:
        _mark(problem, ~((propensity > 0) & (propensity <= 1)), RowProblem.PROPENSITY)
    return propensity


def _chances(
    column: pa.Array | None, offsets: NDArray[np.int64], name: str, problem: NDArray[np.int8]
) -> NDArray[np.float64] | None:
    """The propensities of the items of all rows, one after the other; what is wrong with them is marked."""
    if column is None:
        return None
    lists = _list(column, name, "DOUBLE[]")
    own_offsets, values = _unnest(lists)
    if is_text(values.type):  # of a column that is null throughout
        values = values.cast(pa.float64())
    chances = _number(values, name)
    assert chances is not None  # noqa: S101 - there is a column
    _mark(problem, _null(lists) | (np.diff(own_offsets) != np.diff(offsets)), RowProblem.ITEM_PROPENSITIES)
    outside = ~((chances > 0) & (chances <= 1))
    if outside.any():
        _mark(problem, _any_in(outside, own_offsets), RowProblem.ITEM_PROPENSITY)
    return chances


def _repaired(rows: Rows, repeats: NDArray[np.bool_]) -> Rows:
    """Each item at its first place only."""
    clicks = rows.clicks.copy() if rows.clicks is not None else np.zeros(len(rows.item_keys), dtype=np.int8)
    keep = _firsts(rows.item_keys.marks(), rows.offsets, repeats, clicks)
    offsets = np.concatenate(([0], np.cumsum(keep)))[rows.offsets]
    return replace(
        rows,
        offsets=offsets,
        item_keys=rows.item_keys.kept(keep),
        item_values=rows.item_values.filter(pa.array(keep)),
        clicks=clicks[keep] if rows.clicks is not None else None,
        item_propensities=rows.item_propensities[keep] if rows.item_propensities is not None else None,
        repaired=int(np.count_nonzero(repeats)),
    )


@njit(nogil=True)
def _firsts(keys, offsets, repeats, clicks):  # type: ignore[no-untyped-def]
    """Which places are the first of their item; a click on a later one is added to the first."""
    keep = np.ones(len(keys), dtype=np.bool_)
    for r in range(len(repeats)):
        if repeats[r]:
            for i in range(offsets[r] + 1, offsets[r + 1]):
                for j in range(offsets[r], i):
                    if keep[i] and keys[i] == keys[j]:
                        keep[i] = False
                        clicks[j] |= clicks[i]
    return keep


def _mark(problem: NDArray[np.int8], where: NDArray[np.bool_], what: RowProblem) -> None:
    if where.any():
        problem[where & (problem == 0)] = what


def _null(values: pa.Array) -> NDArray[np.bool_]:
    if values.null_count == 0:
        return np.zeros(len(values), dtype=bool)
    return np.asarray(values.is_null().to_numpy(zero_copy_only=False))


def _list(values: pa.Array, what: str, listed: str) -> pa.Array:
    kind = values.type
    if pa.types.is_null(kind):
        return values.cast(pa.list_(pa.string()))
    if is_list(kind):
        return plain_lists(values)
    if is_text(kind):
        return parse_lists(values, listed)
    raise InputError(f"{what} must be a list, but came as {kind}: store it as a list, or as text that spells one")


def _unnest(lists: pa.Array) -> tuple[NDArray[np.int64], pa.Array]:
    """The offsets from 0 and the values of a list array, which may be a slice of another."""
    offsets = lists.offsets.to_numpy().astype(np.int64)
    values = lists.values.slice(offsets[0], offsets[-1] - offsets[0])
    return offsets - offsets[0], values


def _any_in(flags: NDArray[np.bool_], offsets: NDArray[np.int64]) -> NDArray[np.bool_]:
    total = np.concatenate(([0], np.cumsum(flags)))
    return np.asarray(total[offsets[1:]] > total[offsets[:-1]])


@njit(nogil=True)
def _repeats(marks, offsets):  # type: ignore[no-untyped-def]
    """Whether an item stands twice in a row. A small table tells most rows apart; only the rest are compared."""
    out = np.zeros(len(offsets) - 1, dtype=np.bool_)
    seen = np.full(1024, -1, dtype=np.int32)
    for r in range(len(out)):
        start, end = np.uint64(offsets[r]), np.uint64(offsets[r + 1])
        doubt = False
        for i in range(start, end):
            place = (np.uint64(marks[i]) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(54)
            doubt |= seen[place] == np.int32(r)
            seen[place] = np.int32(r)
        if doubt:
            for i in range(start + np.uint64(1), end):
                for j in range(start, i):
                    out[r] |= marks[i] == marks[j]
    return out


def _click_codes(values: pa.Array, what: str) -> tuple[NDArray[np.int8], bool]:
    """0, 1, or 2 for anything else; and whether there is nothing else."""
    kind = values.type
    if pa.types.is_boolean(kind):
        values = values.cast(pa.int8())
    elif pa.types.is_decimal(kind):
        values = values.cast(pa.float64())
    elif not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_null(kind)):
        raise InputError(f"{what} must be a list of 0 and 1, but came as a list of {kind}: store them as integers")
    if values.null_count:
        values = values.cast(pa.float64()).fill_null(_BAD_CLICK)
    numbers = values.to_numpy(zero_copy_only=False)
    if numbers.dtype == np.int8 or numbers.dtype == np.uint8:
        codes: NDArray[np.int8] = numbers.view(np.int8)
        if not len(codes) or codes.view(np.uint8).max() <= 1:
            return codes, True
        return np.where((codes & 1) == codes, codes, np.int8(_BAD_CLICK)), False
    good = (numbers == 0) | (numbers == 1)
    if good.all():
        return numbers.astype(np.int8), True
    return np.where(good, numbers == 1, np.int8(_BAD_CLICK)).astype(np.int8), False


def _number(values: pa.Array | None, what: str) -> NDArray[np.float64] | None:
    if values is None:
        return None
    kind = values.type
    if pa.types.is_decimal(kind) or pa.types.is_boolean(kind) or pa.types.is_null(kind):
        values = values.cast(pa.float64()) if not pa.types.is_boolean(kind) else values.cast(pa.int8())
    elif not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
        raise InputError(f"{what} must be a number, but came as {kind}: store it as a number, or `ignore` it")
    return np.asarray(values.to_numpy(zero_copy_only=False), dtype=np.float64)
