"""Reports as files: what they say, how large they are, what they never hold."""

from __future__ import annotations

import re
import time
from dataclasses import replace
from html import unescape
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hostile import IDS, Reader, log, target
from typer.testing import CliRunner

import counterrank as cr
from counterrank.cli import app
from counterrank.findings.diagnosis import Diagnosis, Level
from counterrank.report import LARGEST

ROWS = {
    "query": ["q"] * 200 + ["r"] * 200,
    "items": [["a", "b"], ["b", "a"]] * 200,
    "clicks": [[1, 0], [0, 1]] * 100 + [[0, 0], [1, 1]] * 100,
    "day": [1, 1, 2, 2] * 100,
}
BY_HAND = {"q": ["a", "b"], "r": ["a", "b"]}


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    pq.write_table(pa.table(ROWS), tmp_path / "log.parquet")
    pq.write_table(pa.table({"query": ["q", "r"], "items": [["a", "b"]] * 2}), tmp_path / "new.parquet")
    return tmp_path / "log.parquet", tmp_path / "new.parquet"


def read(path: Path) -> Reader:
    return Reader(path.read_text(encoding="utf-8"))


def test_an_evaluation_says_what_it_found(tmp_path: Path) -> None:
    result = cr.evaluate(ROWS, BY_HAND, top=2)
    text = read(result.report(tmp_path / "e.html", log=ROWS)).text
    for row in result.rows:
        assert row.estimator in text
    assert "top=2" in text
    assert "cr.evaluate(" in text
    # q: clicks of [a, b] are 1 of 1, of [b, a] 1 of 1; r: none, or both. The log itself: 1 an impression.
    assert "1.000" in text
    assert "most logged" in text
    assert "noise floor" in text
    for heading in ("What it is worth", "Queries that gain and lose", "How to get this page again"):
        assert heading in text


def test_parts_that_need_the_log_say_so(tmp_path: Path) -> None:
    result, judged = cr.evaluate(ROWS, BY_HAND), cr.compare(ROWS, BY_HAND, "uniform")
    for made, part in ((result, "A backtest needs the log"), (judged, "What becomes of its ranking needs the log")):
        without = read(made.report(tmp_path / "r.html")).text
        given = read(made.report(tmp_path / "r.html", log=cr.read_log(ROWS))).text
        assert part in without
        assert "needs the log" not in given
        assert "read again for this page" in given
        assert "read again" not in without
        with pytest.raises(cr.InputError, match=r"is another one \(400 good and 0 bad rows before, now 4 and 0\)"):
            made.report(tmp_path / "r.html", log={name: column[-4:] for name, column in ROWS.items()})


@pytest.mark.parametrize("estimator", [None, "ip"])
def test_a_comparison_says_who_wins(tmp_path: Path, estimator: str | None) -> None:
    worse = {"q": ["b", "a"], "r": ["b", "a"]}
    result = cr.compare(ROWS, worse, BY_HAND, estimator=estimator)
    text = read(result.report(tmp_path / "c.html", log=ROWS)).text
    assert result.answer().partition(": ")[2][1:] in text
    assert "hip" in text  # ship it, or do not
    assert result.to_dict().keys().isdisjoint({"asked", "per_query"})
    assert "Difference" in text


@pytest.mark.parametrize("items", [["a", "b"], ["b", "a"], ["c", "d"]], ids=["wins", "the same", "unknown"])
def test_a_headline_is_said_once(tmp_path: Path, items: list[str]) -> None:
    clicks = [[1, 0], [0, 0]] * 200
    rows = {"query": ["q"] * 400, "items": [["a", "b"], ["b", "a"]] * 200, "clicks": clicks}
    judged = cr.compare(rows, {"q": items}, {"q": ["b", "a"]})
    page = judged.report(tmp_path / "c.html").read_text(encoding="utf-8")
    [lead] = re.findall(r'<p class="lead">(.*?)</p>', page)
    words = unescape(re.sub("<[^>]*>", "", lead))
    [title] = re.findall("<h1>(.*?)</h1>", page)
    assert title not in words
    assert words.count(judged.answer().partition(": ")[2][1:]) == 1


@pytest.mark.parametrize(
    ("level", "said"), [("trust", "Ship it."), ("caution", "Ship with care"), ("do not trust", "Do not ship on this")]
)
def test_a_winner_is_shipped_only_where_the_log_is_trusted(tmp_path: Path, level: Level, said: str) -> None:
    clicks = [[1, 0], [0, 1]] * 200
    rows = {"query": ["q"] * 400, "items": [["a", "b"], ["b", "a"]] * 200, "clicks": clicks}
    judged = cr.compare(rows, {"q": ["a", "b"]}, {"q": ["b", "a"]}, estimator="ip", weights="dcg")
    assert judged.verdict == "target"
    made = replace(judged, diagnosis=Diagnosis(level, "so it is", [])).report(tmp_path / "c.html")
    text = read(made).text
    assert said in text
    assert level.capitalize() in text
    assert ("on evidence not to be trusted" in text) == (level == "do not trust")


def test_the_demo_ends_with_the_path_of_a_page(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["demo", "--out", str(tmp_path), "--impressions", "2000"])
    assert done.exit_code == 0, done.output
    last = Path(done.output.splitlines()[-1])
    assert last.suffix == ".html"
    assert "counterrank learn" in read(last).text
    assert done.output.count("2,000 rows read, none set aside") == 5  # check, evaluate, compare, optimize, learn


def test_the_command_writes_one(files: tuple[Path, Path], tmp_path: Path) -> None:
    clicks, new = map(str, files)
    for command in ("evaluate", "compare"):
        out = tmp_path / f"{command} it.html"
        words = [command, clicks, "--target", new, "--report", str(out)]
        done = CliRunner().invoke(app, words)
        assert done.exit_code == 0, done.output
        assert "report written to" in " ".join(done.output.split())
        text = read(out).text
        assert f"counterrank {command} {clicks} --target {new} --report '{out}'" in text
        for package in ("counterrank", "Python", "numpy", "duckdb"):
            assert package in text
        assert f"{Path(clicks).stat().st_size:,} bytes" in text


def test_where_it_cannot_go(files: tuple[Path, Path], tmp_path: Path) -> None:
    clicks, new = map(str, files)
    for command in ("evaluate", "compare"):
        for out, said in (("r.pdf", "ends with .html"), ("no/r.html", "there is no folder")):
            done = CliRunner().invoke(app, [command, clicks, "--target", new, "--report", str(tmp_path / out)])
            assert done.exit_code == 2
            assert said in done.output
    result = cr.evaluate(ROWS, BY_HAND, estimators="ip")
    with pytest.raises(cr.InputError, match=r"ends with \.html"):
        result.report(tmp_path / "r.txt")


def test_hostile_ids_are_text(tmp_path: Path) -> None:
    result, judged = cr.evaluate(log(), target()), cr.compare(log(), target(), "uniform")
    plain = cr.evaluate(ROWS, BY_HAND).report(tmp_path / "plain.html", log=ROWS)
    for made in (result.report(tmp_path / "e.html", log=log()), judged.report(tmp_path / "c.html", log=log())):
        page = read(made)
        assert {"img", "iframe"}.isdisjoint(page.tags)
        assert page.tags["script"] == page.tags["style"] == 1
        assert not {name for name in page.attributes if name.startswith("on") or name == "style"}
        assert IDS[0] in page.text
        assert "evil⟨U+202E⟩gpj.exe" in page.text
        assert "\u202e" not in page.text
        assert "10,000 characters" in page.text
    assert read(plain).attributes >= page.attributes - {"hidden", "open"}
    for shown in (result, judged, result.plot(), judged.plot()):
        html = shown._repr_svg_() if hasattr(shown, "_repr_svg_") else shown._repr_html_()
        assert {"img", "iframe", "script"}.isdisjoint(Reader(html).tags)


def test_nothing_is_fetched(tmp_path: Path) -> None:
    text = cr.evaluate(ROWS, BY_HAND).report(tmp_path / "e.html", log=ROWS).read_text(encoding="utf-8")
    assert "default-src 'none'" in unescape(text)
    assert not re.search(r"(?:src|href)=\"(?!#)|url\(|@import|https?://", text)


def test_a_reward_and_a_log_without_days(tmp_path: Path) -> None:
    rows = {"query": ["q"] * 40, "items": [["a", "b"], ["b", "a"]] * 20, "reward": [0.5, -1.5] * 20}
    text = read(cr.evaluate(rows, {"q": ["a", "b"]}).report(tmp_path / "r.html")).text
    assert "reward an impression" in text
    rows = {name: column for name, column in ROWS.items() if name != "day"}
    text = read(cr.evaluate(rows, "logging").report(tmp_path / "l.html")).text
    assert "The log has no days" in text
    assert "the logging policy itself" in text
    rows["items"] = [["a", "b"], ["a", "b"], ["b", "a"], ["a", "b"]] * 100
    for policy in ("uniform", cr.policy.PlackettLuce({"q": {"a": 1.0, "b": 0.0}, "r": {"a": 1.0, "b": 0.0}}, 1.0)):
        assert "most likely" in read(cr.evaluate(rows, policy).report(tmp_path / "u.html", log=rows)).text


def test_many_queries_with_long_names_stay_small(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    names = [f"{'é' * 300} query {i}" for i in range(20_000)]
    rows = pa.table(
        {
            "query": np.repeat(names, 2),
            "items": [["a", "b"], ["b", "a"]] * 20_000,
            "clicks": rng.integers(0, 2, (40_000, 2)).tolist(),
        }
    )
    result = cr.evaluate(rows, {name: ["a", "b"] for name in names}, estimators="ip")
    start = time.process_time()
    made = result.report(tmp_path / "r.html", log=rows)
    assert time.process_time() - start < 20
    assert made.stat().st_size < LARGEST
    assert "queries left out here" in read(made).text
