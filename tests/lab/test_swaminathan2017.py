"""swaminathan2017: exact numbers against enumerations, the fast path against the product's, and the real data."""

from __future__ import annotations

import gzip
import json
import os
from itertools import permutations
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import typer
from typer.testing import CliRunner

import counterrank as cr
from counterrank.cli import function
from counterrank.lab import figures, load, swaminathan2017
from counterrank.lab.swaminathan2017.direct import direct
from counterrank.lab.swaminathan2017.documents import BODY, TITLE, Documents, read_documents
from counterrank.lab.swaminathan2017.learning import LEARNERS, LearningPlan, examples_of, learn
from counterrank.lab.swaminathan2017.panel import PanelPlan, make_panel, per_root
from counterrank.lab.swaminathan2017.runs import draw_log, rmse, simulated
from counterrank.lab.swaminathan2017.weights import _second_moment, _sets_of, deviation, weights
from counterrank.lab.swaminathan2017.world import SlateWorld, make_world
from counterrank.policy import Table
from counterrank.regress import REGRESSIONS
from rounding import allowed
from seeds import seeds

app = typer.Typer()
app.command()(function("reproduce"))
DATA = os.environ.get("COUNTERRANK_DATA")
real = pytest.mark.skipif(not DATA, reason="COUNTERRANK_DATA does not name the folder of real data")


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Five parts with 6 made-up queries each: 5 to 22 documents, 46 features, labels that lean on some of them."""
    folder = tmp_path_factory.mktemp("data")
    (folder / "mq2008").mkdir()
    rng = np.random.default_rng(0)
    for part in range(5):
        lines = []
        for query in range(6):
            for document in range((5, 6, 8, 11, 16, 22)[query]):
                x = rng.random(46)
                label = int(np.digitize(x[28] + x[20] + rng.normal(0, 0.3), (1.1, 1.6)))
                features = " ".join(f"{k + 1}:{value:.6f}" for k, value in enumerate(x))
                lines.append(f"{label} qid:{100 * part + query} {features} #docid = D{document} inc = 1")
        (folder / f"mq2008/S{part + 1}.txt.gz").write_bytes(gzip.compress("\n".join(lines).encode()))
    return folder


@pytest.fixture(scope="module")
def made_up(data: Path) -> Documents:
    return read_documents(data)


@pytest.fixture(scope="module")
def mq2008() -> tuple[Documents, np.ndarray, np.ndarray]:
    documents = read_documents(Path(str(DATA)))
    return documents, documents.scored(TITLE), documents.scored(BODY)


def _world(documents: Documents, slots: int, alpha: float) -> SlateWorld:
    return make_world(documents, documents.scored(TITLE), documents.scored(BODY), slots=slots, alpha=alpha)


def test_second_moment_is_that_of_all_slates() -> None:
    rng = np.random.default_rng(1)
    for items, slots in ((4, 1), (5, 3), (6, 4), (4, 4)):
        rate, u, phi = rng.random(items) + 0.1, rng.normal(size=(items, slots)), rng.random((items, slots))
        expected = total = 0.0
        for slate in permutations(range(items), slots):
            left, chance = rate.sum(), 1.0
            for item in slate:
                chance *= rate[item] / left
                left -= rate[item]
            w, r = u[list(slate), range(slots)].sum(), phi[list(slate), range(slots)].sum()
            expected += chance * (w * r) ** 2
            total += chance
        assert total == pytest.approx(1)
        assert _second_moment(rate, u, phi, *_sets_of(items, slots)) == pytest.approx(expected, rel=1e-12)


def test_rewards_are_ndcg_and_candidates_the_best(made_up: Documents) -> None:
    title, body = made_up.scored(TITLE), made_up.scored(BODY)
    world = make_world(made_up, title, body, slots=5)
    assert world.queries == 30
    for q in (0, 5, 17):
        mine = np.flatnonzero(made_up.queries == q)
        top = mine[np.argsort(-title[mine])][:20]
        assert sorted(world.pairs.items[world.pairs.queries == q]) == sorted(made_up.items[top])
        chosen = top[np.argsort(-body[top])][:5]
        gain, discount = 2**made_up.labels - 1, 1 / np.log2(np.arange(2, 7))
        best = (np.sort(gain[top])[::-1][:5] * discount).sum()
        assert world.values[q] == pytest.approx((gain[chosen] * discount).sum() / best)
        assert [world.pairs.items[row] for row in world.slates[q]] == made_up.items[chosen].tolist()
    assert make_world(made_up, title, body, slots=10).queries == 15
    assert make_world(made_up, title, body, slots=5, least=20).queries == 5


@pytest.mark.parametrize("alpha", [0.0, 10.0])
def test_fast_path_gives_what_evaluate_gives(made_up: Documents, alpha: float) -> None:
    world = _world(made_up, 3, alpha)
    found = weights(world)
    sizes = [500, 4000]
    estimates, missing = simulated(world, found, sizes, range(1))
    log = draw_log(world, max(sizes), 0)
    names, items = world.pairs.query_ids.texts, world.pairs.item_ids.texts
    shown = lambda rows: items.take(pa.array(world.pairs.items[rows])).to_pylist()  # noqa: E731
    target = Table(names, [shown(slate) for slate in world.slates])
    for at, size in enumerate(sizes):
        table = pa.table({
            "query": names.take(pa.array(log.queries[:size])), "items": [shown(slate) for slate in log.slates[:size]],
            "reward": log.rewards[:size],
        })  # fmt: skip
        result = cr.evaluate(table, target, estimators="pi,list,wlist", logging=world.logging)
        for mine, theirs in (("pi", "pi"), ("ips", "list"), ("wips", "wlist")):
            expected = result.value(theirs)
            assert (expected is None) == (mine == "wips" and missing[at] == 1)
            near = allowed(found.condition.max() if mine == "pi" else 1.0)  # only pi solves equations
            assert estimates[mine][0, at] == pytest.approx(expected or 0.0, abs=near)


@pytest.mark.parametrize("alpha", [0.0, 4.0])
def test_slates_are_drawn_as_logging_says(made_up: Documents, alpha: float) -> None:
    world = _world(made_up, 4, alpha)
    log = draw_log(world, 200_000, 3)
    share = np.bincount(log.queries, minlength=world.queries)
    assert np.abs(share / len(log.queries) - 1 / world.queries).max() < 0.002
    seen = np.zeros(world.phi.shape)
    for k in range(world.slots):
        seen[:, k] = np.bincount(log.slates[:, k], minlength=len(seen))
    assert np.abs(seen / share[world.pairs.queries][:, None] - world.bound.marginals()).max() < 0.03
    rewards = world.phi[log.slates, np.arange(4)].sum(axis=1)
    assert log.rewards == pytest.approx(rewards)
    assert world.logged_value().mean() == pytest.approx(log.rewards.mean(), abs=0.005)


def test_every_estimator_finds_the_value(made_up: Documents) -> None:
    """PI, IPS and SB are unbiased, the others nearly so with many impressions; PI errs by sd/√n."""
    world = _world(made_up, 2, 1.0)
    found = weights(world)
    estimates, missing = simulated(world, found, [1000, 20_000], range(400))
    assert missing[-1] == 0
    for name in ("pi", "ips", "sb", "onpolicy", "wips", "wsb"):
        values = estimates[name][:, 1]
        slack = 0.002 if name.startswith("w") else 0.0
        assert abs(values.mean() - world.value) < 4 * values.std() / 20 + slack, name
    sd, shares = deviation(world, found)
    assert shares.sum() == pytest.approx(1)
    assert rmse(estimates["pi"], world.value) * np.sqrt([1000, 20_000]) == pytest.approx(sd, rel=0.12)


@pytest.mark.parametrize("model", seeds(["ridge", "lasso", "tree"], 1))
def test_direct_learns_from_one_half_and_reads_off_the_other(made_up: Documents, model: str) -> None:
    world = _world(made_up, 2, 0.0)
    found = direct(world, model, [100, 600], range(2))
    log = draw_log(world, 600, 1)
    x = np.hstack([world.features[log.slates[:300, 0]], world.features[log.slates[:300, 1]]])
    training = REGRESSIONS[model](92, 5)
    training.add(x, log.rewards[:300], np.ones(300), log.queries[:300].astype(np.int64) % 5)
    shown = world.slates[log.queries[300:]]
    predicted = training.fit().predict(np.hstack([world.features[shown[:, 0]], world.features[shown[:, 1]]]))
    assert found.shape == (2, 2)
    assert found[1, 1] == pytest.approx(predicted.mean(), abs=1e-6)


def test_a_part_of_the_world_keeps_its_numbers(made_up: Documents) -> None:
    world = _world(made_up, 3, 0.0)
    kept = made_up.parts[world.kept] == 2
    part = world.only(kept)
    assert part.queries == 6
    assert part.values == pytest.approx(world.values[kept])
    assert part.logged_value() == pytest.approx(world.logged_value()[kept])
    assert made_up.parts[part.kept].tolist() == [2] * 6


def test_regression_targets_are_the_pseudoinverse_of_mean_rewards(made_up: Documents) -> None:
    world = _world(made_up, 2, 0.0).only(np.arange(30) % 6 < 2)  # queries of 5 and 6 documents
    log = draw_log(world, 3000, 0)
    found = examples_of(world, log, made_up)
    for q in (0, 1, 9):
        first, stop = world.pairs.starts[q], world.pairs.starts[q + 1]
        slates = np.array(list(permutations(range(stop - first), 2)))
        ones = np.zeros((len(slates), (stop - first) * 2))
        for k in range(2):
            ones[np.arange(len(slates)), slates[:, k] * 2 + k] = 1
        gamma = ones.T @ ones / len(slates)
        theta, mine = np.zeros(ones.shape[1]), np.flatnonzero(log.queries == q)
        for i in mine:
            theta[(log.slates[i] - first) * 2 + np.arange(2)] += log.rewards[i] / len(mine)
        expected = (np.linalg.pinv(gamma) @ theta).reshape(-1, 2)
        assert found.phi[first:stop] == pytest.approx(expected, abs=1e-10)
        assert (found.weight[first:stop] == len(mine)).all()


def test_learnt_policies_beat_random_ones_on_parts_not_seen(made_up: Documents) -> None:
    found = learn(made_up, made_up.scored(BODY), LearningPlan(2, {"ridge": [200, 2000]}, ("ridge",)))
    for learner in LEARNERS:
        value, error = found.difference("ridge", learner, "logger")
        assert value > 4 * error, learner
    assert found.by_fold("ridge", "pi-opt").shape == (2, 5)
    tested = found.per_query("ridge", "sup-rel")[found.parts == 4].mean()  # fold 1 tests on the fifth part
    assert found.by_fold("ridge", "sup-rel")[0, 0] == pytest.approx(tested)
    assert found.logger(test=True)[0] == pytest.approx(found.logged[found.parts == 4].mean())
    assert found.logger(test=False)[0] == pytest.approx(found.logged[found.parts < 3].mean())


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = [200, 2000]
    plan = {
        "5-0": PanelPlan(sizes, 20, 2), "10-0": PanelPlan(sizes, 10), "5-10": PanelPlan(sizes, 10, 2),
        "5-10-large": PanelPlan(sizes, 10, 2),
    }  # fmt: skip
    monkeypatch.setattr(swaminathan2017, "plans", lambda quick: plan)
    learning = LearningPlan(2, {"ridge": [200, 1000]}, ("ridge",))
    monkeypatch.setattr(swaminathan2017, "learning_plan", lambda quick: learning)


@pytest.mark.skipif(not figures.drawable(), reason="needs the extra lab")
@pytest.mark.usefixtures("small")
def test_made_up_data_gives_every_figure(data: Path, tmp_path: Path) -> None:
    arguments = ["swaminathan2017", "--data", str(data), "--out", str(tmp_path), "--quick", "--json"]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    content = json.loads(result.stdout)
    assert {finding["holds"] for finding in content["findings"]} <= {"yes", "no", "undecided"}
    panel = content["numbers"]["panels"]["5-0"]
    assert panel["rmse"]["pi"]["runs"] == 20
    assert len(panel["worst"]) == 3
    assert np.shape(content["numbers"]["learning"]["test_ndcg"]["ridge"]["pi-opt"]) == (2, 5)
    for name in ("figure2", "figure3-dm", "figure3-ips", "figure4", "figure5", "figure6", "figure7"):
        assert (tmp_path / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        assert (tmp_path / f"{name}.svg").read_text().startswith("<svg")
    assert any("15 queries with fewer than 10 documents" in note for note in content["notes"])


def test_missing_data_is_said_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(cr.InputError, match=r"has no mq2008/S1.txt.gz: --data must be the folder"):
        load("swaminathan2017")(tmp_path, None, True)


@real
def test_the_real_data_is_the_papers(mq2008: tuple[Documents, np.ndarray, np.ndarray]) -> None:
    documents, title, body = mq2008
    assert (len(documents.query_ids), len(documents.labels), documents.features.shape[1]) == (784, 15211, 46)
    for slots, queries, about in ((5, 784, 3.1), (10, 381, 5.2)):
        world = make_world(documents, title, body, slots=slots)
        assert world.queries == queries
        assert weights(world).pi.shape == world.phi.shape
        if slots == 5:
            assert deviation(world, weights(world))[0] == pytest.approx(about, abs=0.05)


LOGGER = (0.272, 0.284, 0.288, 0.273, 0.260)  # uniform logging on the training parts of each fold


@real
def test_the_uniform_logger_and_ridge(mq2008: tuple[Documents, np.ndarray, np.ndarray]) -> None:
    documents, _, body = mq2008
    found = learn(documents, body, LearningPlan(3, {}, ("ridge",)))
    assert np.abs(found.logger(test=False) - LOGGER).max() < 0.002
    for learner in ("pi-opt", "pi-opt-gains"):
        assert 0.44 < found.average("ridge", learner) < 0.46
        assert found.difference("ridge", learner, "logger")[0] > 0.15
        assert abs(found.difference("ridge", learner, found.best_sup("ridge"))[0]) < 0.02


@real
@pytest.mark.slow
def test_tables_3_and_4(mq2008: tuple[Documents, np.ndarray, np.ndarray]) -> None:
    documents, _, body = mq2008
    found = learn(documents, body, LearningPlan(4, {}, ("tree", "lasso")))
    for model in ("tree", "lasso"):
        assert 0.45 < found.average(model, "pi-opt") < 0.47
        for learner in ("pi-opt", "pi-opt-gains"):
            assert found.difference(model, learner, "logger")[0] > 0.15
            assert abs(found.difference(model, learner, found.best_sup(model))[0]) < 0.02


@real
def test_rare_slates_rule_the_error_where_logging_is_far_from_uniform(
    mq2008: tuple[Documents, np.ndarray, np.ndarray],
) -> None:
    documents, title, body = mq2008
    panel = make_panel("5-10", make_world(documents, title, body, slots=5, alpha=10.0), PanelPlan([200], 2))
    assert panel.weights.sigma2.mean() > 1e5
    assert panel.weights.rho.max() > 1e8
    worst = panel.worst()[0]
    assert worst["candidates"] < 20
    assert worst["share_of_variance"] > 0.5
    large = make_panel("large", make_world(documents, title, body, slots=5, alpha=10.0, least=20), PanelPlan([200], 2))
    assert large.weights.sigma2.mean() < 200
    assert panel.sd > 4 * large.sd


@real
@pytest.mark.slow
@pytest.mark.parametrize(("slots", "about"), [(5, 3.1), (10, 5.2)])
def test_figure_2_under_uniform_logging(
    mq2008: tuple[Documents, np.ndarray, np.ndarray], slots: int, about: float
) -> None:
    documents, title, body = mq2008
    world = make_world(documents, title, body, slots=slots)
    panel = make_panel(f"{slots}-0", world, PanelPlan([20_000, 100_000], 1000, 8))
    assert panel.sd == pytest.approx(about, abs=0.05)
    for size in (20_000, 100_000):
        assert abs(per_root(panel, size) - 1) < 0.08
    assert panel.rmse("pi", 100_000) < 0.1 * panel.rmse("wips", 100_000)
    assert panel.rmse("pi", 100_000) < 0.35 * panel.rmse("ridge", 100_000)


@real
@pytest.mark.slow
def test_figure_2_with_large_queries_only(mq2008: tuple[Documents, np.ndarray, np.ndarray]) -> None:
    documents, title, body = mq2008
    world = make_world(documents, title, body, slots=5, alpha=10.0, least=20)
    panel = make_panel("5-10-large", world, PanelPlan([100_000], 400, 8))
    assert panel.rmse("pi", 100_000) < 0.7 * panel.rmse("ridge", 100_000)
