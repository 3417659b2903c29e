"""`counterrank evaluate … --json` against the oracle: every file form, hostile ids, and laws."""

from __future__ import annotations

import json
import random
import subprocess
import sys

import pytest
from typer.testing import CliRunner

import oracle
import worlds
from counterrank.cli import app
from seeds import seeds

FIELDS = ("value", "clipped", "unsupported", "effective_sample_size")
NOT_NORMALISED = ["list", "ip", "pbm", "item"]


def no_constant(name: str):
    raise AssertionError(f"{name} in JSON: undefined numbers are null")


def parse(text: str) -> dict:
    return json.loads(text, parse_constant=no_constant)


def run(*arguments) -> dict:
    result = CliRunner().invoke(app, ["evaluate", *map(str, arguments), "--json"])
    assert result.exit_code == 0, f"{result.output}\n{result.exception!r}"
    return parse(result.stdout)


def commas(values) -> str:
    return values if isinstance(values, str) else ",".join(repr(float(v)) for v in values)


def arguments_of(world: worlds.World, folder, *, form: str, kind: str, policy_kind: str, seed: int) -> list[str]:
    shuffle = random.Random(seed) if seed % 2 else None
    integer = world.integer_ids
    log = worlds.write_log(world.rows, folder, form=form, kind=kind, integer_ids=integer, shuffle=shuffle)
    if world.target_rows is None:
        target = "logging"
    else:
        target = worlds.write_policy(world.target_rows, folder, "target", policy_kind, world.integer_ids)
    result = [log, "--target", target, "--estimator", ",".join(names_for(world))]
    if world.temperature:
        result += ["--temperature", world.temperature]
    for name, value in world.options.items():
        if value is not None:
            result += [f"--{name}", commas(value) if name in ("weights", "examination") else value]
    if world.logging_rows is not None:
        path = worlds.write_policy(world.logging_rows, folder, "logging", policy_kind, world.integer_ids)
        result += ["--logging", path]
    elif world.logging is not None:
        result += ["--logging", world.logging]
    if world.candidates is not None:
        rows = world.candidate_rows()
        result += ["--candidates", worlds.write_rows(rows, folder, "candidates", policy_kind, world.integer_ids)]
    return [str(each) for each in result]


def names_for(world: worlds.World) -> list[str]:
    return list(oracle.OF_A_REWARD if world.options["metric"] == "reward" else oracle.ESTIMATORS)


def world_for_the_command_line(seed: int, style: str | None = None) -> worlds.World:
    """The command line has no word for a uniform target: the next world that needs none.

    Its `--temperature` may be read as one for every file of scores, so logging files here are tables.
    """
    return next(w for s in range(seed, seed + 10**6, 10_000) if (w := worlds.make_world(s, style)).target != "uniform")


def expected_of(world: worlds.World) -> dict:
    return oracle.evaluate(world.rows, world.target, estimators=names_for(world), **world.oracle_options())


def assert_same(got: dict, expected: dict[str, dict]) -> None:
    estimates = {each["estimator"]: each for each in got["estimates"]}
    assert set(estimates) == set(expected)
    for name, numbers in expected.items():
        for field in FIELDS:
            wanted, came = numbers[field], estimates[name][field]
            where = f"{name}.{field}: {came} instead of {wanted}"
            assert (came is None) == (wanted is None), where
            if wanted is not None:
                assert came == pytest.approx(wanted, rel=1e-9, abs=1e-9), where


@pytest.mark.parametrize("style", ["plain", "integer", "hostile"])
@pytest.mark.parametrize("kind", worlds.LOG_KINDS)
@pytest.mark.parametrize("form", worlds.FORMS)
@pytest.mark.parametrize("turn", seeds(range(3), 1))
def test_every_file_form(form, kind, style, turn, tmp_path):
    seed = 100 * worlds.LOG_KINDS.index(kind) + 10 * worlds.FORMS.index(form) + turn
    world = world_for_the_command_line(seed, style)
    policy_kind = worlds.POLICY_KINDS[turn]
    arguments = arguments_of(world, tmp_path, form=form, kind=kind, policy_kind=policy_kind, seed=seed)
    assert_same(run(*arguments), expected_of(world))


def starts() -> list:
    """Ids by four in each kind of file; in every run in one of the three kinds, in turn."""
    kinds = ["parquet", "csv", "jsonl"]
    return [
        pytest.param(kind, start, marks=[pytest.mark.slow] * ((start // 4 + k) % 3 > 0))
        for start in range(0, len(worlds.HOSTILE), 4)
        for k, kind in enumerate(kinds)
    ]


@pytest.mark.parametrize(("kind", "start"), starts())
def test_each_hostile_id_as_query_and_as_item(kind, start, tmp_path):
    """Four ids at a time, each a query of its own and each an item of every query."""
    ids = worlds.HOSTILE[start : start + 4]
    rng = random.Random(start)
    rows, target_rows = [], []
    for query in ids:
        for _ in range(6):
            items = rng.sample(ids, rng.randint(1, len(ids)))
            rows.append({"query": query, "items": items, "clicks": [rng.randint(0, 1) for _ in items]})
        target_rows.append({"query": query, "items": rows[-1]["items"], "probability": 0.75})
        target_rows.append({"query": query, "items": ["never", *ids], "probability": 0.25})
    log = worlds.write_log(rows, tmp_path, form=["list", "long"][start // 4 % 2], kind=kind)
    target = worlds.write_policy(target_rows, tmp_path, "target", kind)
    got = run(log, "--target", target, "--estimator", ",".join(oracle.ESTIMATORS))
    assert_same(got, oracle.evaluate(rows, oracle.table(target_rows)))


def test_integers_in_the_log_meet_text_in_the_policy(tmp_path):
    rows = [
        {"query": "7", "items": ["1", "2"], "clicks": [1, 0]},
        {"query": "7", "items": ["2", "1"], "clicks": [1, 1]},
        {"query": "8", "items": ["3", "1"], "clicks": [0, 1]},
    ]
    target_rows = [
        {"query": "7", "items": ["2", "1"], "probability": 1.0},
        {"query": "007", "items": ["2", "1"], "probability": 1.0},
    ]
    expected = oracle.evaluate(rows, oracle.table(target_rows))
    for kind in worlds.LOG_KINDS:
        log = worlds.write_log(rows, tmp_path, kind=kind, integer_ids=True)
        for policy_kind in worlds.POLICY_KINDS:
            target = worlds.write_policy(target_rows, tmp_path, "target", policy_kind)
            got = run(log, "--target", target, "--estimator", ",".join(oracle.ESTIMATORS))
            assert_same(got, expected)
            assert got["covered"] == pytest.approx(2 / 3)


@pytest.mark.parametrize("seed", seeds(range(40, 60), 8))
def test_estimates_that_do_not_normalise_never_fall_as_the_clip_rises(seed, tmp_path):
    world = world_for_the_command_line(seed)
    world.options["clip"] = None
    if world.options["metric"] == "reward":  # a negative reward may well fall
        world.rows = [{**row, "reward": abs(row["reward"])} for row in world.rows]
    arguments = arguments_of(world, tmp_path, form="list", kind="parquet", policy_kind="parquet", seed=seed)
    before: dict[str, float] = {}
    for clip in [0.01, 0.5, 1.001, 2.5, 40, 1e6, None]:
        got = run(*arguments, *(["--clip", clip] if clip else []))
        for each in got["estimates"]:
            name = each["estimator"]
            if name in NOT_NORMALISED:
                assert each["value"] >= before.get(name, 0.0) - 1e-12, (name, clip)
                before[name] = each["value"]
    world.options["clip"] = None
    assert_same(got, expected_of(world))


@pytest.mark.parametrize("seed", seeds(range(60, 80), 8))
def test_the_logging_policy_is_worth_the_logs_mean(seed, tmp_path):
    world = world_for_the_command_line(seed)
    world.target, world.target_rows, world.temperature = "logging", None, 0.0
    world.options["clip"] = None
    looks = world.options.get("examination")
    if isinstance(looks, list):
        world.options["examination"] = [look or 0.5 for look in looks]
    arguments = arguments_of(world, tmp_path, form="long", kind="parquet", policy_kind="parquet", seed=seed)
    got = run(*arguments)
    mean = expected_of(world)["rctr"]["value"]
    for each in got["estimates"]:
        assert each["value"] == pytest.approx(mean, rel=1e-9, abs=1e-9), each["estimator"]
        assert each["unsupported"] == pytest.approx(0, abs=1e-12)


def test_gzip_is_nothing_to_the_answer_and_parts_are_a_whole(tmp_path):
    """A folder and a glob of files of one log are that log."""
    rng = random.Random(4)
    rows = worlds.make_rows(rng, queries=3, style="hostile", rows_per_query=(6, 10))
    target_rows = worlds.table_target(rng, rows, "hostile", all_queries=True)
    target = worlds.write_policy(target_rows, tmp_path)
    expected = oracle.evaluate(rows, oracle.table(target_rows))
    for kind in ["parquet", "csv", "jsonl.gz"]:
        folder = tmp_path / kind
        folder.mkdir()
        for number in range(3):
            worlds.write_rows(rows[number::3], folder, f"part-{number}", kind)
        for source in (folder, folder / f"*.{kind}") if kind == "csv" else (folder,):
            got = run(source, "--target", target, "--estimator", ",".join(oracle.ESTIMATORS))
            assert_same(got, expected)


@pytest.mark.parametrize("seed", [0])
def test_as_a_process_of_its_own(seed, tmp_path):
    world = world_for_the_command_line(seed, "hostile")
    arguments = arguments_of(world, tmp_path, form="list", kind="csv", policy_kind="jsonl", seed=seed)
    command = [sys.executable, "-m", "counterrank", "evaluate", *arguments, "--json"]
    result = subprocess.run(command, capture_output=True, check=False, encoding="utf-8")
    assert result.returncode == 0, result.stderr
    assert_same(parse(result.stdout), expected_of(world))
