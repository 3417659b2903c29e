"""The SQL we race against computes what we compute."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import counterrank as cr

sys.path.insert(0, str(Path(__file__).parents[2]))

from benchmarks import make_log, sql


@pytest.mark.parametrize("ids", ["int", "str"])
def test_sql_gives_our_values(tmp_path, ids):
    files = make_log.make(make_log.Files(tmp_path, 20_000, ids, seed=3))
    found = cr.evaluate(str(files.log), str(files.table), estimators=["ip", "pbm"], examination="reciprocal")
    for name, value in sql.values(files.log, files.table).items():
        assert value == pytest.approx(found.value(name), rel=1e-9)


def test_sql_cuts_the_log_to_the_queries_of_the_target(tmp_path):
    import pyarrow.parquet as pq

    files = make_log.make(make_log.Files(tmp_path, 20_000, "int", seed=4))
    some = tmp_path / "some.parquet"
    pq.write_table(pq.read_table(files.table).slice(0, 100), some)
    found = cr.evaluate(str(files.log), str(some), estimators=["ip", "pbm"], examination="reciprocal")
    assert found.covered < 0.2
    for name, value in sql.values(files.log, some).items():
        assert value == pytest.approx(found.value(name), rel=1e-9)


def test_the_same_seed_gives_the_same_log(tmp_path):
    import pyarrow.parquet as pq

    one, two = (make_log.make(make_log.Files(tmp_path / name, 5_000, "int", seed=1)).log for name in "ab")
    assert pq.read_table(one).equals(pq.read_table(two))
    clicks = pq.read_table(one)["clicks"].combine_chunks().values.to_numpy()
    assert 0.08 < clicks.mean() < 0.12
