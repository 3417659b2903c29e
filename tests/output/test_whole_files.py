"""Files appear whole or not at all, with the permissions that a plain open() would give."""

from __future__ import annotations

import gzip
import json
import os
import resource
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from counterrank import temporary
from counterrank.errors import InputError
from counterrank.log.write import write_table
from counterrank.output import is_special, make_folder, write, writing
from counterrank.simulate.files import SUFFIXES, writer

TABLE = pa.table({"query": ["q", "é"], "items": [["a", "b"], ["c"]], "value": [0.5, None]})


@contextmanager
def umask(mask: int) -> Iterator[None]:
    before = os.umask(mask)
    try:
        yield
    finally:
        os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_the_old_file_stands_until_the_new_one_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("old")
    with writing(path) as file:
        file.write(b"new")
        file.flush()
        assert path.read_text() == "old"
        beside = [p for p in tmp_path.iterdir() if p != path]
        assert len(beside) == 1
        assert beside[0].name.startswith(".")
    assert path.read_text() == "new"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
def test_what_ends_badly_leaves_nothing(error: type[BaseException], tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("old")
    with pytest.raises(error), writing(path) as file:  # noqa: PT012
        file.write(b"half")
        raise error
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]
    assert temporary._files == {}


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_rows_that_stop_half_way_leave_the_old_log(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"log{suffix}"
    path.write_bytes(b"old")
    schema = pa.schema({"query": pa.string(), "items": pa.list_(pa.string())})
    batch = pa.record_batch({"query": ["q"], "items": [["a"]]}, schema=schema)
    with pytest.raises(KeyboardInterrupt), writer(path, schema) as append:  # noqa: PT012
        append(batch)
        raise KeyboardInterrupt
    assert path.read_bytes() == b"old"
    with writer(path, schema) as append:
        append(batch)
    assert path.read_bytes() != b"old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("mask", [0o022, 0o077, 0o002])
def test_permissions(mask: int, tmp_path: Path) -> None:
    with umask(mask):
        (tmp_path / "plain").write_text("")
        write(tmp_path / "ours", b"")
        assert mode(tmp_path / "ours") == mode(tmp_path / "plain") == 0o666 & ~mask
        for kept in (0o600, 0o640, 0o666):
            (tmp_path / "plain").chmod(kept)
            write(tmp_path / "plain", b"x")
            assert mode(tmp_path / "plain") == kept


def test_links_are_followed(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    real, link, dangling = tmp_path / "there" / "real.csv", tmp_path / "link.csv", tmp_path / "dangling.csv"
    real.write_text("old")
    link.symlink_to(real)
    dangling.symlink_to(tmp_path / "there" / "made.csv")
    write(link, b"new")
    write(dangling, b"new")
    assert link.is_symlink()
    assert real.read_text() == (tmp_path / "there" / "made.csv").read_text() == "new"


def test_no_regular_file(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.parquet"
    os.mkfifo(pipe)
    found: list[bytes] = []
    reader = threading.Thread(target=lambda: found.append(pipe.read_bytes()))
    reader.start()
    write_table(TABLE, pipe)
    reader.join()
    assert pq.read_table(pa.BufferReader(found[0])) == TABLE
    assert is_special(pipe)
    write("/dev/null", b"x")
    assert Path("/dev/null").is_char_device()
    with pytest.raises(InputError, match=r"cannot be written .No space left on device.: make room"):
        write("/dev/full", b"x")
    (tmp_path / "link.csv").symlink_to("/dev/full")
    with pytest.raises(InputError, match=r"link.csv: cannot be written .No space"):
        write_table(TABLE, tmp_path / "link.csv")


def test_stdout_that_is_a_file_is_not_replaced(tmp_path: Path) -> None:
    program = "from counterrank.output import write; write('/dev/stdout', b'written')"
    with (tmp_path / "out.txt").open("wb") as out:
        before = os.fstat(out.fileno()).st_ino
        subprocess.run([sys.executable, "-c", program], stdout=out, check=True)
    assert (tmp_path / "out.txt").read_bytes() == b"written"
    assert (tmp_path / "out.txt").stat().st_ino == before


@pytest.mark.parametrize("suffix", [".parquet", ".csv", ".csv.gz", ".jsonl", ".jsonl.gz"])
def test_a_full_disk_is_one_line_and_leaves_the_old_file(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"big{suffix}"
    path.write_bytes(b"old")
    big = pa.table({"query": [os.urandom(20).hex() for _ in range(20_000)]})
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, limits[1]))
    try:
        with pytest.raises(InputError, match=r"cannot be written .File too large"):
            write_table(big, path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    ("name", "word"),
    [("x" * 300, "name too long"), ("no/such/folder/x", "No such file"), (".", "directory"), ("file/x", "Not a dir")],
)
def test_places_that_cannot_be(name: str, word: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match=f"(?i)--out .*: cannot be written .*{word}"):
        write(tmp_path / name, b"x", "--out")


def test_errors_about_another_file_stay_what_they_are(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError), writing(tmp_path / "x.csv"):
        open("/no/such/input")  # noqa: SIM115
    assert list(tmp_path.iterdir()) == []


def test_a_folder_where_a_file_is(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match=r"--out .*file: the folder cannot be made .a file is there.: give another"):
        make_folder(tmp_path / "file", "--out")
    make_folder(tmp_path / "a" / "b")
    assert (tmp_path / "a" / "b").is_dir()


@pytest.mark.parametrize("name", ["run-2024-05-01T10:00:00", "http:x", "a b*?[c]", "naïve"])
@pytest.mark.parametrize("suffix", [".parquet", ".csv", ".csv.gz", ".jsonl", ".jsonl.gz"])
def test_any_name(name: str, suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_table(TABLE, Path(name + suffix))
    content = (tmp_path / (name + suffix)).read_bytes()
    if suffix == ".parquet":
        assert pq.read_table(pa.BufferReader(content)) == TABLE
        return
    text = (gzip.decompress(content) if suffix.endswith(".gz") else content).decode()
    if suffix.startswith(".jsonl"):
        assert [json.loads(line) for line in text.splitlines()] == TABLE.to_pylist()
    else:
        assert text == 'query,items,value\r\nq,"[""a"", ""b""]",0.5\r\né,"[""c""]",\r\n'


def test_the_same_table_gives_the_same_bytes(tmp_path: Path) -> None:
    write_table(TABLE, tmp_path / "a.csv.gz")
    write_table(TABLE, tmp_path / "b.csv.gz")
    assert (tmp_path / "a.csv.gz").read_bytes() == (tmp_path / "b.csv.gz").read_bytes()


def test_temporary_folders_go_with_the_process(tmp_path: Path) -> None:
    program = (
        "import os; from counterrank import temporary as t; held = t.Folder(); kept = t.make_folder('kept-');"
        "t.forget(kept); open(held.name + '/x', 'w').close();"
        "print(oct(os.stat(t.room()).st_mode)[-3:])\n"
        "if os.fork() == 0: raise SystemExit(0)\n"
        "os.wait(); assert os.path.exists(held.name + '/x')"
    )
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.split()[0] == "700"
    assert [p.name[:5] for p in tmp_path.iterdir()] == ["kept-"]


def test_no_temporary_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", "/no/such/folder")
    with pytest.raises(InputError, match=r"no temporary folder can be made .No such file.*set TMPDIR"):
        temporary.make_folder("x-")
