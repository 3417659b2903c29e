"""The Open Bandit Dataset: one csv file per campaign, one row per shown item.

A row says which item was shown at which of three positions, with the chance of that, but not which rows were one page:
pages cannot be rebuilt. So each row is a ranking of one item, its query is its position, and `propensity` is the chance
that the logging policy shows the item at that position. `day` is the date of the timestamp as written (UTC).

Item ids are numbered per campaign: the same number in two campaigns is two items.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from counterrank.errors import InputError
from counterrank.log.foreign import PATTERNS, Foreign, bad_line, clipped, content, files_of, no_time_unit
from counterrank.words import counted

COLUMNS = ["timestamp", "item_id", "position", "click", "propensity_score"]
CONTEXT = "item_context.csv"  # what the items are: lies beside each log, and is no log
NUMBER = r"^[0-9]*\.?[0-9]+(?:[eE][-+]?[0-9]+)?$"


def read(paths: Sequence[Path], *, time_unit: str | None = None) -> Foreign:
    """Read files or campaign folders of the Open Bandit Dataset."""
    no_time_unit(time_unit, "Open Bandit times are dates")
    files = [path for path in files_of(paths, PATTERNS["obd"]) if not path.name.startswith(CONTEXT)]
    if not files:
        raise InputError(f"{paths[0]}: only {CONTEXT} in it, expected a log such as all.csv")
    table = pa.concat_tables([_read_file(path) for path in files]).combine_chunks()
    rows, clicks = table.num_rows, pc.sum(pc.list_flatten(table["clicks"])).as_py()
    notes = [
        f"{counted(rows, 'row')}, {counted(clicks, 'click')}, each row a ranking of one item, its position the query; "
        "which rows were one page is not in the data, so pages cannot be rebuilt."
    ]
    if len({path.name.split(".")[0] for path in files}) > 1:
        notes.append(
            f"{counted(len(files), 'file')} of several campaigns as one: item ids overlap, so read them apart."
        )
    return Foreign(table, notes)


def _read_file(path: Path) -> pa.Table:
    rows = _read_csv(path)

    def check(good: pa.Array, column: str, expected: str) -> None:
        wrong = np.flatnonzero(~np.asarray(pc.fill_null(good, False)))
        if len(wrong):
            at = int(wrong[0])
            text = rows[column][at].as_py()
            raise InputError(f"{path}, line {at + 2}: {column} came as {clipped(text)}, expected {expected}")

    check(pc.match_substring_regex(rows["timestamp"], r"^\d{4}-\d\d-\d\d([ T]|$)"), "timestamp", "a date and time")
    check(pc.not_equal(rows["item_id"], ""), "item_id", "an item id")
    check(pc.not_equal(rows["position"], ""), "position", "a position")
    check(pc.is_in(rows["click"], pa.array(["0", "1"])), "click", "0 or 1")
    check(pc.match_substring_regex(rows["propensity_score"], NUMBER), "propensity_score", "a number in (0, 1]")
    propensity = rows["propensity_score"].cast(pa.float64())
    inside = pc.and_(pc.greater(propensity, 0), pc.less_equal(propensity, 1))
    check(inside, "propensity_score", "a number in (0, 1]")
    try:
        day = pc.utf8_slice_codeunits(rows["timestamp"], 0, 10).cast(pa.date32())
    except pa.ArrowInvalid as error:
        raise InputError(f"{path}: a timestamp is no date ({error}), expected such as 2019-11-24 00:00:17") from None
    offsets = pa.array(np.arange(len(rows) + 1), pa.int32())
    return pa.table(
        {
            "query": rows["position"],
            "items": pa.ListArray.from_arrays(offsets, rows["item_id"].combine_chunks()),
            "clicks": pa.ListArray.from_arrays(offsets, rows["click"].cast(pa.int8()).combine_chunks()),
            "propensity": propensity,
            "day": day,
        }
    )


def _read_csv(path: Path) -> pa.Table:
    """The columns we need, all as text, so that ids stay as they are."""
    data = content(path)
    header = data.split(b"\n", 1)[0].decode("utf-8", errors="replace").strip().split(",")
    missing = [name for name in COLUMNS if name not in header]
    if missing:
        came = clipped(",".join(header))
        raise InputError(f"{path}: no column {', '.join(missing)}: came {came}, expected {', '.join(COLUMNS)}")
    broken: list[csv.InvalidRow] = []

    def stop(row: csv.InvalidRow) -> str:
        broken.append(row)
        return "skip"

    options = csv.ConvertOptions(include_columns=COLUMNS, column_types=dict.fromkeys(COLUMNS, pa.string()))
    parse = csv.ParseOptions(invalid_row_handler=stop)
    try:
        rows = csv.read_csv(pa.BufferReader(data), csv.ReadOptions(use_threads=False), parse, options)
    except pa.ArrowInvalid as error:
        raise InputError(f"{path}: cannot be read as csv ({error})") from None
    if broken:
        row = broken[0]
        wanted = f"{row.expected_columns} fields, not {row.actual_columns}"
        raise bad_line(path, row.number or 0, row.text or "", wanted)
    if not rows.num_rows:
        raise InputError(f"{path}: only a header, expected at least one row")
    return rows
