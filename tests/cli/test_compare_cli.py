"""`counterrank compare`: JSON against the slow calculation, files, exit codes and one-line errors."""

from __future__ import annotations

import json
import random

import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import compare_oracle
import oracle
import worlds
from counterrank.cli import app

FIELDS = {"difference", "lower", "upper", "confidence", "verdict", "impressions_needed", "covered", "unsupported"}
FIELDS |= {"separate", "impressions", "queries", "positions", "metric", "estimator", "notes", "warnings"}


def run(*arguments):
    return CliRunner().invoke(app, ["compare", *map(str, arguments)])


def parse(result) -> dict:
    def constant(name: str):
        raise AssertionError(f"{name} in JSON")

    assert result.stdout.count("\n") == 1
    return json.loads(result.stdout, parse_constant=constant)


@pytest.fixture
def files(tmp_path):
    """A log where a is clicked and b is not, and policies that put a first, or b."""
    rng = random.Random(1)
    rows = [{"query": "q", "items": rng.choice([["a", "b"], ["b", "a"]])} for _ in range(400)]
    for row in rows:
        row["clicks"] = [int(item == "a" and rng.random() < 0.8) for item in row["items"]]
    log = worlds.write_log(rows, tmp_path)
    good = worlds.write_policy([{"query": "q", "items": ["a", "b"]}], tmp_path, "good")
    bad = worlds.write_policy([{"query": "q", "items": ["b", "a"]}], tmp_path, "bad")
    return log, good, bad


@pytest.mark.parametrize("seed", range(500, 530))
def test_json_is_the_oracles(seed, tmp_path):
    rng = random.Random(seed)
    style = rng.choice(["plain", "integer", "hostile"])
    rows = worlds.make_rows(rng, queries=rng.randint(2, 4), style=style, impressions=rng.random() < 0.5)
    target = worlds.scores_target(rng, rows, style)
    baseline = worlds.table_target(rng, rows, style, all_queries=True)
    kind, form = rng.choice(worlds.LOG_KINDS), rng.choice(worlds.FORMS)
    log = worlds.write_log(rows, tmp_path, form=form, kind=kind, shuffle=rng)
    new = worlds.write_policy(target, tmp_path, "target", rng.choice(worlds.POLICY_KINDS))
    old = worlds.write_policy(baseline, tmp_path, "baseline", rng.choice(worlds.POLICY_KINDS))
    temperature = rng.choice([0.0, 0.5])
    arguments = [log, "--target", new, "--baseline", old, "--temperature", temperature, "--estimator", "genspec"]
    result = run(*arguments, "--per-query", tmp_path / "queries.parquet", "--json")
    assert result.exit_code == 0, result.output
    got = parse(result)
    assert set(got) >= FIELDS
    expected = compare_oracle.compare(rows, oracle.scores(target, temperature), oracle.table(baseline))
    for name in ("difference", "lower", "upper", "covered", "positions"):
        assert got[name] == (pytest.approx(expected[name], rel=1e-9, abs=1e-9) if expected[name] is not None else None)
    for side in ("target", "baseline"):
        for name, number in expected["separate"][side].items():
            wanted = pytest.approx(number, rel=1e-9, abs=1e-9) if number is not None else None
            assert got["separate"][side][name] == wanted
    table = pq.read_table(tmp_path / "queries.parquet").to_pylist()
    assert {str(row["query"]) for row in table} == set(expected["per_query"])


def test_exit_codes(files):
    log, good, bad = files
    sides = ("--target", good, "--baseline", bad, "--weights", "dcg")
    lower = parse(run(log, *sides, "--json"))["lower"]
    assert lower > 0
    assert run(log, *sides, "--require-improvement", 0).exit_code == 0
    assert run(log, *sides, "--require-improvement", lower - 1e-9).exit_code == 0
    assert run(log, *sides, "--require-improvement", lower).exit_code == 1  # above, not at
    assert run(log, *sides, "--require-improvement", lower + 1e-9).exit_code == 1
    assert run(log, "--target", bad, "--baseline", good).exit_code == 0  # nothing was required
    turned = ("--target", bad, "--baseline", good, "--weights", "dcg")
    assert run(log, *turned, "--require-improvement", 0).exit_code == 1
    failed = run(log, *turned, "--require-improvement", -10, "--json")
    assert failed.exit_code == 0
    assert run(log, *sides, "--require-improvement", "nan").exit_code == 2


def test_without_a_bound_nothing_is_an_improvement(tmp_path):
    log = worlds.write_log([{"query": "q", "items": ["a", "b"], "clicks": [1, 0]}], tmp_path)
    policy = worlds.write_policy([{"query": "q", "items": ["a", "b"]}], tmp_path)
    result = run(log, "--target", policy, "--require-improvement", -100, "--json")
    assert result.exit_code == 1
    assert parse(result)["lower"] is None


def test_the_baseline_is_the_logging_policy_unless_named(files):
    log, good, _ = files
    assert parse(run(log, "--target", good, "--json")) == parse(
        run(log, "--target", good, "--baseline", "logging", "--json")
    )


def test_words_for_people(files, tmp_path):
    log, good, bad = files
    result = run(log, "--target", good, "--baseline", bad, "--weights", "dcg", "--per-query", tmp_path / "q.csv")
    assert "Ship: with 95% confidence" in " ".join(result.stdout.split())
    assert "Bonferroni" in result.stdout
    table = pa_csv.read_csv(tmp_path / "q.csv")
    assert table.column_names == [
        "query", "impressions", "difference", "stderr", "lower", "upper", "verdict", "impressions_needed",
        "significant_after_correction",
    ]  # fmt: skip
    undecided = run(log, "--target", good, "--weights", "dcg", "--confidence", 0.999999998).stdout
    assert "more impressions would decide" in " ".join(undecided.split())
    assert "shows no difference" in run(log, "--target", good, "--baseline", good).stdout


def test_temperatures(files, tmp_path):
    log, good, _ = files
    scores = worlds.write_policy([{"query": "q", "item": a, "score": s} for a, s in (("a", 2.0), ("b", 1.0))], tmp_path)

    def value(*options):
        result = run(log, "--target", good, "--baseline", scores, *options, "--json")
        assert result.exit_code == 0, result.output
        return parse(result)["separate"]["baseline"]["value"]

    assert value() != value("--temperature", 1)
    assert value("--baseline-temperature", 1) == value("--temperature", 1)
    assert value("--baseline-temperature", 0, "--temperature", 1) == value()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--baseline", "loging"], "unknown baseline 'loging'"),
        (["--baseline", "nowhere.parquet"], "nowhere.parquet"),
        (["--confidence", "1"], "--confidence is 1"),
        (["--weights", "dgc"], "unknown weights 'dgc'"),
        (["--baseline-temperature", "1"], "--baseline-temperature is for scores"),
        (["--temperature", "1"], "--temperature is for scores"),
        (["--top", "0"], "--top is 0"),
        (["--per-query", "x.txt"], "unknown kind of file"),
        (["--require-improvement", "much"], "--require-improvement"),
        (["--logging", "nope"], "unknown logging 'nope'"),
        (["--estimator", "pmb"], "unknown estimator 'pmb'"),
        (["--estimator", "dr"], "dr needs features of items: add --features"),
        (["--estimator", "ip", "--interval", "narrow"], "unknown interval 'narrow'"),
        (["--estimator", "genspec", "--interval", "t"], "--interval is for --estimator"),
        (["--estimator", "genspec", "--clip", "2"], "--clip is for --estimator"),
        (["--estimator", "genspec", "--metric", "reward"], "--metric is reward"),
        (["--metric", "reward"], "--metric reward needs a column 'reward'"),
    ],
)
def test_bad_usage_is_one_line(files, options, message):
    log, good, _ = files
    result = run(log, "--target", good, *options)
    assert result.exit_code == 2
    assert message in result.stderr
    assert result.stderr.count("\n") == 1


def test_a_target_is_named_once(files):
    """Two of one name would be one answer, though two were asked for."""
    log, good, bad = files
    result = run(log, "--target", good, "--target", bad, "--target", good)
    assert (result.exit_code, result.stderr.count("\n")) == (2, 1)
    assert "came twice" in result.stderr


def test_what_is_true_of_both_policies_is_said_once(tmp_path):
    """A log too thin to test an assumption is so for target and baseline: one sentence, not two."""
    rng = random.Random(1)
    rows = [{"query": rng.choice("qp"), "items": rng.sample("abc", 3), "clicks": [i % 2, 0, 0]} for i in range(40)]
    log = worlds.write_log(rows, tmp_path)
    policy = worlds.write_policy([{"query": q, "items": ["c", "b", "a"]} for q in "qp"], tmp_path)
    result = run(log, "--target", policy, "--baseline", "uniform", "--estimator", "pbm")
    said = [line for line in result.stdout.splitlines() if line.startswith("•")]
    assert any("too thin" in line for line in said)
    assert len(said) == len(set(said))


def test_propensities_of_rankings_are_not_used_and_that_is_said(tmp_path):
    rows = [{"query": "q", "items": ["a", "b"], "clicks": [1, 0], "propensity": 0.5}] * 3
    log = worlds.write_log(rows, tmp_path)
    policy = worlds.write_policy([{"query": "q", "items": ["b", "a"]}], tmp_path)
    said, silent = (
        parse(run(log, "--target", policy, "--logging", kind, "--estimator", "genspec", "--json"))
        for kind in ("propensity", "log")
    )
    assert said["lower"] == silent["lower"]
    assert "shares in the log" in said["notes"][0]


def test_paired_differences(files, tmp_path):
    log, good, bad = files
    options = ("--interval", "normal", "--per-query", tmp_path / "q.csv", "--json")
    sides = ("--target", good, "--baseline", bad, "--estimator", "ip", "--weights", "dcg")
    got = parse(run(log, *sides, *options))
    assert set(got) >= FIELDS
    assert (got["estimator"], got["interval"], got["verdict"]) == ("ip", "normal", "target")
    assert got["upper"] - got["difference"] == pytest.approx(1.959963984540054 * got["stderr"])
    assert got["notes"][-1].startswith("ip assumes: a click depends on the item and its position")
    assert pa_csv.read_csv(tmp_path / "q.csv").column_names == [
        "query", "impressions", "difference", "stderr", "lower", "upper", "verdict", "impressions_needed",
        "significant_after_correction",
    ]  # fmt: skip
    assert got["by_query"]["queries"] == got["queries"]
    lower = got["lower"]
    assert run(log, *sides, "--interval", "normal", "--require-improvement", lower).exit_code == 1
    assert run(log, *sides, "--require-improvement", 0).exit_code == 0
