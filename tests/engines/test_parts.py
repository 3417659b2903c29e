"""A log that is dealt out: which row groups go where, what is sent, and rows that nobody asked for."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import counterrank as cr
from counterrank.engine import Plan
from counterrank.engine.part_counts import COUNTS, ERROR, CountPart, LogHead, Piece
from counterrank.engine.partitioned import PartitionedPass
from counterrank.setting.options import position_weights
from counterrank.statistics.counts import Counts
from counterrank.statistics.store import packed_counts, unpacked_counts
from in_parts import HereJobs, InParts

WANTED = {name: name for name in ("query", "items", "clicks")}


def a_log(size: int, queries: int = 4, seed: int = 0) -> pa.Table:
    rng = np.random.default_rng(seed)
    shown = [rng.permutation(6)[:4].tolist() for _ in range(size)]
    clicks = rng.integers(0, 2, (size, 4)).tolist()
    return pa.table({"query": rng.integers(0, queries, size), "items": shown, "clicks": clicks})


def flat(found: object, path: str = "") -> dict[str, object]:
    """Every number and word of a result, by its place."""
    if isinstance(found, dict):
        return {k: v for name, each in found.items() for k, v in flat(each, f"{path}/{name}").items()}
    if isinstance(found, list):
        return {k: v for i, each in enumerate(found) for k, v in flat(each, f"{path}/{i}").items()}
    return {path: found}


@pytest.mark.parametrize("options", [{}, {"top": 2}, {"estimators": "pi,wpi,pbm", "top": 3}], ids=str)
def test_everything_that_is_told_is_that_of_the_embedded_engine(options: dict[str, object]) -> None:
    """The verdict, the examination curve and the sample too, with queries in the log that the target does not have."""
    log, target = a_log(900), {q: [5, 4, 3, 2] for q in range(3)}
    got, wanted = (flat(cr.evaluate(log, target, engine=e, **options).to_dict()) for e in (InParts(), "duckdb"))
    assert set(got) == set(wanted)
    numbers = {k for k, v in wanted.items() if isinstance(v, float)}
    assert {k: got[k] for k in numbers} == pytest.approx({k: wanted[k] for k in numbers}, rel=1e-9, abs=1e-12)
    rest = set(wanted) - numbers - {k for k in wanted if "engine" in k}
    assert {k: got[k] for k in rest} == {k: wanted[k] for k in rest}


def test_rankings_are_fetched_when_they_are_looked_at_and_once() -> None:
    class Watched(HereJobs):
        fetched = 0

        def rows(self):
            self.fetched += 1
            return super().rows()

    log = cr.read_log(a_log(50))
    plan = Plan(metric="clicks", weights=position_weights("clicks"), pages="fit")
    jobs = Watched(log, plan)
    pages = PartitionedPass(log, plan, jobs).counts.pages
    assert pages is not None
    assert jobs.fetched == 0
    assert sum(chunk.impressions.sum() for chunk in pages.chunks()) == 50
    assert sum(chunk.impressions.sum() for chunk in pages.chunks()) == 50
    assert jobs.fetched == 1


def test_a_part_without_the_queries_asked_for_counts_for_the_log_alone() -> None:
    rows = pa.concat_tables([a_log(5, 1).set_column(0, "query", pa.array([9] * 5)), a_log(10, 1)])
    plan = Plan(metric="clicks", weights=position_weights("clicks"), queries=pa.array(["0"]))
    counts = InParts().count(cr.read_log(rows), plan).counts
    assert (counts.total, counts.log_impressions) == (10, 15)


def test_row_groups_are_dealt_out_evenly_and_once() -> None:
    pytest.importorskip("ibis")
    from counterrank.engine.spark_jobs import dealt_out

    found = [(Piece(Path(f"{n // 5}"), "log", WANTED, [n % 5]), 1 << 20) for n in range(16)]
    parts = dealt_out(found, cores=2)
    sizes = [sum(len(piece.groups) for piece in part) for part in parts]
    assert sizes == [4, 4, 4, 4]
    assert [(piece.path.name, g) for part in parts for piece in part for g in piece.groups] == [
        (str(n // 5), n % 5) for n in range(16)
    ]
    assert len(dealt_out(found[:1], cores=8)) == 1  # a row group is not cut


def test_row_groups_of_a_file_add_up_and_a_missing_file_is_said(tmp_path: Path) -> None:
    rows = a_log(300)
    pq.write_table(rows, tmp_path / "log.parquet", row_group_size=70)
    log = cr.read_log(tmp_path / "log.parquet")
    plan = Plan(metric="clicks", weights=position_weights("clicks"))
    work = CountPart(LogHead(log.name, log.columns, log.kinds(), False), plan, False)
    parts = [
        unpacked_counts(data)
        for groups in ([0, 3], [1], [2, 4])
        for kind, data in work.of_pieces([Piece(tmp_path / "log.parquet", log.name, WANTED, groups)])
        if kind == COUNTS
    ]
    whole = cr.engine.Embedded().count(log, plan).counts
    assert packed_counts(Counts.added(parts)) == packed_counts(whole)
    [(kind, said)] = work.of_pieces([Piece(tmp_path / "gone.parquet", "gone.parquet", WANTED, [0])])
    assert kind == ERROR
    assert said.decode().startswith("gone.parquet: there is no such file on ")


def test_workers_without_counterrank_say_so() -> None:
    """The question must reach a worker that has nothing of ours."""
    pickler = pytest.importorskip("pyspark.cloudpickle")
    from counterrank.engine.spark_jobs import looking

    asks = (
        "import pickle, sys; sys.modules['counterrank'] = None; "
        "print(next(pickle.load(sys.stdin.buffer)(iter([1]))).to_pydict()['said'][0])"
    )
    sent = pickler.dumps(looking("0"))
    said = subprocess.run([sys.executable, "-c", asks], input=sent, capture_output=True, check=True).stdout.decode()
    assert "counterrank" in said
    [found] = next(looking("0")(iter([1]))).to_pydict()["said"]
    assert found == f"they have counterrank {cr.__version__}, not 0"


def test_where_workers_lack_it_expressions_count_and_a_note_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    from counterrank.engine import relational, spark

    monkeypatch.setattr(spark, "missing", lambda session: "No module named 'counterrank'")
    monkeypatch.setattr(relational, "RelationalPass", lambda log, plan, engine: log.notes)
    plan = Plan(metric="clicks", weights=position_weights("clicks"))
    [note] = spark.Spark(None, "local[2]").counted(cr.read_log(a_log(3)), plan)
    assert "No module named 'counterrank'" in note
    assert "PYSPARK_PYTHON" in note
