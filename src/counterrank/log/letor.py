"""LETOR and SVMlight text: features and labels of the documents of queries.

    label qid:10002 1:0.007477 2:0 … 46:0.007042 #docid = GX008-86-4444840 inc = 1

It is no click log: it gives features, and labels to simulate from.
The item is the docid of the comment, or, for a line without one, the number of the line within its query, from 1
(counted over all files together, in their order). A feature that a line leaves out is 0. Lines of a query need not
be together.
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
from counterrank.log.foreign import Foreign, Lines, files_of, lines_of

LINE = "label qid:id 1:value 2:value … #docid = id"
BLOCK = 20_000  # lines that are split at a time: tokens take far more room than numbers
MOST_FEATURES = 100_000


def read(paths: Sequence[Path], *, time_unit: str | None = None) -> Foreign:
    """A LETOR file is no click log, and this says what it is for."""
    raise InputError(
        f"{', '.join(map(str, paths))}: letor files hold features and labels, not clicks: "
        "give a log of what was shown and clicked (read_letor reads these files from Python)"
    )


def read_letor(paths: Sequence[Path]) -> pa.Table:
    """Columns `query`, `item` (string), `label` (int64) and `f1` to `fN` (float64), a row per line."""
    lines = lines_of(files_of(paths), trim=" \t")
    hash_at = pc.find_substring(lines.texts, "#")
    bare = pc.equal(hash_at, 0)
    lines.check(pc.invert(bare), LINE)
    blocks = [_parse(_part(lines, start)) for start in range(0, len(lines.texts), BLOCK)]
    width = max(block.values.shape[1] for block in blocks)
    query = pa.concat_arrays([block.query for block in blocks]).cast(pa.string())
    columns: dict[str, Any] = {
        "query": query,
        "item": _items(lines.texts, query),
        "label": pa.array(np.concatenate([block.label for block in blocks])),
    }
    for k in range(width):
        columns[f"f{k + 1}"] = pa.array(np.concatenate([block.column(k) for block in blocks]))
    return pa.table(columns)


class Block:
    """Some parsed lines; `values` is lines × features, as wide as these lines need."""

    def __init__(self, query: pa.Array, label: NDArray[np.int64], values: NDArray[np.float64]) -> None:
        self.query, self.label, self.values = query, label, values

    def column(self, k: int) -> NDArray[np.float64]:
        """Feature k, zero where this block has not as many."""
        return self.values[:, k] if k < self.values.shape[1] else np.zeros(len(self.values))


def _part(lines: Lines, start: int) -> Lines:
    part = slice(start, start + BLOCK)
    return Lines(lines.paths, lines.file[part], lines.numbers[part], lines.texts[part])


def _parse(lines: Lines) -> Block:
    tokens = pc.ascii_split_whitespace(_before_comment(lines.texts))
    offsets = tokens.offsets.to_numpy().astype(np.int64)
    starts, count, flat = offsets[:-1] - offsets[0], np.diff(offsets), tokens.flatten()
    first = np.zeros(len(flat), dtype=bool)
    first[starts] = True
    row = np.repeat(np.arange(len(starts)), count)
    lines.check(count >= 2, LINE)
    label = _numbers(lines, flat.take(pa.array(starts)), np.arange(len(starts)), "a whole number as label")
    lines.check(label == np.floor(label), f"a whole number as label: {LINE}")
    qid = flat.take(pa.array(starts + 1))
    lines.check(pc.match_substring_regex(qid, "^qid:."), f"qid: after the label: {LINE}")
    first[starts + 1] = True
    pairs, row = flat.filter(pa.array(~first)), row[~first]
    values = _dense(lines, pairs, row)
    return Block(pc.utf8_slice_codeunits(qid, 4), label.astype(np.int64), values)


def _dense(lines: Lines, pairs: pa.Array, row: NDArray[np.int64]) -> NDArray[np.float64]:
    shape = "features such as 3:0.25, counted from 1"
    if not len(pairs):
        return np.zeros((len(lines.texts), 0))
    halves = pc.split_pattern(pairs, ":")
    _rows_good(lines, row, pc.equal(pc.list_value_length(halves), 2), shape)
    flat = halves.flatten()
    odd = pa.array(np.arange(len(row)) * 2)
    index_text = flat.take(odd)
    _rows_good(lines, row, pc.match_substring_regex(index_text, "^[1-9][0-9]{0,8}$"), shape)
    index = index_text.cast(pa.int64()).to_numpy() - 1
    value = _numbers(lines, flat.take(pc.add(odd, 1)), row, shape)
    width = int(index.max()) + 1
    _rows_good(lines, row, index < MOST_FEATURES, f"at most {MOST_FEATURES:,} features")
    place = row * width + index
    ascending = np.diff(place) > 0
    if not ascending.all():
        order = np.argsort(place, kind="stable")
        again = np.zeros(len(place), dtype=bool)
        again[order[1:][np.diff(place[order]) == 0]] = True
        _rows_good(lines, row, ~again, "each feature once")
    dense = np.zeros(len(lines.texts) * width)
    dense[place] = value
    return dense.reshape(len(lines.texts), width)


def _numbers(lines: Lines, texts: pa.Array, row: NDArray[np.int64], expected: str) -> NDArray[np.float64]:
    """Texts as finite numbers. Only when that fails, look which one it was."""
    try:
        numbers = np.asarray(texts.cast(pa.float64()).to_numpy())
    except pa.ArrowInvalid:
        number = r"^[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?$"
        _rows_good(lines, row, pc.match_substring_regex(texts, number), expected)
        numbers = np.array([float(text) for text in texts.to_pylist()])  # "+1" and the like: rare
    _rows_good(lines, row, np.isfinite(numbers), f"{expected}, finite")
    return numbers


def _rows_good(lines: Lines, row: NDArray[np.int64], good: Any, expected: str) -> None:
    """Stop at the first line that has a token that is not good."""
    wrong = row[~np.asarray(good, dtype=bool)]
    if len(wrong):
        fine = np.ones(len(lines.texts), dtype=bool)
        fine[wrong] = False
        lines.check(fine, expected)


def _before_comment(texts: pa.Array) -> pa.Array:
    return pc.ascii_trim_whitespace(pc.list_element(pc.split_pattern(texts, "#", max_splits=1), 0))


def _items(texts: pa.Array, query: pa.Array) -> pa.Array:
    """The docid of each line, or the line's number within its query."""
    found = pc.struct_field(pc.extract_regex(texts, r"#.*?\bdocid\s*=\s*(?P<docid>\S+)"), "docid")
    if not found.null_count and pc.all(pc.not_equal(found, "")).as_py():
        return found.cast(pa.string())
    codes = query.dictionary_encode().indices.to_numpy()
    order = np.argsort(codes, kind="stable")
    place = np.arange(len(codes))
    starts = np.flatnonzero(np.diff(codes[order], prepend=-1))
    within = np.empty(len(codes), dtype=np.int64)
    within[order] = place - np.repeat(starts, np.diff(starts, append=len(codes))) + 1
    missing = pc.or_kleene(pc.is_null(found), pc.equal(found, ""))
    return pc.if_else(missing, pa.array(within).cast(pa.string()), found.cast(pa.string()))
