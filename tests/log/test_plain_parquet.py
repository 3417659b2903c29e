"""Plain chunks of Parquet are read as Arrow reads them, whoever wrote them; any other is left to it."""

from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from counterrank.errors import InputError
from counterrank.log import plain_parquet, read_log
from counterrank.log.parquet_pages import NotPlain, pages
from counterrank.log.parts import ParquetPart
from counterrank.log.plain_parquet import WORTH, plain_columns

ROWS = 6_000
LISTED = ("items", "clicks")


def made(rng: np.random.Generator, ids: int = 300, rows: int = ROWS, longest: int = 5, text: bool = False) -> pa.Table:
    """A log in which some runs of values are the same, and others are not."""
    lengths = np.where(rng.random(rows) < 0.5, longest, rng.integers(1, longest + 1, rows))
    ends = pa.array(np.concatenate([[0], np.cumsum(lengths)]), pa.int32())
    shown = rng.integers(0, ids, lengths.sum()) * 1_000_003 - 7
    shown[: len(shown) // 4] = shown[0]
    clicked = (rng.random(len(shown)) < 0.1).astype(np.int8)
    names = pa.array([f"item {i}, “ö”" for i in shown]) if text else pa.array(shown)
    return pa.table(
        {
            "query": pa.array(np.sort(rng.integers(0, 40, rows))),
            "items": pa.ListArray.from_arrays(ends, names),
            "clicks": pa.ListArray.from_arrays(ends, pa.array(clicked)),
            "propensity": rng.integers(1, 9, rows) / 8,
        }
    )


def plain(path: Path, group: int = 0) -> dict[str, pa.Array]:
    """The plain columns of a row group, each of which is seen to be as Arrow has it."""
    part = ParquetPart(path)
    file, metadata = part._opened()
    wanted = {name: name for name in part.columns}
    named = part._dictionaries(wanted, metadata)
    found = plain_columns(file, metadata, group, part._kinds(wanted, named), "clicks")
    theirs = pq.ParquetFile(path).read_row_group(group)
    for name, array in found.items():
        array.validate(full=True)
        assert undone(array).equals(theirs[name].cast(undone(array).type).combine_chunks()), name
    return found


def undone(array: pa.Array) -> pa.Array:
    """With texts in place of their codes."""
    if pa.types.is_list(array.type) and pa.types.is_dictionary(array.type.value_type):
        return pa.ListArray.from_arrays(array.offsets, array.values.dictionary_decode())
    return array.dictionary_decode() if pa.types.is_dictionary(array.type) else array


@pytest.mark.parametrize("codec", ["none", "snappy", "zstd", "gzip", "brotli"])
@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("indexed", [True, False])
def test_what_arrow_writes(tmp_path: Path, codec: str, version: str, indexed: bool) -> None:
    path = tmp_path / "log.parquet"
    table = made(np.random.default_rng(0))
    pq.write_table(table, path, compression=codec, data_page_version=version, use_dictionary=indexed)
    assert set(plain(path)) == set(table.column_names)


@pytest.mark.parametrize("ids", [1, 2, 3, 4, 5, 9, 33, 129, 1_025, 9_000, 40_000])
def test_codes_of_every_width(tmp_path: Path, ids: int) -> None:
    path = tmp_path / "log.parquet"
    for seed in range(3):
        rng = np.random.default_rng(seed)
        pq.write_table(made(rng, ids, ROWS + int(rng.integers(0, 9)), int(rng.integers(1, 12))), path)
        assert len(plain(path)) == 4


@pytest.mark.parametrize("options", [{}, {"dictionary_pagesize_limit": 4_000}, {"data_page_size": 30_000}])
def test_dictionaries_that_end_midway_and_many_pages(tmp_path: Path, options: dict[str, int]) -> None:
    path = tmp_path / "log.parquet"
    pq.write_table(made(np.random.default_rng(1), 3_000, 40_000), path, **options)
    assert len(plain(path)) == 4


@pytest.mark.parametrize("text", [False, True])
def test_what_duckdb_writes(tmp_path: Path, text: bool) -> None:
    path = tmp_path / "log.parquet"
    table = made(np.random.default_rng(2), rows=20_000, text=text)
    duckdb.from_arrow(table).write_parquet(str(path))
    assert {"query", "clicks", "propensity"} <= set(plain(path))


@pytest.mark.parametrize("kind", [pa.int8(), pa.int16(), pa.int32(), pa.int64()])
def test_whole_numbers_of_every_size_have_64_bits(tmp_path: Path, kind: pa.DataType) -> None:
    path, table = tmp_path / "log.parquet", made(np.random.default_rng(3))
    small = pa.array(np.random.default_rng(3).integers(-128, 128, ROWS), kind)
    pq.write_table(table.set_column(0, "query", small), path)
    found = plain(path)["query"].type
    assert (found.value_type if pa.types.is_dictionary(found) else found) == pa.int64()


def test_texts_that_the_file_has_once_each_come_as_dictionaries(tmp_path: Path) -> None:
    path, table = tmp_path / "log.parquet", made(np.random.default_rng(4), ids=7, text=True)
    pq.write_table(table, path)
    found = plain(path)
    assert found["items"].type == pa.list_(pa.dictionary(pa.int32(), pa.string()))
    assert set(undone(found["items"]).values.to_pylist()) == set(table["items"].combine_chunks().values.to_pylist())


@pytest.mark.parametrize(("ids", "few"), [(1, True), (2, True), (900, True), (9_000, False), (40_000, False)])
def test_whole_numbers_of_which_there_are_few_come_as_dictionaries(tmp_path: Path, ids: int, few: bool) -> None:
    path = tmp_path / "log.parquet"
    pq.write_table(made(np.random.default_rng(13), ids), path)
    found = plain(path)
    whole = pa.dictionary(pa.int32(), pa.int64())
    assert found["items"].type == pa.list_(whole if few else pa.int64())
    assert found["query"].type == whole
    assert found["clicks"].type == pa.list_(pa.int8())  # which are no ids


def test_a_column_that_is_more_than_ids_has_plain_numbers(tmp_path: Path) -> None:
    path = tmp_path / "log.parquet"
    pq.write_table(made(np.random.default_rng(14), rows=70_000), path, row_group_size=35_000)
    part = ParquetPart(path)
    twice = next(part.pieces({"query": "query", "day": "query", "items": "items"})[0])
    assert twice.schema.field("query").type == twice.schema.field("day").type == pa.int64()


def test_required_columns_and_items(tmp_path: Path) -> None:
    path, table = tmp_path / "log.parquet", made(np.random.default_rng(5))
    for inner in (True, False):
        for outer in (True, False):
            kinds = dict(zip(table.column_names, table.schema.types, strict=True))
            kinds |= {name: pa.list_(pa.field("element", kinds[name].value_type, inner)) for name in LISTED}
            schema = pa.schema([pa.field(name, kind, outer) for name, kind in kinds.items()])
            pq.write_table(table.cast(schema), path)
            assert len(plain(path)) == 4


@pytest.mark.parametrize("what", ["no list", "empty list", "no item", "no query"])
def test_what_is_missing_is_left_to_arrow(tmp_path: Path, what: str) -> None:
    path, table = tmp_path / "log.parquet", made(np.random.default_rng(6))
    at = {"no list": None, "empty list": [], "no item": [None]}.get(what)
    name, value = ("query", None) if what == "no query" else ("items", at)
    values = table[name].to_pylist()
    values[ROWS // 2] = value
    changed = table.set_column(table.column_names.index(name), name, pa.array(values, table[name].type))
    pq.write_table(changed, path)
    assert set(plain(path)) == set(table.column_names) - {name}


@pytest.mark.parametrize(
    "column",
    [
        pa.array([True, False] * (ROWS // 2)),
        pa.array(np.arange(ROWS), pa.uint64()),
        pa.array(np.arange(ROWS), pa.timestamp("us")),
        pa.array(np.arange(ROWS, dtype=np.int32)).cast(pa.date32()),
        pa.array(np.arange(ROWS) / 2, pa.float32()),
        pa.array(np.arange(ROWS) * 10).cast(pa.decimal128(22, 2)),
        pa.array([{"a": 1}] * ROWS),
        pa.array([[[1]]] * ROWS),
        pa.array(["a long text that each row has for itself " + str(i) for i in range(ROWS)]),
    ],
    ids=lambda array: str(array.type),
)
def test_other_kinds_are_left_to_arrow(tmp_path: Path, column: pa.Array) -> None:
    path, table = tmp_path / "log.parquet", made(np.random.default_rng(7))
    pq.write_table(table.append_column("day", column), path)
    assert set(plain(path)) == set(table.column_names)


def test_other_encodings_and_codecs_are_left_to_arrow(tmp_path: Path) -> None:
    path, table = tmp_path / "log.parquet", made(np.random.default_rng(8))
    packed = {"query": "DELTA_BINARY_PACKED", "propensity": "BYTE_STREAM_SPLIT"}
    pq.write_table(table, path, use_dictionary=list(LISTED), column_encoding=packed)
    assert set(plain(path)) == set(LISTED)
    pq.write_table(table, path, compression="lz4")
    assert plain(path) == {}


def test_small_pages_are_left_to_arrow(tmp_path: Path) -> None:
    path = tmp_path / "log.parquet"
    pq.write_table(made(np.random.default_rng(9)), path, data_page_size=1_000, write_batch_size=WORTH // 8)
    assert set(plain(path)) <= {"clicks"}  # which take an eighth of the room


def test_clicks_other_than_0_and_1_are_left_to_arrow(tmp_path: Path) -> None:
    path, table = tmp_path / "log.parquet", made(np.random.default_rng(10))
    odd = table["clicks"].combine_chunks()
    values = odd.values.to_numpy().copy()
    for indexed in (True, False):
        for bad in (2, -1):
            values[-1] = bad
            column = pa.ListArray.from_arrays(odd.offsets, pa.array(values))
            pq.write_table(table.set_column(2, "clicks", column), path, use_dictionary=indexed)
            assert set(plain(path)) == set(table.column_names) - {"clicks"}


def test_a_log_whose_columns_are_partly_plain(tmp_path: Path) -> None:
    """Row groups larger than a batch, whose other columns Arrow reads."""
    path = tmp_path / "log.parquet"
    table = made(np.random.default_rng(11), rows=400_000, longest=2)
    table = table.append_column("day", pa.array(np.arange(len(table), dtype=np.int32) // 90_000).cast(pa.date32()))
    pq.write_table(table, path, row_group_size=180_000)
    part = ParquetPart(path)
    pieces = part.pieces({name: name for name in table.column_names})
    assert len(pieces) == 3
    batches = [batch for piece in pieces for batch in piece]
    assert max(map(len, batches)) <= 131_072
    for number, name in enumerate(table.column_names):
        found = pa.concat_arrays([undone(batch.column(number)) for batch in batches])
        assert found.equals(table[name].cast(found.type).combine_chunks()), name


def test_damaged_files_are_told_of_and_crash_nothing(tmp_path: Path) -> None:
    """Bytes changed at random in what is neither packed nor checked: heads of pages, levels, codes, dictionaries."""
    rng = np.random.default_rng(12)
    path, whole = tmp_path / "log.parquet", tmp_path / "whole.parquet"
    left = 0
    for version in ("1.0", "2.0"):
        table = made(rng, rows=2_000, text=version == "2.0")
        pq.write_table(table, whole, compression="none", data_page_version=version)
        content, end = bytearray(whole.read_bytes()), pq.read_metadata(whole).serialized_size + 8
        for _ in range(300):
            changed = bytearray(content)
            for at in rng.integers(4, len(content) - end, rng.integers(1, 4)):
                changed[at if rng.random() < 0.7 else 4 + at % 400] = rng.integers(0, 256)
            path.write_bytes(changed)
            part = ParquetPart(path)
            file, metadata = part._opened()
            wanted = {name: name for name in part.columns}
            kinds = part._kinds(wanted, part._dictionaries(wanted, metadata))
            found = plain_columns(file, metadata, 0, kinds, "clicks")
            left += len(found) < 4
            for name in LISTED:
                if name in found:
                    assert found[name].offsets[-1].as_py() == len(found[name].values)
                    assert (np.diff(found[name].offsets.to_numpy()) > 0).all()
                    codes = found[name].values
                    if pa.types.is_dictionary(codes.type):
                        codes.validate(full=False)
                        assert codes.indices.to_numpy().max() < len(codes.dictionary)
    assert left > 50


# a page of data by its older layout, of no bytes: kind 0, size 0, packed 0, then the struct of field 5, whose first
# field is the number of values
HEAD = bytes.fromhex("15 00 15 00 15 00 2c")


@pytest.mark.parametrize(
    "count",
    ["1c 00", "15 01", "15 ff ff ff ff ff ff ff ff 7f", "18 02 61 61"],
    ids=["a struct", "negative", "huge", "a text"],
)
def test_a_number_of_values_that_is_none_is_left_to_arrow(count: str) -> None:
    rest = bytes.fromhex("15 00 15 06 15 06 00 00")
    [page] = pages(pa.py_buffer(HEAD + bytes.fromhex("15 00") + rest), "UNCOMPRESSED", (0, 0))
    assert page.count == 0
    with pytest.raises(NotPlain):
        list(pages(pa.py_buffer(HEAD + bytes.fromhex(count) + rest), "UNCOMPRESSED", (0, 0)))


def test_large_chunks_are_left_to_arrow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "log.parquet"
    pq.write_table(made(np.random.default_rng(14)), path)
    monkeypatch.setattr(plain_parquet, "_MOST", ROWS)
    assert set(plain(path)) == {"query", "propensity"}


def test_a_file_that_ends_early_is_damaged(tmp_path: Path) -> None:
    path = tmp_path / "log.parquet"
    pq.write_table(made(np.random.default_rng(13), rows=80_000).select(["query", *LISTED]), path, row_group_size=40_000)
    content = path.read_bytes()
    end = pq.read_metadata(path).serialized_size + 8
    path.write_bytes(content[: len(content) // 3] + content[-end:])
    with pytest.raises(InputError, match=r"log.parquet: (damaged|not a) Parquet file"):
        list(read_log(path).rows(["clicks"]))
