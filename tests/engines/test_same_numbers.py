"""`evaluate` gives the same numbers on every engine, from every form of file, and refuses the same rows."""

from __future__ import annotations

import json
import random

import duckdb
import ibis
import pyarrow as pa
import pytest

import counterrank as cr
import worlds
from counterrank.log.problems import MESSAGES, RowProblem
from seeds import seeds
from test_evaluate_oracle import names_for, package_options, package_target

FIELDS = ("value", "stderr", "effective_sample_size", "clipped", "unsupported")
SHAPES = [(form, kind) for form in worlds.FORMS for kind in ["arrow", *worlds.LOG_KINDS]]


def numbers(log, target, engine, names, options) -> dict:
    result = cr.evaluate(log, target, estimators=names, engine=engine, **options).to_dict()
    found = {(each["estimator"], field): each[field] for each in result["estimates"] for field in FIELDS}
    return found | {name: result[name] for name in ("impressions", "queries", "positions", "covered")}


def assert_same(got: dict, wanted: dict) -> None:
    assert {k for k, v in got.items() if v is None} == {k for k, v in wanted.items() if v is None}
    known = {k: v for k, v in wanted.items() if v is not None}
    assert {k: got[k] for k in known} == pytest.approx(known, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("number", seeds(range(len(SHAPES) * 3), len(SHAPES)))
def test_engines_agree_on_every_form_of_file(engine, few, number, tmp_path):
    form, kind = SHAPES[number % len(SHAPES)]
    if few and number not in (1, 9):  # Parquet, which Spark reads itself, and JSON Lines in the long form
        pytest.skip("two forms of files do for an engine that is slow to start a job: text comes to it as Parquet")
    world = worlds.make_world(7000 + number, "hostile" if number % 2 == 0 else None)
    shuffle = random.Random(number)
    if kind == "arrow":
        rows = worlds.to_long(world.rows, shuffle) if form == "long" else world.rows
        source = worlds.to_arrow(rows, world.integer_ids)
    else:
        source = worlds.write_log(
            world.rows, tmp_path, form=form, kind=kind, integer_ids=world.integer_ids, shuffle=shuffle
        )
    target, options = package_target(world, tmp_path, "parquet"), package_options(world, tmp_path, "parquet")
    expected = numbers(cr.read_log(worlds.to_arrow(world.rows)), target, "duckdb", names_for(world), options)
    assert_same(numbers(cr.read_log(source), target, engine, names_for(world), options), expected)


def test_an_ibis_table_is_counted_by_its_own_database():
    rows = worlds.make_rows(random.Random(3), queries=3, style="hostile")
    connection = duckdb.connect()
    connection.register("arrow", worlds.to_arrow(rows))
    connection.execute("CREATE TABLE log AS SELECT * FROM arrow")
    table = ibis.duckdb.from_connection(connection).table("log")
    target = {row["query"]: row["items"] for row in rows}
    got = numbers(cr.read_log(table), target, "ibis", None, {})
    assert_same(got, numbers(cr.read_log(worlds.to_arrow(rows)), target, "duckdb", None, {}))


@pytest.mark.parametrize("clip", [None, 2.0])
def test_own_propensities_weigh_alike(engine, few, clip, tmp_path):
    """Weights by each impression's own propensities: the same numbers, in the list form and in the long form."""
    if few:
        pytest.skip("an engine that is slow to start a job")
    rng = random.Random(11)
    rows = []
    for number in range(60):
        items = rng.sample(["a", "b", "c", "d"], rng.choice([2, 3]))
        row = {"query": f"q{number % 3}", "items": items, "clicks": [rng.randint(0, 1) for _ in items]}
        row["item_propensities"] = [rng.uniform(0.05, 1.0) for _ in items]
        rows.append({**row, "impressions": rng.choice([1, 4])})
    target = {f"q{q}": ["b", "a", "c"] for q in range(3)}
    options = {"clip": clip}
    expected = numbers(cr.read_log(worlds.to_arrow(rows)), target, "duckdb", "ip,wip", options)
    assert_same(numbers(cr.read_log(worlds.to_arrow(rows)), target, engine, "ip,wip", options), expected)
    long = worlds.write_log(rows, tmp_path, form="long", kind="parquet", shuffle=rng)
    assert_same(numbers(cr.read_log(long), target, engine, "ip,wip", options), expected)


GOOD = {"query": "q", "items": ["a", "b"], "clicks": [0, 1], "impressions": 1, "propensity": 0.5}
GOOD |= {"item_propensities": [0.5, 0.25]}
BROKEN = {
    RowProblem.QUERY: {"query": None},
    RowProblem.ITEMS: {"items": []},
    RowProblem.ITEM: {"items": ["a", None]},
    RowProblem.REPEATED: {"items": ["a", "a"]},
    RowProblem.CLICKS: {"clicks": None},
    RowProblem.LENGTH: {"clicks": [0]},
    RowProblem.CLICK: {"clicks": [0, float("nan")]},
    RowProblem.PROPENSITY: {"propensity": 0.0},
    RowProblem.ITEM_PROPENSITIES: {"item_propensities": [0.5]},
    RowProblem.ITEM_PROPENSITY: {"item_propensities": [0.5, 1.5]},
    RowProblem.IMPRESSIONS: {"impressions": 1.5},
}
TYPES = {"clicks": pa.list_(pa.float64()), "items": pa.list_(pa.string()), "impressions": pa.float64()}


def a_log(rows: list[dict], **options) -> cr.Log:
    columns = {name: pa.array([row[name] for row in rows], TYPES.get(name)) for name in GOOD}
    return cr.read_log(pa.table(columns), **options)


@pytest.mark.parametrize("problem", BROKEN, ids=lambda problem: problem.name)
def test_a_bad_row_stops_with_its_problem(engine, few, problem):
    if few and problem not in (RowProblem.ITEM, RowProblem.CLICK):
        pytest.skip("two problems do for an engine that is slow to start a job")
    log = a_log([GOOD, {**GOOD, **BROKEN[problem]}, GOOD])
    with pytest.raises(cr.InputError) as error:
        cr.evaluate(log, {"q": ["a", "b"]}, engine=engine)
    assert MESSAGES[problem] in str(error.value)
    assert "\n" not in str(error.value)


def test_bad_rows_are_set_aside_counted_and_the_rest_is_judged(engine, tmp_path):
    rows = [GOOD, GOOD, *({**GOOD, **broken} for broken in BROKEN.values()), {**GOOD, "items": []}]
    log = a_log(rows, bad_rows=tmp_path / "bad.jsonl")
    result = cr.evaluate(log, {"q": ["a", "b"]}, engine=engine)
    written = [json.loads(line) for line in (tmp_path / "bad.jsonl").read_text(encoding="utf-8").splitlines()]
    assert result.reading.rejected == len(written) == len(rows) - 2
    expected = [*(MESSAGES[problem] for problem in BROKEN), MESSAGES[RowProblem.ITEMS]]
    assert sorted(each["problem"] for each in written) == sorted(expected)
    assert result.to_dict()["impressions"] == 2


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"position": 3}, RowProblem.POSITIONS),
        ({"position": 1}, RowProblem.POSITIONS),
        ({"query": "other"}, RowProblem.DIFFERS),
        ({"impression": None}, RowProblem.IMPRESSION),
    ],
)
def test_a_broken_impression_in_long_form_stops(engine, few, change, problem):
    if few and problem is not RowProblem.DIFFERS:
        pytest.skip("one problem does for an engine that is slow to start a job")
    rows = [{"impression": i, "query": "q", "position": k, "item": f"i{k}", "click": 0} for i in (1, 2) for k in (1, 2)]
    rows[3] |= change
    log = cr.read_log(pa.table({name: [row[name] for row in rows] for name in rows[0]}))
    with pytest.raises(cr.InputError) as error:
        cr.evaluate(log, {"q": ["i1", "i2"]}, engine=engine)
    told = str(error.value)
    # an impression that lost a row to a missing name has gaps too: either may be told first
    assert MESSAGES[problem] in told or (problem is RowProblem.IMPRESSION and MESSAGES[RowProblem.POSITIONS] in told)


def test_queries_that_meet_nothing_are_said_so(engine):
    with pytest.raises(cr.InputError, match="none of the log's queries"):
        cr.evaluate(a_log([GOOD]), {"elsewhere": ["a", "b"]}, engine=engine)
