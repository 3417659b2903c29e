"""Counts are stored and read back, and parts add up to the whole."""

from __future__ import annotations

import hashlib
import io
import json
import pickle
import random
import zipfile
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import counterrank as cr
import worlds
from counterrank.engine import Plan
from counterrank.engine.embedded import Embedded
from counterrank.errors import InputError
from counterrank.ids import Ids
from counterrank.setting.options import position_weights
from counterrank.statistics.counts import Counts
from counterrank.statistics.store import lengthened, read_counts, sealed, shortened


def count(rows: list[dict[str, Any]], **more: Any) -> Counts:
    plan = Plan(metric="clicks", weights=position_weights("dcg"), rankings="all", days="day" in rows[0], **more)
    return Embedded().count(cr.read_log(worlds.to_arrow(rows)), plan).counts


def make_rows(seed: int) -> list[dict[str, Any]]:
    rows = worlds.make_rows(random.Random(seed), queries=5, style="hostile", impressions=True, rows_per_query=(3, 9))
    return [{**row, "day": number % 3} for number, row in enumerate(rows)]


def plain(value: Any) -> Any:
    if isinstance(value, Ids):
        return value.texts.to_pylist(), value.integer
    if is_dataclass(value):
        return {each.name: plain(getattr(value, each.name)) for each in fields(value)}
    if isinstance(value, tuple):
        return [plain(each) for each in value]
    return value.tolist() if isinstance(value, np.ndarray) else value


PLANS: list[dict[str, Any]] = [
    {}, {"looks": True}, {"patterns": True}, {"patterns": True, "by_day": True}, {"pages": "all"}, {"top": 2},
    {"whole_log": True},
]  # fmt: skip


@pytest.mark.parametrize("more", PLANS, ids=str)
def test_counts_come_back_as_they_were(more: dict[str, Any], tmp_path: Path) -> None:
    counts = count(make_rows(1), **more)
    counts.save(tmp_path / "c.npz")
    counts.save(tmp_path / "c.npz")
    found = read_counts(tmp_path / "c.npz")
    if counts.pages is None:
        assert plain(found) == plain(counts)
    assert plain(found + found) == plain(counts + counts)
    again = replace(counts, extremes=(-0.5, 2.0), origin=0.25)
    again.save(tmp_path / "d.npz")
    assert read_counts(tmp_path / "d.npz").extremes == (-0.5, 2.0)


def named(counts: Counts) -> dict[Any, Any]:
    """Every number of the counts under names instead of codes."""
    pairs, out = counts.pairs, {}
    texts = pairs.query_ids.texts.to_pylist(), pairs.item_ids.texts.to_pylist()
    who = [(texts[0][q], texts[1][i]) for q, i in zip(pairs.queries, pairs.items, strict=True)]
    for q, query in enumerate(texts[0]):
        out[query] = (counts.impressions[q], counts.reward[q], counts.reward2[q], pairs.lengths[q])
        if counts.looks is not None:
            out["last", query] = counts.looks.last_at[q]
    for p, pair in enumerate(who):
        out[pair] = (*counts.cells.dense(counts.shown)[p], *counts.cells.dense(counts.clicked)[p])
        if counts.looks is not None:
            out["looks", pair] = counts.looks.table[p]
    if counts.rankings is not None:
        for chunk in counts.rankings.chunks():
            for g, rows in enumerate(chunk.rows):
                key = texts[0][chunk.queries[g]], tuple(who[row] for row in rows if row >= 0)
                out["ranking", key] = (chunk.impressions[g], chunk.reward[g], chunk.reward2[g])
    if counts.patterns is not None:
        for g, coded in enumerate(counts.patterns.coded):
            key = texts[0][counts.patterns.queries[g]], tuple((who[v >> 1], v & 1) for v in coded if v >= 0)
            key = key if counts.patterns.days is None else (*key, counts.patterns.days[g])
            out["pattern", key] = counts.patterns.impressions[g]
    if counts.days is not None:
        for d, day in enumerate(counts.days.days):
            out["day", day] = (counts.days.impressions[d], counts.days.reward[d], counts.days.reward2[d])
    return out | {"log": counts.log_impressions, "longest": counts.longest, "positions": pairs.positions}


@pytest.mark.parametrize("more", [{}, {"looks": True}, {"patterns": True}, {"patterns": True, "by_day": True}], ids=str)
@pytest.mark.parametrize("seed", range(4))
def test_parts_of_other_words_and_depths_add_up_to_the_whole(seed: int, more: dict[str, Any], tmp_path: Path) -> None:
    rows = make_rows(seed)
    rows.sort(key=lambda row: (len(row["items"]), row["query"]))  # parts differ in queries, items and depth
    whole = count(rows, **more)
    cuts = sorted(random.Random(seed).sample(range(1, len(rows)), 2))
    parts = [count(rows[low:high], **more) for low, high in zip([0, *cuts], [*cuts, len(rows)], strict=True)]
    stored = []
    for number, part in enumerate(parts):
        part.save(tmp_path / f"{number}.npz")
        stored.append(read_counts(tmp_path / f"{number}.npz"))
    for one, two, three in (parts, stored, parts[::-1]):
        for added in ((one + two) + three, one + (two + three)):
            got, wanted = named(added), named(whole)
            assert set(got) == set(wanted)
            for key, value in wanted.items():
                np.testing.assert_allclose(got[key], value, rtol=1e-9, atol=1e-9, err_msg=str(key))


def test_parts_with_other_origins_add_up() -> None:
    rows = make_rows(7)
    whole, one, two = count(rows), count(rows[:9]), count(rows[9:])
    for key, value in named(whole).items():
        np.testing.assert_allclose(named(one + two.rebased(0.7))[key], value, rtol=1e-9, atol=1e-9)


def refused(path: Path) -> str:
    with pytest.raises(InputError) as caught:
        read_counts(path)
    assert "\n" not in str(caught.value)
    assert str(path) in str(caught.value)
    return str(caught.value)


def changed(path: Path, **arrays: Any) -> Path:
    with np.load(path) as file:
        old = {name: file[name] for name in file.files}
    packed = io.BytesIO()
    np.savez(packed, **{name: value for name, value in (old | arrays).items() if value is not None})
    path.write_bytes(sealed(packed))
    return path


class Bomb:
    def __reduce__(self) -> Any:
        return print, ("a pickle was run",)


def test_damaged_files_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "c.npz"

    def fresh() -> Path:
        count(make_rows(2), patterns=True).save(path)
        return path

    data = fresh().read_bytes()
    for damage in (b"", data[:-30], data[: len(data) // 2], b"x" * 100, pickle.dumps(Bomb()), data[::-1]):
        path.write_bytes(damage)
        refused(path)
    refused(tmp_path / "nothing.npz")
    refused(tmp_path)
    with np.load(fresh()) as file:
        head = json.loads(file["head"].tobytes())
        wide = {
            name: file[name].astype(np.int64) for name in ("pairs.items", "shown", "cells.starts", "cells.positions")
        }
        items, shown, starts, place = wide.values()
    for change in (
        {"shown": shown[:, None]}, {"cells.positions": place[::-1].copy()}, {"cells.positions": place + 100},
        {"cells.starts": starts[:-1]}, {"cells.starts": starts + 1}, {"cells.positions": None},
        {"shown": shown * 1.0}, {"shown": -shown - 1}, {"shown": shown[:-1]},
        {"pairs.items": items + 10**6}, {"pairs.items": items - 10**6}, {"pairs.starts": None}, {"more": shown},
        {"shown": np.array([Bomb()], dtype=object)}, {"reward": np.array(["x"])}, {"reward": None},
        {"patterns.coded": np.full((1, 1), 10**6, np.int32)}, {"pairs.query_ids.offsets": np.array([0, 5, 2])},
        {"pairs.query_ids.bytes": np.array([255], np.uint8)},
        *({"head": np.frombuffer(json.dumps(head | other).encode(), np.uint8)} for other in (
            {"version": 1}, {"format": "x"}, {"numbers": {}}, {"numbers": 7}, {"numbers": head["numbers"] | {"x": 1}},
            {"numbers": head["numbers"] | {"pairs.positions": -1}}, {"numbers": head["numbers"] | {"longest": "long"}},
        )),
    ):  # fmt: skip
        refused(changed(fresh(), **change))
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("head.npy", "0" * 10**6)
    path.write_bytes(sealed(packed))
    assert "compressed" in refused(path)
    assert "a pickle was run" not in capsys.readouterr().out


def test_whole_numbers_take_few_bytes_and_those_of_the_version_before_are_read(tmp_path: Path) -> None:
    counts = count(make_rows(3), patterns=True)
    path = tmp_path / "c.npz"
    counts.save(path)
    with np.load(path) as file:
        short = {name: file[name] for name in file.files}
    assert short["shown"].itemsize == short["cells.positions"].itemsize == 1
    head = json.loads(short["head"].tobytes()) | {"version": 4}
    wide = {
        name: each.astype(np.int64) for name, each in short.items() if each.dtype.kind == "u" and "bytes" not in name
    }
    before = changed(path, **wide | {"head": np.frombuffer(json.dumps(head).encode(), np.uint8)})
    assert plain(read_counts(before)) == plain(replace(counts, memo=read_counts(before).memo))


@pytest.mark.parametrize(
    ("most", "size"),
    [(0, 1), (255, 1), (256, 2), (65_535, 2), (65_536, 4), (2**32 - 1, 4), (2**32, 8), (2**63 - 1, 8)],
)
def test_numbers_of_any_size_come_back(most: int, size: int) -> None:
    for numbers, wanted in ((np.array([0, most]), size), (np.array([-1, most]), 8), (np.zeros(0, dtype=np.int64), 8)):
        short = shortened(numbers)
        assert short.itemsize == wanted
        back = lengthened(short)
        assert back.dtype == np.int64
        assert back.tolist() == numbers.tolist()
    for other in (np.array([1.5]), np.array([3], dtype=np.int32), np.array([3], dtype=np.uint64)):
        assert lengthened(shortened(other)) is other


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**9), st.binary(min_size=1, max_size=3))
def test_any_changed_byte_is_refused(at: int, put: bytes) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "c.npz"
        SMALL.save(path)
        data = path.read_bytes()
        at %= len(data)
        damaged = data[:at] + put + data[at + len(put) :]
        assume(damaged != data)
        path.write_bytes(damaged)
        assert "SHA-256" in refused(path)


def test_the_files_end_seals_all_that_stands_before_it(tmp_path: Path) -> None:
    SMALL.save(tmp_path / "c.npz")
    data = (tmp_path / "c.npz").read_bytes()
    assert data[-64:] == hashlib.sha256(data[:-64]).hexdigest().encode()
    name = data.rindex(b"days.days.npy")  # in the zip's list of its files: under another name the days would be lost
    for damaged in (data[:name] + b"bays" + data[name + 4 :], data + b"\0", data[:-1], data[1:], data[:-64]):
        (tmp_path / "d.npz").write_bytes(damaged)
        assert "SHA-256" in refused(tmp_path / "d.npz")
    with np.load(tmp_path / "c.npz") as file:  # NumPy reads it too
        assert "shown" in file.files


SMALL = count(make_rows(3))
