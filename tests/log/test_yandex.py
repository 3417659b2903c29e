"""Yandex logs: both layouts by hand, bad lines, and the counts of the real files."""

import gzip
import os
from pathlib import Path

import pytest

from counterrank.errors import InputError
from counterrank.log.foreign import FORMATS
from counterrank.log.yandex import read

DATA = os.environ.get("COUNTERRANK_DATA")
needs_data = pytest.mark.skipif(not DATA, reason="COUNTERRANK_DATA is not set")
DAY = 86_400_000


def write(folder: Path, text: str, name: str = "log.tsv") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8", newline="")
    return path


def rows(path: Path, **options: str) -> list[dict]:
    return read([path], **options).table.to_pylist()


def error(path: Path, **options: str) -> str:
    with pytest.raises(InputError) as caught:
        read([path], **options)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_clicks_go_to_the_latest_earlier_page_that_shows_the_url(tmp_path):
    path = write(
        tmp_path,
        f"s\t{DAY + 20}\tC\ta\t\t\t\r\n"  # before its pages in the file: page at +10, not the one at +30
        f"s\t{DAY + 10}\tQ\tq1\t0\ta\tb\t\t\r\n"
        "s\t5\tQ\tq1\t0\tb\ta\n"
        f"s\t{DAY + 30}\tQ\tq2\t7\ta\tc\n"
        "\n"
        f"s\t{DAY + 40}\tC\tb\n"  # q2's page does not show b: back to the one at +10
        f"s\t{DAY + 41}\tC\tb\n"  # again
        f"t\t{DAY + 50}\tC\ta\n"  # another session
        "s\t4\tC\tb\n",  # before every page
    )
    foreign = read([path])
    assert foreign.table.to_pylist() == [
        {"query": "q1", "items": ["a", "b"], "clicks": [1, 1], "day": 1},
        {"query": "q1", "items": ["b", "a"], "clicks": [0, 0], "day": 0},
        {"query": "q2", "items": ["a", "c"], "clicks": [0, 0], "day": 1},
    ]
    assert foreign.notes == [
        "3 pages of 2 queries, 5 clicks.",
        "2 unmatched clicks left out: no earlier page of the session shows the url.",
        "1 repeated click on an item already clicked, counted once.",
        "day = time // 86,400,000.",
    ]


def test_of_two_pages_at_the_time_of_the_click_the_later_line_gets_it(tmp_path):
    path = write(tmp_path, "s\t9\tQ\tx\t0\ta\tb\ns\t9\tC\ta\ns\t9\tQ\ty\t0\tb\ta\n")
    assert [row["clicks"] for row in rows(path)] == [[0, 0], [0, 1]]


def test_a_repeated_url_keeps_its_first_place(tmp_path):
    path = write(tmp_path, "s\t0\tQ\tx\t0\ta\tb\ta\tc\ns\t1\tC\ta\ns\t1\tC\tc\n")
    foreign = read([path])
    assert foreign.table.to_pylist() == [{"query": "x", "items": ["a", "b", "c"], "clicks": [1, 0, 1], "day": 0}]
    assert "1 page with a repeated url, which keeps its first place." in foreign.notes


def test_hostile_ids_stay_as_they_are(tmp_path):
    odd = ["00123", 'a"b', "x,y", " sp ace ", "日本", "[1]", "null", "'; drop"]
    path = write(tmp_path, "s\t0\tQ\t'00'\t0\t" + "\t".join(odd) + "\ns\t1\tC\t日本\n")
    assert rows(path) == [{"query": "'00'", "items": odd, "clicks": [0, 0, 0, 0, 1, 0, 0, 0], "day": 0}]


def test_sessions_go_on_over_files_and_gzip_is_told_by_content(tmp_path):
    first = tmp_path / "part1"
    first.write_bytes(gzip.compress(b"s\t1\tQ\tx\t0\ta\n"))
    second = write(tmp_path, "s\t2\tC\ta\n", "part2")
    assert read([first, second]).table["clicks"].to_pylist() == [[1]]
    assert FORMATS["yandex"]([tmp_path]).table["clicks"].to_pylist() == [[1]]


@pytest.mark.parametrize(
    ("unit", "day"),
    [(None, 0), ("ms", 0), ("s", 2), ("min", 120), ("h", 7200), ("day", 172800), ("1000", 172)],
)
def test_time_unit(tmp_path, unit, day):
    path = write(tmp_path, f"s\t{2 * 86_400}\tQ\tx\t0\ta\n")
    assert read([path], time_unit=unit).table["day"].to_pylist() == [day]


@pytest.mark.parametrize("unit", ["week", "0", "-3", "1.5", ""])
def test_unknown_time_unit(tmp_path, unit):
    path = write(tmp_path, "s\t0\tQ\tx\t0\ta\n")
    assert "expected ms, s, min, h, day or the number" in error(path, time_unit=unit)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("s\t1\tX\tx\t0\ta", "Q or C in the third field"),
        ("s\tnoon\tQ\tx\t0\ta", "a whole number as time"),
        ("s\t1\tQ\tx\t0", "at least one url"),
        ("s\t1\tC\ta\tb", "a click with one url"),
        ("s\t1\tQ\tx\t0\ta\t\tb", "no empty field"),
        ("\t1\tC\ta", "no empty field"),
        ("hello", "session TAB time TAB"),
    ],
)
def test_a_bad_line_is_named(tmp_path, line, expected):
    path = write(tmp_path, f"s\t0\tQ\tx\t0\ta\n\n{line}\n")
    message = error(path)
    assert message.startswith(f"{path}, line 3: came {line!r}")
    assert expected in message


def test_files_that_are_no_log(tmp_path):
    assert "empty" in error(write(tmp_path, ""))
    assert "empty" in error(write(tmp_path, "\n \n"))
    assert "expected session TAB" in error(write(tmp_path, "query,items\n"))
    assert "no page" in error(write(tmp_path, "s\t0\tC\ta\n"))
    assert "no such file" in error(tmp_path / "none")
    (tmp_path / "bad").write_bytes(b"s\t0\tQ\tx\t0\ta\ns\t0\tQ\tx\t0\t\xff\n")
    assert "line 2" in error(tmp_path / "bad")
    (tmp_path / "cut.gz").write_bytes(gzip.compress(b"s\t0\tQ\tx\t0\ta\n" * 50)[:30])
    assert "cannot be read" in error(tmp_path / "cut.gz")


def test_records(tmp_path):
    path = write(
        tmp_path,
        "7_1\ta,b,c : c , a , c; 7_1\ta,c,b :; \n\n 8_0\td,a,d : z , a;\n9\tq : q",
    )
    foreign = read([path])
    assert foreign.table.to_pylist() == [
        {"query": "7_1", "items": ["a", "b", "c"], "clicks": [1, 0, 1]},
        {"query": "7_1", "items": ["a", "c", "b"], "clicks": [0, 0, 0]},
        {"query": "8_0", "items": ["d", "a"], "clicks": [0, 1]},
        {"query": "9", "items": ["q"], "clicks": [1]},
    ]
    assert foreign.notes == [
        "4 pages of 3 queries, 6 clicks.",
        "1 unmatched click left out: the url is not on its page (1 page).",
        "1 repeated click on an item already clicked, counted once.",
        "1 page with a repeated url, which keeps its first place.",
    ]
    assert "has no time" in error(path, time_unit="s")


@pytest.mark.parametrize("record", ["8_0 d,a : a", "8_0\td,a", "8_0\td,,a : a", "8_0\td : a : b", "8_0\td : a,,d"])
def test_a_bad_record_is_named_by_its_line(tmp_path, record):
    path = write(tmp_path, f"7_1\ta,b :; 7_1\ta,b : b;\n{record};\n")
    assert error(path).startswith(f"{path}, line 2: came {record!r}, expected ")


def test_two_layouts_at_once(tmp_path):
    first = write(tmp_path, "s\t0\tQ\tx\t0\ta\n", "a")
    second = write(tmp_path, "7\ta :;", "b")
    with pytest.raises(InputError, match="different layouts"):
        read([first, second])


@needs_data
def test_real_records():
    folder = Path(str(DATA)) / "yandex-sample"
    assert read([folder / "trainSample.gz"]).table.num_rows == 35_064
    assert read([folder / "testSample.gz"]).table.num_rows == 21_413
    foreign = read([folder])
    assert foreign.notes[0].startswith("56,477 pages of 20 queries")
    assert foreign.notes[1].endswith("(324 pages).")


@needs_data
def test_real_actions():
    foreign = read([Path(str(DATA)) / "clara2" / "search-log.tsv.gz"])
    assert foreign.notes[0] == "31,564 pages of 1,951 queries, 11,613 clicks."
    assert foreign.notes[1].startswith("720 unmatched clicks")
    assert foreign.notes[3].startswith("90 pages with a repeated url")
    table = foreign.table.select(["query", "day"]).group_by("query").aggregate([("day", "count_distinct")])
    assert sum(days > 1 for days in table["day_count_distinct"].to_pylist()) == 1_606
