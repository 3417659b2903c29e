"""genspec2021: gates by hand, a small world in the fast suite, and the paper's figures on the real data."""

from __future__ import annotations

import gzip
import json
import math
import os
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

from counterrank.cli import function
from counterrank.lab import figures, genspec2021, load
from counterrank.lab.genspec2021.data import read
from counterrank.lab.genspec2021.findings import beyond, worst
from counterrank.lab.genspec2021.gates import CONFIDENCES, GATES, SHRUNK, let_through
from counterrank.lab.genspec2021.null import falsely_opened, line
from counterrank.lab.genspec2021.panel import NO_BOUND, Panel, PanelPlan, gates, make_panel
from counterrank.lab.genspec2021.runs import RunPlan, Simulation, growing, memorised
from counterrank.learning.gate import PairClicks, relative_bounds
from counterrank.online.bandits import BANDITS
from counterrank.simulate.labelled import Labelled, Split
from counterrank.simulate.play import play

app = typer.Typer()
app.command()(function("reproduce"))
DATA = os.environ.get("COUNTERRANK_DATA")
real = pytest.mark.skipif(not DATA, reason="COUNTERRANK_DATA does not name the folder of real data")
DECADES = tuple(10**power for power in range(2, 10))


def made_up(queries: int, rng: np.random.Generator, items: int = 8) -> Labelled:
    """Labels that lean on two of four features."""
    x = rng.normal(size=(queries * items, 4))
    labels = np.digitize(x[:, 0] + 0.5 * x[:, 1] + rng.normal(0, 1.2, len(x)), (1.0, 2.0)).astype(float)
    names = ["a", "b", "c", "d"]
    ids = [str(q) for q in range(queries)]
    return Labelled(ids=ids, starts=np.arange(queries + 1) * items, features=x, names=names, labels=labels)


@pytest.fixture(scope="module")
def split() -> Split:
    rng = np.random.default_rng(5)
    return Split(made_up(150, rng), made_up(50, rng), made_up(50, rng))


@pytest.fixture(scope="module")
def panel(split: Split) -> Panel:
    clicks = tuple(number for number in genspec2021.CLICKS if number <= 10**8)
    return make_panel("made-up", split, 0.4, PanelPlan(runs=2, clicks=clicks, online=clicks[:5]), gates(*GATES))


def test_a_gate_is_algorithm_1() -> None:
    """One query of two items with literal sums: eqs. 20 to 30."""
    weights = np.array([1.0, 1 / math.log2(3)])
    logging, other = weights, weights[::-1].copy()
    n, clicks, rho = 400, np.array([60, 55]), np.array([1.0, 0.5])
    part = PairClicks(
        starts=np.array([0, 2]), impressions=np.array([n]), clicks=clicks, propensity=rho, positions=2, most=1.0
    )
    terms = [2 * (other[d] - logging[d]) / rho[d] for d in range(2) for _ in range(clicks[d])]
    terms += [0.0] * (2 * n - len(terms))
    delta = sum(terms) / (2 * n)
    for confidence in CONFIDENCES:
        log = math.log(2 / (1 - confidence))
        nu = 2 * n * 2 * log / (n * 2 - 1) * sum((t - delta) ** 2 for t in terms)
        bound = 7 * 2 * 2.0 * log / (3 * (n * 2 - 1)) + math.sqrt(nu) / (n * 2)
        key = ("genspec", confidence)
        found = let_through(part, {"special": other}, None, logging, [key])[key]
        assert found.special.tolist() == [delta - bound > 0]
        both = let_through(part, {"special": logging}, other, logging, [key, NO_BOUND])
        assert both[key].general == (delta - bound > 0)
        assert both[NO_BOUND].general
        assert not both[NO_BOUND].special.any()  # the other order is worse than the general policy
    found = let_through(part, {"special": other}, None, logging, [("genspec", c) for c in CONFIDENCES])
    assert len({bool(each.special[0]) for each in found.values()}) == 2  # it was let through by some and not by others


def test_a_small_world_is_learnt_safely(panel: Panel) -> None:
    assert panel.gap("train", "special")[:, 0].mean() < -0.02
    assert panel.values("train", "special")[:, -1].mean() > 0.9999
    for confidence in CONFIDENCES[1:]:
        assert worst(panel, ("genspec", confidence))[0] >= -0.001
    for kind in ("genspec", "betting"):
        ends = panel.values("train", (kind, 0.95))[:, -1]
        assert (ends >= panel.values("train", "special")[:, -1] - 0.005).all()
        assert worst(panel, (kind, 0.95))[1] >= -0.001
    for confidence in CONFIDENCES:
        assert panel.half(("sea", confidence)) >= 3 * panel.half(("genspec", confidence))
    assert 2 * panel.half_of_ever(("betting", 0.95)) <= panel.half_of_ever(("genspec", 0.95))
    for found in panel.online.values():
        assert found.shape == (2, 5)
        assert found[:, 0].mean() < panel.values("train", "logging").mean()


def test_what_is_let_through_where_nothing_is_to_be_won(split: Split) -> None:
    null = make_panel("made-up", split, 0.0, PanelPlan(runs=10, clicks=DECADES[1::2], general=False), gates(*GATES))
    for kind in ("genspec", "betting"):
        assert all(share <= limit for share, limit in beyond(null, kind).values())
    assert null.opened(NO_BOUND).max() > 0.3
    assert null.opened(("genspec", 0.01))[-1] > 0.08  # it is not zero, however many the clicks


def test_two_special_policies_are_tested_at_half_the_error_each() -> None:
    """One query: the shrunk policy ranks as logging does, the plain one better, so that the plain one must act."""
    weights = np.array([1.0, 1 / math.log2(3)])
    part = PairClicks(
        starts=np.array([0, 2]), impressions=np.array([400]), clicks=np.array([60, 55]),
        propensity=np.array([1.0, 0.5]), positions=2, most=1.0,
    )  # fmt: skip
    special = {"special": weights[::-1].copy(), "posterior": weights}
    found = relative_bounds(part, special["special"], weights)
    asked = [("genspec-both", c) for c in np.linspace(0.01, 0.99, 50)]
    for (_, confidence), let in let_through(part, special, None, weights, asked).items():
        opened = bool(found.value[0] > found.half(1 - (1 - confidence) / 2)[0])
        assert (bool(let.special[0]), bool(let.shrunk[0] and opened)) == (opened, False)
    one_click = replace(part, clicks=np.array([0, 1]))
    for let in let_through(one_click, special, None, weights, [("betting", 0.01), ("both", 0.01)]).values():
        assert not let.special.any()


def test_a_gate_that_judges_by_what_it_learnt_from_is_caught(split: Split) -> None:
    """Eq. 18: on its own clicks the special policy always looks best, so that the line above is crossed by far."""
    simulation = Simulation(split, RunPlan(alpha=0.0, clicks=(10**7,), gates=(), general=False), 0)
    (logs,) = growing(simulation.world, simulation.validation, (10**7,), np.random.default_rng(0))
    special = memorised(simulation.world, logs.train, simulation.weights)
    part = PairClicks(
        starts=split.train.starts, impressions=logs.train.impressions, clicks=logs.train.clicks,
        propensity=simulation.world.propensity, positions=split.train.longest, most=1.0,
    )  # fmt: skip
    found = relative_bounds(part, special, simulation.logging)
    for confidence in CONFIDENCES:
        limit = line(confidence)
        assert (found.value > found.half(confidence)).mean() > limit + 3 * math.sqrt(
            limit * (1 - limit) / len(split.train)
        )


def test_pages_whose_clicks_go_together_open_no_bet() -> None:
    rng = np.random.default_rng(0)
    found = np.array([falsely_opened(n, 0.95, rng) for n in (30, 300) for _ in range(60)])
    assert found[:, 0].mean() <= 0.025


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Small files in the place of the real ones."""
    folder, rng = tmp_path_factory.mktemp("data"), np.random.default_rng(0)
    parts = {f"mq2008/S{part}": range(100 * part, 100 * part + 12) for part in range(1, 6)}
    for name, queries in parts.items():
        made, lines = made_up(len(queries), rng, items=6), []
        for row, query in enumerate(np.repeat(queries, 6)):
            features = " ".join(f"{k + 1}:{value:.4f}" for k, value in enumerate(made.features[row]))
            lines.append(f"{int(made.labels[row])} qid:{query} {features} #docid = D{row}")
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / f"{name}.txt.gz").write_bytes(gzip.compress("\n".join(lines).encode()))
    return folder


def test_the_command_prints_figures_and_findings(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small = PanelPlan(runs=2, clicks=(100, 10**4, 10**6), online=(100, 10**4))
    monkeypatch.setattr(genspec2021, "plan", lambda quick: small)
    monkeypatch.setattr(genspec2021, "shrunk_plan", lambda quick: replace(small, online=()))
    monkeypatch.setattr(genspec2021, "null_plan", lambda quick: replace(small, online=(), general=False))
    monkeypatch.setattr(genspec2021, "QUICK", {"mq2008": (0.4,)})
    words = ["genspec2021", "--data", str(data), "--quick", "--json", "--out", str(tmp_path / "out")]
    found = CliRunner().invoke(app, words)
    assert found.exit_code == 0, found.output
    said = json.loads(found.stdout)
    assert said["paper"] == "genspec2021"
    assert said["rows"] == 5 * 12 * 6
    assert {each["holds"] for each in said["findings"]} <= {"yes", "no", "in part", "undecided"}
    claims = " ".join(each["claim"] for each in said["findings"])
    for words_of_claim in (
        "tabular",
        "never below logging",
        "more clicks never hurt",
        "ends perfect",
        "SEA",
        "bandits",
        "shrunk",
        "debiased clicks",
    ):
        assert words_of_claim in claims
    assert len(said["pictures"]) == (4 * 2 if figures.drawable() else 0)
    titles = " ".join(table["title"] for table in said["tables"])
    assert all(f"Figure {number}" in titles for number in (2, 3, 4))


def test_it_is_found_by_its_name() -> None:
    assert load("genspec2021") is genspec2021.reproduce


@real
@pytest.mark.parametrize(
    ("name", "sizes"),
    [("mq2008", (471, 157, 156)), ("mq2007-partial", (1017, 339, 336)), ("mslr-sample", (29, 13, 18))],
)
def test_the_folds(name: str, sizes: tuple[int, int, int]) -> None:
    split, reading = read(Path(str(DATA)), name)
    assert (len(split.train), len(split.validation), len(split.test)) == sizes
    assert reading.rows == {"mq2008": 15211, "mq2007-partial": 59135, "mslr-sample": 6042}[name]


@real
@pytest.mark.slow
@pytest.mark.parametrize("name", ["mq2008", "mq2007-partial"])
@pytest.mark.parametrize("alpha", [0.4, 0.05])
def test_figures_2_to_4(name: str, alpha: float) -> None:
    split, _ = read(Path(str(DATA)), name)
    panel = make_panel(name, split, alpha, genspec2021.plan(quick=False), gates(*GATES))
    assert panel.gap("train", "special")[:, 0].mean() <= -0.03
    assert panel.values("train", "special")[:, -1].mean() >= 0.9999
    levels = {"mq2007-partial": ((0.70, 0.01), (0.728, 0.01)), "mq2008": ((0.767, 0.01), (0.773, 0.015))}[name]
    for part, (level, off) in zip(("train", "test"), levels, strict=True):
        assert abs(panel.values(part, "general")[:, -1].mean() - level) <= off
    for confidence in (0.5, 0.75, 0.95):
        assert worst(panel, ("genspec", confidence))[0] >= -0.001
        behind = panel.values("train", "special")[:, -1] - panel.values("train", ("genspec", confidence))[:, -1]
        assert behind.max() <= 0.005
    assert worst(panel, NO_BOUND)[0] <= -0.02
    for confidence in CONFIDENCES:
        ours, sea = panel.half(("genspec", confidence)), panel.half(("sea", confidence))
        assert min(sea, panel.clicks[-1]) >= 3 * ours
    if alpha == 0.4:
        assert 2 * panel.half_of_ever(("betting", 0.95)) <= panel.half_of_ever(("genspec", 0.95))
    assert worst(panel, ("betting", 0.95))[1] >= -0.001
    begins = {n: (found[:, 0] - panel.values("train", "logging")[:, 0]).mean() for n, found in panel.online.items()}
    assert np.mean(list(begins.values())) <= -0.03
    assert max(begins[name] for name in ("hotfix", "pbm-pie")) <= -0.03
    assert begins["hotfix-10"] <= -0.02  # it touches ten documents only: -0.022 on mq2007-partial, -0.054 on mq2008


@real
@pytest.mark.slow
@pytest.mark.parametrize("kind", ["genspec", "betting", *SHRUNK])
def test_the_null_world(kind: str) -> None:
    split, _ = read(Path(str(DATA)), "mq2008")
    null = make_panel("mq2008", split, 0.0, genspec2021.null_plan(quick=False), gates(kind))
    for confidence, (share, limit) in beyond(null, kind).items():
        assert share <= limit, confidence


@pytest.mark.slow
@pytest.mark.parametrize("impressions", [100, 1000, 10_000])
def test_pages_whose_clicks_go_together_seldom_open_a_bet(impressions: int) -> None:
    rng = np.random.default_rng(impressions)
    found = np.array([falsely_opened(impressions, 0.95, rng) for _ in range(1000)])
    assert found[:, 0].mean() <= 0.025


@real
@pytest.mark.slow
def test_a_panel_of_figure_2_takes_less_than_a_minute_on_two_cores() -> None:
    """Runs go two at a time. Processor time, since the machine may have other work: about 35 s."""
    split, _ = read(Path(str(DATA)), "mq2007-partial")
    make_panel("mq2007-partial", split, 0.4, PanelPlan(runs=2, clicks=(100,)), gates("genspec", "sea"))  # compiled
    begun = time.process_time()
    clicks = tuple(round(10**power) for power in np.linspace(2, 9, 10))
    make_panel("mq2007-partial", split, 0.4, PanelPlan(runs=10, clicks=clicks), gates("genspec", "sea"))
    assert time.process_time() - begun <= 100


@real
@pytest.mark.slow
@pytest.mark.parametrize("name", BANDITS)
def test_bandits_play_ten_million_clicks_in_seconds(name: str) -> None:
    """Page after page: each knows the clicks on the one before. One to two seconds of one processor."""
    split, _ = read(Path(str(DATA)), "mq2007-partial")
    world = Simulation(split, RunPlan(alpha=0.4, clicks=(100,), gates=()), 0).world
    list(play(world, BANDITS[name], (100,), np.random.default_rng(0)))  # compiled
    begun = time.process_time()
    list(play(world, BANDITS[name], (10**7,), np.random.default_rng(1)))
    assert time.process_time() - begun <= 6
