"""JSON Lines read in blocks of plain lines give what DuckDB gives of the same file."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import counterrank as cr
from counterrank.errors import InputError
from counterrank.log import plain_json
from counterrank.log.text import TextPart

ALL = {
    "query": "query", "items": "items", "clicks": "clicks", "reward": "reward", "day": "day", "cluster": "who",
    "propensity": "propensity", "item_propensities": "item_propensities", "impressions": "impressions",
}  # fmt: skip
SOME = {"query": "query", "items": "items", "clicks": "clicks"}
LINE = (
    '{"query": "ä b", "items": ["a", 7, "true", "-0", "1.5"], "clicks": [1, 0, 0, 1, 0], "reward": -0.25, '
    '"day": "2024-02-03", "who": 12, "propensity": 1e-3, "item_propensities": [0.1, 0.25, 1, 1.5E+2, 0], '
    '"impressions": 3, "other": [true, null, -1.5e2, "x"], "note": "{[,]}", "none": null}'
)
ODD = [
    '{"query":"q","items":["a","b"],"clicks":[1,0]}\r',
    ' {"query" : "q" , "items" : [ "a" , "b" ] , "clicks" : [ 1 , 0 ] } ',
    "", "   ", "[]", "7", "{}", "{", '{"query":"q"', "null", "\x0b",
    '{"query":null,"items":["a","b"],"clicks":[1,0]}',
    '{"query":"q","items":["a","b"],"clicks":[1,2]}',
    '{"query":"q","items":["a","b"],"clicks":[1]}',
    '{"query":"q","items":["a","a"],"clicks":[1,0]}',
    '{"query":"q","items":[],"clicks":[]}',
    '{"query":"q","items":["a",""],"clicks":[1,0]}',
    '{"query":"","items":["a","b"],"clicks":[1,0]}',
    '{"query":"q","items":["a",null],"clicks":[1,0]}',
    '{"query":"q","items":["a",1.0],"clicks":[1,0]}',
    '{"query":"q","items":["a",1.5],"clicks":[1,0]}',
    '{"query":"q","items":["a",{"b":1}],"clicks":[1,0]}',
    '{"query":"q","items":["a",true],"clicks":[true,false]}',
    '{"query":"q","items":["a","true"],"clicks":[1.0,0.0]}',
    '{"query":"q","items":"a|b","clicks":[1,0]}',
    '{"query":"q","items":["a","b"],"clicks":null}',
    '{"query":"q","items":["a","b"]}',
    '{"query":"q","items":["a","b"],"clicks":[1,0],}',
    '{"query":"q","items":["a","b",],"clicks":[1,0]}',
    '{"query":"q","query":"r","items":["a","b"],"clicks":[1,0]}',
    '{"Query":"q","items":["a","b"],"clicks":[1,0]}',
    '{"query":"q","QUERY":"r","items":["a","b"],"clicks":[1,0]}',
    '{"query":007,"items":["a","b"],"clicks":[1,0]}',
    '{"query":-0,"items":["a",-0],"clicks":[1,0]}',
    '{"query":-7,"items":[-1,"-1"],"clicks":[1,0]}',
    '{"query":123456789012345678901,"items":["a","b"],"clicks":[1,0]}',
    '{"query":"a\\"b","items":["\\u00e4","ä"],"clicks":[1,0]}',
    '{"query":"q\tr","items":["a","b"],"clicks":[1,0]}',
    '{"query":"q","items":["a","b"],"clicks":[1,0],"more":{"x":[1]}}',
    '{"query":"q","items":["a","b"],"clicks":[1,0],"more":nul}',
    '{"query":"q","items":["a","b"],"clicks":[1,0]} x',
    '{"query":"q","items":["a","b"],"clicks":[1,0]}{"query":"q","items":["a","b"],"clicks":[1,0]}',
]  # fmt: skip


def plain(line: str | bytes, wanted: dict[str, str]) -> list[dict[str, Any]] | None:
    """The rows of these lines, where they are plain."""
    text = line.encode() if isinstance(line, str) else line
    batch = plain_json._batch(np.frombuffer(text + b"\n", dtype=np.uint8), wanted, plain_json._Room())
    return None if batch is None else batch.to_pylist()


def by_duckdb(path: Path, wanted: dict[str, str]) -> list[dict[str, Any]]:
    return [row for batch in TextPart(path, "jsonl").batches(wanted) for row in batch.to_pylist()]


def test_rows_share_no_memory_with_the_next_block() -> None:
    """A batch with a bad row is looked at again when its thread has read on."""
    block, room = np.frombuffer(f"{LINE}\n{LINE}\n".encode(), dtype=np.uint8), plain_json._Room()
    batch = plain_json._batch(block, ALL, room)
    assert batch is not None
    before = batch.to_pylist()
    for each in (room.texts, room.ends, room.rows):
        each[:] = 77
    assert batch.to_pylist() == before


def everything(path: Path, aside: Path) -> tuple[list, list, str]:
    reader = cr.read_log(path, bad_rows=aside).rows(["clicks"])
    rows: list[Any] = []
    for batch in reader:
        assert batch.clicks is not None
        rows += [batch.query_values.to_pylist(), np.diff(batch.offsets).tolist(), batch.clicks.tolist()]
        rows[-2:-2] = [batch.item_values.to_pylist()]
    joined = [[value for batch in rows[kind::4] for value in batch] for kind in range(4)]
    return joined, [(each.problem, each.count, each.first) for each in reader.reading.wrong], aside.read_text()


def test_every_kind_of_column(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text(f"{LINE}\n{LINE}\n")
    came = plain(f"{LINE}\n{LINE}", ALL)
    assert came == by_duckdb(path, ALL)
    assert came is not None
    assert came[0] == came[1]
    given = json.loads(LINE)
    assert came[1] == {ours: given[theirs] for ours, theirs in ALL.items()} | {
        "items": ["a", "7", "true", "-0", "1.5"], "cluster": "12"
    }  # fmt: skip


def test_what_is_taken_for_plain_is_what_duckdb_reads(tmp_path: Path) -> None:
    rng = random.Random(3)
    signs = [*b'{}[],:" 0123456789.-+eEtrufalsn\\\tx', 0xC3, 0xA4, 0xFF]
    lines: list[bytes] = []
    for _ in range(6_000):
        line = bytearray(rng.choice([LINE, ODD[0], ODD[1]]).encode().rstrip(b"\r"))
        for _ in range(rng.randint(1, 2)):
            at = rng.randrange(len(line))
            line[at : at + rng.randint(0, 2)] = bytes(rng.choices(signs, k=rng.randint(0, 2)))
        lines.append(bytes(line))
    for wanted in (ALL, SOME):
        taken = [(line, rows) for line in lines if (rows := plain(line, wanted)) is not None]
        assert 150 < len(taken) < len(lines) / 2
        path = tmp_path / "log.jsonl"
        path.write_bytes(b"\n".join(line for line, _ in taken) + b"\n")
        read = by_duckdb(path, wanted)
        assert len(read) == len(taken)
        for (line, rows), row in zip(taken, read, strict=True):
            assert rows == [row], line


@pytest.mark.parametrize("block", [40, 1000, 1 << 20])
def test_the_same_rows_good_and_bad(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block: int) -> None:
    good = [f'{{"query":"q{i % 3}","items":["a",{i},"ü{i}"],"clicks":[0,1,{i % 2}]}}' for i in range(60)]
    for number, odd in enumerate(ODD):
        path = tmp_path / f"{number}.jsonl"
        lines = [*good[:40], odd, *good[40:]]
        path.write_text("\n".join(lines) + "\n" * (number % 3), newline="")
        monkeypatch.setattr(plain_json, "WORTH", 1 << 40)
        before = everything(path, tmp_path / "bad.jsonl")
        monkeypatch.setattr(plain_json, "WORTH", 0)
        monkeypatch.setattr(plain_json, "BLOCK", block)
        assert everything(path, tmp_path / "bad.jsonl") == before, odd


@pytest.mark.parametrize("end", ["", "\n", "\n\n\n", "\r\n\r\n"])
@pytest.mark.parametrize("block", [1, 7, 41, 200])
def test_blocks_hold_every_line_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, end: str, block: int) -> None:
    monkeypatch.setattr(plain_json, "WORTH", 0)
    monkeypatch.setattr(plain_json, "BLOCK", block)
    monkeypatch.setattr(plain_json, "_TAIL", 5)
    path = tmp_path / "log.jsonl"
    lines = [f'{{"query":{i},"items":["{"x" * (i % 30)}{i}"],"clicks":[1]}}' for i in range(20)]
    path.write_text("\n".join(lines) + end, newline="")
    batches = [batch for piece in plain_json.plain_pieces(path, SOME) for batch in piece]
    whole = [batch for batch in batches if batch is not None]
    assert [row["query"] for batch in whole for row in batch.to_pylist()] == [str(i) for i in range(20)]


def test_bytes_that_are_no_utf_8_are_not_plain() -> None:
    good = '{"query":"ä","items":["a"],"clicks":[1]}'.encode()
    assert plain(good, SOME) is not None
    assert plain(good.replace("ä".encode(), b"\xff"), SOME) is None


def test_a_file_that_is_replaced_meanwhile_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plain_json, "WORTH", 0)
    path = tmp_path / "log.jsonl"
    path.write_text(ODD[0])
    [piece] = plain_json.plain_pieces(path, SOME)
    (tmp_path / "new").write_text(ODD[0])
    (tmp_path / "new").replace(path)
    with pytest.raises(InputError, match="the log changed while it was read"):
        next(piece)


def test_a_line_without_end_is_not_read_on_and_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plain_json, "WORTH", 0)
    monkeypatch.setattr(plain_json, "BLOCK", 100)
    monkeypatch.setattr(plain_json, "_TAIL", 5)
    monkeypatch.setattr(plain_json, "_LONGEST", 1000)
    path = tmp_path / "log.jsonl"
    line = '{"query":"%s","items":["a","b"],"clicks":[1,0]}'
    for size, plain_one in ((900, True), (3000, False)):
        path.write_text(f"{line % 'q'}\n{line % ('x' * size)}\n{line % 'r'}\n")
        found = [batch for piece in plain_json.plain_pieces(path, SOME) for batch in piece]
        assert (None not in found) == plain_one
        assert cr.check(path).reading.rows == 3
