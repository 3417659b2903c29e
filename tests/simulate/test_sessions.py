"""A ranking service played out: everything recomputed from its trace, and the same from the seed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from session_worlds import Replay, documents

import counterrank as cr
from counterrank.errors import InputError
from counterrank.simulate.sessions import read_corpus
from counterrank.simulate.sessions.randomisation import randomisation
from counterrank.simulate.sessions.script import Plan, script_of

TABLE = documents()
SMALL = {"sessions": 500, "trials": 2, "warmup": 4, "retrain": 5, "workers": 2}


def traced(folder: Path, **more: Any) -> tuple[Any, list[dict[str, Any]]]:
    path = folder / "trace.parquet"
    found = cr.simulate_sessions(TABLE, "grade", trace=path, **{**SMALL, **more})
    return found, pq.read_table(path).to_pylist()


def without_seconds(found: Any) -> str:
    kept = found.to_dict()
    for row in kept["rankers"]:
        del row["seconds"]
    return json.dumps(kept)


@pytest.mark.parametrize("evidence", ["ips", "exposure"])
def test_a_whole_run_recomputed_from_its_trace(evidence: str, tmp_path: Path) -> None:
    exploration = 20.0
    found, rows = traced(tmp_path, rankers="ebrank", exploration=exploration, evidence=evidence, trials=1)
    assert [row["session"] for row in rows] == list(range(1, 25 * 4 + 500 + 1))
    replay = Replay(TABLE)
    seen: dict[str, set[str]] = {}
    test = []
    for row in rows:
        query = row["query"]
        before = seen.get(query, set())
        arrived = set(row["candidates"]) - before
        assert before <= set(row["candidates"])
        assert row["ndcg"] == pytest.approx(replay.ndcg(row), rel=1e-12)
        if row["alpha"] is None:
            assert row["session"] <= 100
            assert len(row["candidates"]) in range(5, 11)
            values = dict(zip(TABLE["item"], TABLE["x"], strict=True))
            assert row["items"] == sorted(row["candidates"], key=lambda item: -values[item])[:5]
        else:
            assert len(arrived) == (len(before) < 14)
            scores = []
            for item, alpha, beta in zip(row["candidates"], row["alpha"], row["beta"], strict=True):
                n, clicks, weighted, exposure = replay.sums(query, item)
                hits, looks = (weighted, n) if evidence == "ips" else (clicks, exposure)
                estimate = (hits + alpha) / (looks + alpha + beta)
                scores.append(estimate + exploration * estimate / (exposure + alpha + beta) ** 2)
                assert beta == 5.0
            assert row["score"] == pytest.approx(scores, rel=1e-9)
            order = sorted(range(len(scores)), key=lambda i: -row["score"][i])
            assert row["items"] == [row["candidates"][i] for i in order[:5]]
            if row["part"] == "test":
                test.append(row["ndcg"])
        seen[query] = set(row["candidates"])
        replay.count(row)
    only = found.row("ebrank")
    assert only.mean.mean == pytest.approx(np.mean(test), rel=1e-12)
    weights = 0.995 ** np.arange(len(test))[::-1]
    assert only.cumulative.mean == pytest.approx(weights @ test, rel=1e-12)


def test_clicks_come_as_often_as_users_look_and_like(tmp_path: Path) -> None:
    _, rows = traced(tmp_path, rankers="random", sessions=4000, trials=1)
    replay = Replay(TABLE)
    clicks, chances = [], []
    for row in rows:
        for k, (item, click) in enumerate(zip(row["items"], row["clicks"], strict=True)):
            clicks.append(click)
            chances.append(replay.relevance[row["query"], item] * replay.curve[k])
    chance, click = np.array(chances), np.array(clicks)
    assert abs((click - chance).sum()) < 4 * np.sqrt((chance * (1 - chance)).sum())
    for low, high in ((0.0, 0.2), (0.2, 0.6), (0.6, 1.0)):
        mine = (chance > low) & (chance <= high)
        assert abs((click - chance)[mine].sum()) < 4 * np.sqrt((chance * (1 - chance))[mine].sum()) + 1


def test_the_same_seed_gives_the_same_bytes(tmp_path: Path) -> None:
    names = {"rankers": "ebrank,random,cfepsilon", "seed": 3}
    one, _ = traced(tmp_path, **names)
    first = (tmp_path / "trace.parquet").read_bytes()
    two, _ = traced(tmp_path, **names)
    assert (tmp_path / "trace.parquet").read_bytes() == first
    assert without_seconds(one) == without_seconds(two)
    alone = cr.simulate_sessions(TABLE, "grade", **{**SMALL, **names, "workers": 1})
    assert without_seconds(alone) == without_seconds(one)
    other = cr.simulate_sessions(TABLE, "grade", **{**SMALL, **names, "seed": 4})
    assert without_seconds(other) != without_seconds(one)


def test_rankers_meet_the_same_queries_and_arrivals(tmp_path: Path) -> None:
    _, rows = traced(tmp_path, rankers="ebrank,random", trials=1)
    half = len(rows) // 2
    for one, other in zip(rows[:half], rows[half:], strict=True):
        assert (one["query"], one["part"], one["candidates"]) == (other["query"], other["part"], other["candidates"])


def test_a_run_that_was_killed_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = {**SMALL, "rankers": "ebrank,bm25", "exploration": {"ebrank": "tune"}, "workers": 1}
    whole = cr.simulate_sessions(TABLE, "grade", **asked)
    from counterrank.simulate.sessions import run

    played = []

    def killed(self: Any, each: Any) -> Any:
        if len(played) == 7:
            raise KeyboardInterrupt
        played.append(each)
        return real(self, each)

    real = run.Game.outcome
    monkeypatch.setattr(run.Game, "outcome", killed)
    with pytest.raises(KeyboardInterrupt):
        cr.simulate_sessions(TABLE, "grade", resume=tmp_path / "kept", **asked)
    assert len(list((tmp_path / "kept").glob("*.json"))) == 7
    monkeypatch.setattr(run.Game, "outcome", real)
    resumed = cr.simulate_sessions(TABLE, "grade", resume=tmp_path / "kept", **asked)
    assert without_seconds(resumed) == without_seconds(whole)
    kept = next((tmp_path / "kept").glob("*.json"))
    kept.write_text("{")
    with pytest.raises(InputError, match="remove it"):
        cr.simulate_sessions(TABLE, "grade", resume=tmp_path / "kept", **asked)


def test_truth_is_the_ceiling_and_exploration_is_tuned_by_validation(tmp_path: Path) -> None:
    found = cr.simulate_sessions(TABLE, "grade", rankers="truth,ucbrank-plus-one", exploration="tune", **SMALL)
    assert found.row("truth").cold.values == [1.0, 1.0]
    chosen = found.row("ucbrank-plus-one").exploration
    grid = (0.0, 0.01, 0.03, 0.1, 0.2, 0.3, 0.5, 1.0)
    worth = {}
    for weight in grid:
        each = cr.simulate_sessions(TABLE, "grade", rankers="ucbrank-plus-one", exploration=weight, **SMALL)
        worth[weight] = np.mean([outcome.validation for outcome in each.rankers[0].outcomes])
    assert chosen == max(grid, key=lambda weight: worth[weight])


def test_a_limit_on_new_items(tmp_path: Path) -> None:
    """Walking down: once new items have ⌈share · 5⌉ places, further ones come after all others."""
    found, rows = traced(tmp_path, rankers="ebrank", exploration=50, trials=1, new_share=0.3, new_below=6)
    replay, held = Replay(TABLE), 0
    for row in rows:
        if row["new_share"] is None:
            continue
        if row["score"] is not None:
            order = sorted(range(len(row["score"])), key=lambda i: -row["score"][i])
            new = {i for i in order if replay.sums(row["query"], row["candidates"][i])[0] < 6}
            early = [i for i in order if i not in new or sorted(new, key=order.index).index(i) < 2]
            expected = [row["candidates"][i] for i in [*early, *(i for i in order if i not in early)][:5]]
            # the two places hold only within the first five
            assert row["items"] == expected
            held += expected != [row["candidates"][i] for i in order[:5]]
        replay.count(row)
    assert held > 10
    free, bound = found.row("ebrank"), found.row("ebrank", new_share=0.3)
    assert bound.new_places.mean < free.new_places.mean
    assert any("new items had" in line for line in found.remarks())


def test_the_log_can_be_read(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    cr.simulate_sessions(TABLE, "grade", rankers="random", out=path, **{**SMALL, "trials": 1})
    assert cr.check(cr.read_log(path)).reading.rows == 600


def test_split_and_arrivals_are_as_asked() -> None:
    corpus = read_corpus(features=TABLE, labels="grade")
    script = script_of(corpus, Plan(20_000, 0.25, (3, 4), (0.6, 0.2, 0.2)), 0, 0)
    assert np.bincount(script.part).tolist() == [15, 5, 5]
    assert set(script.start) == {3, 4}
    asked = np.bincount(script.query, minlength=25)
    assert ((asked - 800) ** 2 / 800).sum() < 60
    early = script.candidates[:400] - script.start[script.query[:400]]
    assert early.max() <= 11
    arrivals = script.arrives[:400].mean()
    assert 0.15 < arrivals < 0.33
    assert corpus.automatic(1.0) == 25 * 9
    assert corpus.automatic(0.5) == 2 * 25 * 9


def test_the_randomisation_test_is_that_of_all_signs() -> None:
    rng = np.random.default_rng(0)
    differences = rng.normal(0.3, 1, (10, 3))
    signs = np.array([[(n >> i & 1) * 2 - 1 for i in range(10)] for n in range(1024)])
    exact = (np.abs(signs @ differences) >= np.abs(differences.sum(axis=0)) - 1e-12).mean(axis=0)
    assert randomisation(differences) == pytest.approx(exact, abs=0.02)


def test_metrics_are_sums_of_what_queries_add() -> None:
    found = cr.simulate_sessions(TABLE, "grade", rankers="ebrank,bm25", **SMALL)
    for row in found.rankers:
        for metric in ("cold", "warm", "cumulative", "mean"):
            for outcome in row.outcomes:
                assert sum(outcome.shares[metric]) == pytest.approx(getattr(outcome, metric), rel=1e-9)
    test = next(each for each in found.tests if each.metric == "warm")
    assert test.difference == pytest.approx(found.rankers[0].warm.mean - found.rankers[1].warm.mean, rel=1e-9)
    assert "<svg" in found._repr_html_()
    assert found.plot().svg.count("<polyline") == 2


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"rankers": "ebank"}, "ebrank"), ({"behaviour": "all"}, "concat"), ({"exploration": "much"}, "tune"),
        ({"exploration": {"nobody": 1}}, "nobody"), ({"arrival": 2.0}, "`arrival`"), ({"start": (7, 3)}, "`start`"),
        ({"split": (1.0, 0.0, 0.0)}, "no test queries"), ({"show": 0}, "`show`"), ({"beta": -1.0}, "`beta`"),
        ({"examination": (0.5, 0.9, 0.1, 0.1, 0.1)}, "rises"), ({"warmup_feature": "z"}, "`warmup_feature`"),
        ({"sessions": "many"}, "`sessions`"), ({"sessions": 0}, "`sessions`"), ({"workers": 0}, "`workers`"),
        ({"prior_model": "forest"}, "linear"), ({"leave_out": ["z"]}, "`leave_out`"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_said(wrong: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        cr.simulate_sessions(TABLE, "grade", **{**SMALL, "rankers": "bm25", **wrong})
    with pytest.raises(InputError, match="grde"):
        read_corpus(features=TABLE, labels="grde")
    with pytest.raises(InputError, match="one of the two"):
        cr.simulate_sessions(TABLE, "grade", letor="x")
