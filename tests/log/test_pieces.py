"""A Parquet file that is read in pieces side by side gives the rows that it gives in one, good and bad."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import counterrank as cr
from counterrank.errors import InputError
from counterrank.log import parts
from counterrank.log.rows import Rows

MANY = 400
ITEMS = [["a", "b"], ["b", "ä"], None, [], ["a", None], ["c", ""], ["a", "a"], ["x\0", "b"], ["b", "a"]]
TABLE = pa.table(
    {
        "query": pa.array([f"q{i % 7}" if i % 31 else None for i in range(MANY)]),
        "items": pa.array([ITEMS[i % 9] if i % 45 < 18 else ["a", "b"] for i in range(MANY)], pa.list_(pa.string())),
        "clicks": pa.array([[i % 2, 0] for i in range(MANY)], pa.list_(pa.int8())),
    }
)
WANTED = {"query": "query", "items": "items", "clicks": "clicks"}


@pytest.fixture
def small_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "_GROUP_ROWS", 1)


def told(rows: Rows) -> list[tuple[str, list[str], list[int]]]:
    assert rows.clicks is not None
    queries, items = rows.query_values.cast(pa.string()).to_pylist(), rows.item_values.cast(pa.string()).to_pylist()
    ends = rows.offsets.tolist()
    return [
        (query, items[first:last], rows.clicks[first:last].tolist())
        for query, first, last in zip(queries, ends, ends[1:], strict=False)
    ]


def everything(path: Path, tmp_path: Path) -> tuple[list, list, str]:
    aside = tmp_path / "bad.jsonl"
    reader = cr.read_log(path, bad_rows=aside).rows(["clicks"])
    rows = [row for batch in reader for row in told(batch)]
    wrong = [(each.problem, each.count, each.first) for each in reader.reading.wrong]
    return rows, wrong, aside.read_text()


@pytest.mark.parametrize("dictionary", [True, False])
def test_the_rows_are_those_of_one_piece(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, dictionary: bool) -> None:
    path = tmp_path / "log.parquet"
    pq.write_table(TABLE, path, row_group_size=90, use_dictionary=dictionary)
    part = parts.ParquetPart(path)
    assert not part.pieces(WANTED)
    whole = everything(path, tmp_path)
    monkeypatch.setattr(parts, "_GROUP_ROWS", 1)
    pieces = part.pieces(WANTED)
    assert len(pieces) == 5
    kind = next(pieces[0]).column("items").type.value_type
    assert pa.types.is_dictionary(kind) == dictionary
    assert everything(path, tmp_path) == whole
    assert len({problem for problem, _, _ in whole[1]}) >= 4


@pytest.mark.usefixtures("small_groups")
def test_the_answer_is_that_of_one_piece(tmp_path: Path) -> None:
    good = TABLE.filter(pa.array([i % 31 > 0 and i % 45 >= 18 for i in range(MANY)]))
    pq.write_table(good, tmp_path / "one.parquet")
    pq.write_table(good, tmp_path / "many.parquet", row_group_size=50)
    target = {f"q{i}": ["b", "a"] for i in range(7)} | {"q0": ["a", "b"]}
    answers = [cr.evaluate(tmp_path / name, target).to_dict() for name in ("one.parquet", "many.parquet")]
    for answer in answers:
        answer.pop("log", None)
    assert answers[0]["estimates"] == answers[1]["estimates"]


@pytest.mark.usefixtures("small_groups")
def test_a_piece_that_is_damaged_is_told(tmp_path: Path) -> None:
    path = tmp_path / "log.parquet"
    pq.write_table(TABLE, path, row_group_size=90, compression="zstd")
    place = pq.read_metadata(path).row_group(3).column(1).data_page_offset
    data = bytearray(path.read_bytes())
    data[place : place + 30] = b"\xff" * 30
    path.write_bytes(data)
    with pytest.raises(InputError, match="damaged Parquet file"):
        for _ in cr.read_log(path, bad_rows=tmp_path / "bad.jsonl").rows(["clicks"]):
            pass
