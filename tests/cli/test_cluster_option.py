"""`--cluster` on the commands that count by it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from counterrank.cli import app


@pytest.fixture
def log(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    user = rng.integers(0, 40, 400)
    mood = rng.random(40)
    columns = {
        "query": ["q"] * 400,
        "items": [["a", "b"], ["b", "a"]] * 200,
        "clicks": [[int(rng.random() < mood[u]), 0] for u in user],
        "user": user,
    }
    pq.write_table(pa.table(columns), tmp_path / "log.parquet")
    pq.write_table(pa.table({"query": ["q"], "items": [["a", "b"]]}), tmp_path / "new.parquet")
    return tmp_path


def answer(*words: object) -> dict:
    found = CliRunner().invoke(app, [*map(str, words), "--json"])
    assert found.exit_code == 0, found.output
    return dict(json.loads(found.stdout))


def test_standard_errors_and_bets_are_by_cluster(log: Path) -> None:
    asked = [log / "log.parquet", "--target", log / "new.parquet", "--logging", "uniform"]
    asked += ["--interval", "betting", "--estimator", "ip"]
    alone, together = (answer("evaluate", *asked, *more)["estimates"][0] for more in ([], ["--cluster", "user"]))
    assert together["value"] == alone["value"]
    assert together["stderr"] > 1.2 * alone["stderr"]
    assert together["interval"] == "betting"
    assert together["lower"] < alone["lower"] < alone["upper"] < together["upper"]
    gap = answer("compare", *asked, "--cluster", "user")
    assert gap["lower"] < gap["difference"] < gap["upper"]


def test_check_tells_of_clusters(log: Path) -> None:
    found = answer("check", log / "log.parquet", "--cluster", "user")
    assert any("40 clusters of" in note for note in found["notes"])
