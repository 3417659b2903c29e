"""`counterrank optimize` on logs, candidates and options that nobody hopes for."""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import counterrank as cr
from counterrank.cli import app

BY = ["pessimistic", "lp-list", "lp-ip", "lp-pbm", "lp-item", "ips", "ip-ips", "pi"]
ROWS = [
    {"query": f"q{i % 3}", "items": ["a", "b", "c"] if i % 2 else ["b", "a", "d"],
     "clicks": [int((i * 7 + j * 3) % 5 == 0) for j in range(3)], "day": i % 4}
    for i in range(120)
]  # fmt: skip


def lines(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return lines(tmp_path / "log.jsonl", ROWS)


def run(*words: object) -> Any:
    return CliRunner().invoke(app, ["optimize", *(str(word) for word in words)], env={"COLUMNS": "80"})


def answered(*words: object) -> dict[str, Any]:
    result = run(*words, "--json")
    assert result.exit_code == 0, result.output
    assert result.stderr == ""
    found: dict[str, Any] = json.loads(result.stdout, parse_constant=pytest.fail)
    return found


def refused(*words: object) -> str:
    result = run(*words)
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    assert result.stderr.count("\n") == 1
    return str(result.stderr)


@pytest.mark.parametrize("by", BY)
def test_candidates_of_other_queries_are_refused(by: str, log: Path, tmp_path: Path) -> None:
    other = lines(tmp_path / "other.jsonl", [{"query": "zz", "item": "a"}])
    assert "candidates" in refused(log, "--by", by, "--candidates", other)


@pytest.mark.parametrize("by", BY)
def test_candidates_with_positions_are_for_pi_opt(by: str, log: Path, tmp_path: Path) -> None:
    rows = [{"query": "q0", "item": item, "position": k + 1} for k, item in enumerate("abc")]
    assert "only pi-opt" in refused(log, "--by", by, "--candidates", lines(tmp_path / "placed.jsonl", rows))


@pytest.mark.parametrize("by", ["lp-list", "ips"])
def test_no_logged_list_has_candidates_only(by: str, log: Path, tmp_path: Path) -> None:
    few = lines(tmp_path / "few.jsonl", [{"query": "q0", "item": "a"}])
    assert "no logged list consists of candidates alone" in refused(log, "--by", by, "--candidates", few)


def test_kept_rankings_with_items_that_are_no_candidates_are_counted(log: Path, tmp_path: Path) -> None:
    few = lines(tmp_path / "few.jsonl", [{"query": "q0", "item": item} for item in "ab"])
    found = answered(log, "--candidates", few)
    assert found["rankings"][0]["items"] == ["a", "b", "c"]
    assert found["notes"][0].startswith("3 kept rankings show items that are not candidates")


def test_items_that_the_log_never_shows_are_counted(log: Path, tmp_path: Path) -> None:
    fresh = lines(tmp_path / "fresh.jsonl", [{"query": "q0", "item": item} for item in "xyz"])
    notes = answered(log, "--by", "lp-ip", "--candidates", fresh)["notes"]
    assert any(note.startswith("1 ranking has items that the log never shows") for note in notes)
    assert any(note == "2 queries of the log: not ranked, for lack of candidates" for note in notes)


@pytest.mark.parametrize("model", ["cm", "dcm", "dcm-ml", "pbm", "pbm-paper"])
def test_auto_delta_where_folds_lack_queries(model: str, tmp_path: Path) -> None:
    rows = [{"query": "q", "items": ["a", "b"], "clicks": [i % 2, 0]} for i in range(3)]
    rows += [{"query": "p", "items": ["a", "b"], "clicks": [0, i % 2]} for i in range(40)]
    rows += [{"query": "p", "items": ["b", "a"], "clicks": [0, i % 2]} for i in range(40)]
    found = answered(lines(tmp_path / "thin.jsonl", rows), "--delta", "auto", "--click-model", model)
    assert 0 < found["delta"] <= 1


def test_wide_weights_and_tiny_deltas(tmp_path: Path, recwarn: pytest.WarningsRecorder) -> None:
    rows = [
        {"query": "q", "items": ["a", "b"] if i % 2 else ["b", "a"], "clicks": [i // 2 % 2, i // 4 % 2],
         "impressions": 10**9 * (1 + i)}
        for i in range(8)
    ]  # fmt: skip
    log = lines(tmp_path / "wide.jsonl", rows)
    for model, delta in (("cm", "auto"), ("pbm", "0.2")):  # both together take 20 seconds: curves of eleven parts
        assert answered(log, "--click-model", model, "--delta", delta)["impressions"] == 36 * 10**9
    for bound in ("bayes", "hoeffding", "kl", "wilson"):
        assert None not in answered(log, "--bound", bound, "--delta", "5e-324")["rankings"][0]["lower"]
    assert not [str(w.message) for w in recwarn if issubclass(w.category, RuntimeWarning)]


def test_nothing_that_is_read_is_written_over(log: Path, tmp_path: Path) -> None:
    folder = tmp_path / "parts"
    folder.mkdir()
    for i in range(2):
        shutil.copy(log, folder / f"part{i}.jsonl")
    before = (folder / "part0.jsonl").read_bytes()
    for source in (folder, f"{folder}/*.jsonl", f"{folder}/part*"):
        assert "give another name" in refused(source, "--out", folder / "part0.jsonl")
    assert "give another name" in refused(folder, "--out", folder / "policy.jsonl")  # would be read next time
    assert "give another name" in refused(log, "--out", tmp_path / "new.jsonl", "--bad-rows", tmp_path / "new.jsonl")
    assert (folder / "part0.jsonl").read_bytes() == before
    assert run(f"{folder}/part*", "--out", folder / "policy.jsonl").exit_code == 0


def by_query(found: dict[str, Any]) -> list[tuple[Any, ...]]:
    rows = [(r["query"], r["items"], r.get("probability"), r["lower"], r["value"]) for r in found["rankings"]]
    return sorted(rows, key=lambda row: (row[0], str(row[1])))


@pytest.mark.parametrize(
    "options",
    [["--by", "lp-list", "--clip", "3"], ["--by", "lp-ip", "--clip", "3"], ["--by", "lp-pbm", "--clip", "3"], []],
    ids=lambda given: "-".join(given) or "pessimistic",
)
def test_the_order_of_rows_does_not_matter(options: list[str], tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    rows: list[dict[str, Any]] = [
        {"query": f"q{rng.integers(0, 6)}", "items": [f"i{item}" for item in rng.permutation(6)[:4]],
         "clicks": [int(rng.random() < 0.5 / (k + 1)) for k in range(4)]}
        for _ in range(400)
    ]  # fmt: skip
    one = by_query(answered(lines(tmp_path / "one.jsonl", rows), *options))
    rng.shuffle(rows)  # type: ignore[arg-type]
    other = by_query(answered(lines(tmp_path / "other.jsonl", rows), *options))
    assert [row[:2] for row in one] == [row[:2] for row in other]
    for mine, theirs in zip(one, other, strict=True):
        assert mine[4] == pytest.approx(theirs[4], abs=1e-9)
        assert mine[2] == pytest.approx(theirs[2], abs=1e-9)
        assert mine[3] == pytest.approx(theirs[3], abs=1e-9)


@pytest.mark.parametrize("suffix", [".parquet", ".csv", ".csv.gz", ".jsonl"])
def test_a_written_policy_reads_back_with_its_ids(tmp_path: Path, suffix: str) -> None:
    """Quotes, commas, line ends and leading zeros within lists."""
    items = ['a "b", c', "00123", "d\ne", "☃"]
    rows = [{"query": "q,1", "items": items, "clicks": [1, 0, 0, 1]}] * 3
    log, out = tmp_path / "log.jsonl", tmp_path / f"policy{suffix}"
    log.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    assert run(log, "--bound", "mle", "--out", out).exit_code == 0
    assert sorted(cr.read_policy(str(out)).rank("q,1")) == sorted(items)
