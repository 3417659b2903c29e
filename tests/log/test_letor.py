"""LETOR text: lines by hand, bad lines, and the counts of the real files."""

import gzip
import os
from pathlib import Path

import pyarrow as pa
import pytest

from counterrank.errors import InputError
from counterrank.log.foreign import FORMATS
from counterrank.log.letor import read_letor

DATA = os.environ.get("COUNTERRANK_DATA")
needs_data = pytest.mark.skipif(not DATA, reason="COUNTERRANK_DATA is not set")


def write(folder: Path, text: str, name: str = "S1.txt") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_docids_labels_and_missing_features(tmp_path):
    path = write(
        tmp_path,
        "2 qid:07 1:0.5 3:-1e-3 #docid = GX008-86-4444840 inc = 1 prob = 0.08\n"
        "\n"
        "0\tqid:x  2:4 \t # docid=D:2 #docid = no\r\n"
        "1.0 qid:07 #docid = d3",
    )
    assert read_letor([path]).to_pylist() == [
        {"query": "07", "item": "GX008-86-4444840", "label": 2, "f1": 0.5, "f2": 0.0, "f3": -0.001},
        {"query": "x", "item": "D:2", "label": 0, "f1": 0.0, "f2": 4.0, "f3": 0.0},
        {"query": "07", "item": "d3", "label": 1, "f1": 0.0, "f2": 0.0, "f3": 0.0},
    ]


def test_items_without_a_docid_are_numbered_in_their_query(tmp_path):
    first = write(tmp_path, "0 qid:a 1:1\n1 qid:b 1:2\n0 qid:a 1:3 # a comment\n")
    second = tmp_path / "S2.gz"
    second.write_bytes(gzip.compress(b"2 qid:a 2:9\n0 qid:b 1:1 #docid = named\n"))
    table = read_letor([first, second])
    assert table["item"].to_pylist() == ["1", "1", "2", "3", "named"]
    assert table.column_names == ["query", "item", "label", "f1", "f2"]
    assert table["f2"].to_pylist() == [0, 0, 0, 9, 0]
    assert table.schema.types == [pa.string(), pa.string(), pa.int64(), pa.float64(), pa.float64()]


def test_blocks_join(tmp_path, monkeypatch):
    monkeypatch.setattr("counterrank.log.letor.BLOCK", 2)
    path = write(tmp_path, "".join(f"{k} qid:{k % 2} {k + 1}:{k}.5\n" for k in range(5)))
    table = read_letor([path])
    assert table["label"].to_pylist() == [0, 1, 2, 3, 4]
    assert [[row[f"f{j}"] for j in range(1, 6)] for row in table.to_pylist()] == [
        [0.5, 0, 0, 0, 0],
        [0, 1.5, 0, 0, 0],
        [0, 0, 2.5, 0, 0],
        [0, 0, 0, 3.5, 0],
        [0, 0, 0, 0, 4.5],
    ]
    assert table["item"].to_pylist() == ["1", "1", "2", "2", "3"]


def test_features_in_any_order(tmp_path):
    assert read_letor([write(tmp_path, "0 qid:a 2:2 1:+1\n")]).to_pylist() == [
        {"query": "a", "item": "1", "label": 0, "f1": 1.0, "f2": 2.0}
    ]


@pytest.mark.parametrize(
    "line",
    [
        "0",
        "0 1:0.5",
        "0 qid: 1:0.5",
        "x qid:a 1:1",
        "0.5 qid:a 1:1",
        "0 qid:a 1:x",
        "0 qid:a 1:nan",
        "0 qid:a 1",
        "0 qid:a 0:1",
        "0 qid:a 1:2:3",
        "0 qid:a 2:1 1:5 2:3",
        "0 qid:a 500000:1",
        "# only a comment",
    ],
)
def test_a_bad_line_is_named(tmp_path, line):
    path = write(tmp_path, f"1 qid:a 1:1\n\n{line}\n0 qid:a 1:2\n")
    with pytest.raises(InputError) as caught:
        read_letor([path])
    assert str(caught.value).startswith(f"{path}, line 3: came {line!r}, expected ")


def test_it_is_no_click_log(tmp_path):
    with pytest.raises(InputError, match="features and labels, not clicks"):
        FORMATS["letor"]([write(tmp_path, "1 qid:a 1:1\n")])
    with pytest.raises(InputError, match="empty"):
        read_letor([write(tmp_path, "")])


@needs_data
def test_real_files():
    folder = Path(str(DATA))
    table = read_letor([folder / "mq2008"])
    queries = table["query"].combine_chunks()
    assert (table.num_rows, table.num_columns, len(queries.unique())) == (15_211, 49, 784)
    assert set(table["label"].to_pylist()) == {0, 1, 2}
    sizes = queries.value_counts().field("counts").to_pylist()
    assert (min(sizes), max(sizes)) == (5, 121)
    assert table.slice(0, 1).to_pylist()[0]["f46"] == 0.007042
    parts = [read_letor([path]) for path in sorted((folder / "mslr-sample").iterdir())]
    assert sum(part.num_rows for part in parts) == 6_042
    assert {part.num_columns for part in parts} == {3 + 136}
    assert sum(len(part["query"].combine_chunks().unique()) for part in parts) == 60
