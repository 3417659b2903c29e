"""Files of a folder that are not read are named; links are followed, but nothing is read twice."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import counterrank as cr

ROW = json.dumps({"query": "q", "items": ["a", "b"], "clicks": [1, 0]}) + "\n"


def put(path: Path, text: str = ROW) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def read(source: object) -> cr.Reading:
    return cr.evaluate(str(source), "logging", estimators="rctr").reading


def test_what_is_not_read_is_named(tmp_path: Path) -> None:
    folder = tmp_path / "log"
    put(folder / "a.jsonl")
    for name in ("b.jsonl.zst", "part-00001", "notes.txt", "_SUCCESS", ".hidden.jsonl", "_temporary/c.jsonl"):
        put(folder / name)
    (folder / "gone.jsonl").symlink_to(tmp_path / "nowhere.jsonl")
    reading = read(folder)
    assert reading.rows == 1
    [note] = reading.notes
    assert note.startswith(f"{folder}: 7 were not read: ")
    for name in ("b.jsonl.zst (no kind", "part-00001 (no", "notes.txt (no", "_SUCCESS (a name", ".hidden.jsonl (a name",
                 "_temporary (a name", "gone.jsonl (leads nowhere)"):  # fmt: skip
        assert name in note
    assert read(folder / "a.jsonl").notes == ()


def test_a_long_list_is_cut_short(tmp_path: Path) -> None:
    put(tmp_path / "a.jsonl")
    for i in range(30):
        put(tmp_path / f"{i}.txt")
    [note] = read(tmp_path).notes
    assert "30 were not read" in note
    assert note.endswith("and 20 more")


def test_linked_folders_are_read_once(tmp_path: Path) -> None:
    folder, other = tmp_path / "log", tmp_path / "other"
    put(folder / "a.jsonl")
    put(folder / "z" / "b.jsonl")
    put(other / "c.jsonl")
    (folder / "linked").symlink_to(other)
    assert (read(folder).rows, read(folder).notes) == (3, ())
    (other / "back").symlink_to(folder)  # a loop
    (folder / "again").symlink_to(folder / "z")
    (folder / "newest.jsonl").symlink_to(folder / "a.jsonl")
    reading = read(folder)
    assert reading.rows == 3
    [note] = reading.notes
    for name in ("linked/back", "again", "newest.jsonl"):
        assert f"{name} (leads to what is read already)" in note


def test_folders_that_a_glob_meets_are_named(tmp_path: Path) -> None:
    put(tmp_path / "a.jsonl")
    put(tmp_path / "b.jsonl" / "c.jsonl")
    reading = read(tmp_path / "*.jsonl")
    assert reading.rows == 1
    assert reading.notes == (f"{tmp_path}/*.jsonl: 1 was not read: {tmp_path}/b.jsonl (a folder)",)


def test_features_say_so_too(tmp_path: Path) -> None:
    log = {"query": ["q", "r"], "items": [["a", "b"]] * 2, "clicks": [[1, 0]] * 2}
    put(tmp_path / "f" / "f.csv", "query,item,x\nq,a,1\nq,b,2\nr,a,1\nr,b,3\n")
    put(tmp_path / "f" / "g.txt", "")
    result = cr.evaluate(log, "logging", features=str(tmp_path / "f"), estimators="dm")
    assert any("g.txt (no kind" in note for note in result.notes)


def test_foreign_formats_say_so_too(tmp_path: Path) -> None:
    page = "1\t0\tQ\t7\t0\t1\t2\n1\t1\tC\t2\n"
    put(tmp_path / "log" / "a", page)
    put(tmp_path / "log" / "_b", page)
    log = cr.read_log(tmp_path / "log", format="yandex")
    assert any("_b (a name that begins with . or _)" in note for note in log.notes)
    assert cr.evaluate(log, "logging", estimators="rctr").reading.rows == 1


def test_a_folder_of_none_is_refused(tmp_path: Path) -> None:
    put(tmp_path / "a.txt")
    with pytest.raises(cr.InputError, match="the folder has no data files"):
        read(tmp_path)


POLICY = json.dumps({"query": "q", "items": ["b", "a"]}) + "\n"
SCORES = "".join(
    json.dumps({"query": "q", "item": item, "score": score}) + "\n" for item, score in (("a", 1), ("b", 2))
)


def ask(command: str, **options: Any) -> Any:
    return getattr(cr, command)(**({"target": "uniform"} if command != "optimize" else {}) | options)


@pytest.mark.parametrize(
    ("command", "option", "text"),
    [
        ("evaluate", "target", POLICY), ("evaluate", "target", SCORES), ("evaluate", "logging", SCORES),
        ("evaluate", "candidates", SCORES), ("compare", "target", POLICY), ("compare", "baseline", SCORES),
        ("compare", "logging", SCORES), ("optimize", "candidates", SCORES),
    ],
)  # fmt: skip
def test_what_is_not_read_of_a_policy_is_named(command: str, option: str, text: str, tmp_path: Path) -> None:
    put(tmp_path / "given" / "a.jsonl", text)
    put(tmp_path / "given" / "b.jsonl.zst", "x")
    log = put(tmp_path / "log.jsonl", ROW * 3)
    result = ask(command, log=str(log), **{option: str(tmp_path / "given")})
    note = f"{tmp_path / 'given'}: 1 was not read: b.jsonl.zst (no kind of file that we read)"
    assert result.to_dict()["notes"].count(note) == 1
    assert "\n".join(result.remarks()).count(note) == 1


def test_a_policy_that_is_made_of_another_says_it_too(tmp_path: Path) -> None:
    put(tmp_path / "a.jsonl", SCORES)
    put(tmp_path / "b.txt")
    note = f"{tmp_path}: 1 was not read: b.txt (no kind of file that we read)"
    scores = cr.read_policy(tmp_path)
    assert scores.notes == [note]
    soft = cr.read_policy(tmp_path, temperature=2.0)
    assert soft.notes == [note]
    assert cr.policy.Mixture(soft, 0.5).notes == [note]
    assert cr.policy.Uniform(tmp_path).notes == [note]
