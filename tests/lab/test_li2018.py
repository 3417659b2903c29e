"""li2018: a smoke run on tiny data, what it says where something is missing, and the numbers on the real data."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

import counterrank as cr
from counterrank.backtesting.backtest import backtest
from counterrank.cli import function
from counterrank.lab import figures, li2018, load
from counterrank.lab.result import Reproduction
from counterrank.simulate import make_world, simulate

app = typer.Typer()
app.command()(function("reproduce"))
DAY = 86_400_000
DATA = os.environ.get("COUNTERRANK_DATA")
real = pytest.mark.skipif(not DATA, reason="COUNTERRANK_DATA does not name the folder of real data")


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Both layouts with made-up pages: 4 queries, 6 items, 5 days."""
    folder = tmp_path_factory.mktemp("data")
    rng = np.random.default_rng(0)
    actions, records = [], []
    for session in range(400):
        query, day = rng.integers(0, 4), rng.integers(0, 5)
        urls = [str(100 * query + u) for u in rng.permutation(6)[:4]]
        time = day * DAY + session * 1000
        clicked = [u for u in urls if rng.random() < 0.3]
        actions.append("\t".join([str(session), str(time), "Q", f"{query}", "0", *urls]))
        actions += ["\t".join([str(session), str(time + 1), "C", u]) for u in clicked]
        records.append(f"{query}_0\t{','.join(urls)} : {' , '.join(clicked)}")
    for name, text in {
        "clara2/search-log.tsv.gz": "\n".join(actions),
        "yandex-sample/trainSample.gz": ";".join(records[:200]),
        "yandex-sample/testSample.gz": ";".join(records[200:]),
    }.items():
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(gzip.compress(text.encode()))
    return folder


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    """A tiny simulation, and no cut to the 101st query, which the tiny log does not have."""
    if "data" not in request.fixturenames:
        return
    world = make_world(queries=6, items=5, k=4, seed=1)

    def tiny(quick: bool) -> tuple[cr.Log, cr.Log]:
        tables = [simulate(world, 900, np.random.default_rng(1), days=4, drift=d) for d in (2.0, 0.0)]
        return cr.read_log(tables[0]), cr.read_log(tables[1])

    monkeypatch.setattr(li2018, "_simulated", tiny)
    monkeypatch.setattr(li2018, "FREQUENT", 2)


@pytest.mark.skipif(not figures.drawable(), reason="needs the extra lab")
def test_tiny_data_gives_every_figure(data: Path, tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["li2018", "--data", str(data), "--out", str(tmp_path), "--quick", "--json"])
    assert result.exit_code == 0, result.output
    content = json.loads(result.stdout)
    assert {f"figure{n}" for n in (1, 2, 3)} <= {key.split("-")[0] for key in content["numbers"]}
    assert len(content["numbers"]["figure5"]["clara2"]) == 5
    assert {finding["holds"] for finding in content["findings"]} <= {"yes", "no", "undecided"}
    for name in ("figure1-clara2", "figure2-yandex-sample", "figure3-clara2", "figure4-changing", "figure5"):
        assert (tmp_path / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        assert (tmp_path / f"{name}.svg").read_text().startswith("<svg")
    assert json.loads((tmp_path / "numbers.json").read_text()) == content
    assert (content["rows"], content["rejected"]) == (800, 0)


def test_without_altair_the_numbers_come_and_a_note(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(figures, "drawable", lambda: False)
    result = CliRunner().invoke(app, ["li2018", "--data", str(data), "--out", str(tmp_path), "--quick"])
    assert result.exit_code == 0, result.output
    assert "pip install '.[lab]'" in result.stdout
    assert "-17.90%" in result.stdout
    assert "800 rows read, none set aside" in result.stdout
    assert not list(tmp_path.glob("*.png"))


def test_what_is_missing_is_said_in_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COUNTERRANK_DATA", raising=False)
    with pytest.raises(cr.InputError, match="li2018"):
        load("li2081")
    for arguments, message in (
        ([], "add --data DIR"),
        (["--data", str(tmp_path / "no")], "is not a folder"),
        (["--data", str(tmp_path)], "has no clara2"),
    ):
        failed = CliRunner().invoke(app, ["li2018", *arguments]).exception
        assert isinstance(failed, cr.InputError)
        assert message in str(failed)
        assert "\n" not in str(failed)


@real
def test_clara2_at_clip_100() -> None:
    log = cr.read_log(Path(str(DATA)) / "clara2/search-log.tsv.gz", format="yandex")
    result = backtest(log, queries=100, clips=[100])
    assert result.query_days == 2290
    for estimator in ("item", "ip", "pbm"):
        assert result.difference("dcg", estimator, "list", 100, 100).upper < -0.12
        assert result.difference("K=3", estimator, "list", 100, 100).value < -0.03
    assert abs(result.difference("dcg", "ip", "rctr", 100).value) < 0.05
    everything = backtest(log, clips=[100], estimators="ip")
    assert (everything.queries, everything.skipped) == (1606, 345)


@real
def test_reproduction_on_real_data() -> None:
    result: Reproduction = load("li2018")(Path(str(DATA)), None, True)
    holds = {(f.claim[:5].strip(), f.where): f.holds for f in result.findings}
    assert holds["(i) s", "clara2"] == "yes"
    assert holds["(ii)", "clara2"] == "yes"
    assert holds["(v) i", "changing"] == "yes"
