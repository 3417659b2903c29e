"""`clicks`: how a log is parted, what is compared, and the figures of another implementation on real pages."""

from __future__ import annotations

import os
import random
from pathlib import Path

import numpy as np
import pytest

import counterrank as cr
import worlds
from counterrank.click import FITS
from counterrank.engine import open_engine
from counterrank.errors import InputError
from counterrank.fitting.holdout import part
from counterrank.setting.click_counts import count_clicks
from counterrank.simulate import make_world, simulate
from counterrank.statistics.draws import LOOPED, dealt


def as_set(pairs, patterns) -> dict:
    """Impressions by what they hold, with ids as text."""
    queries, items = pairs.query_ids.texts.to_pylist(), pairs.item_ids.texts.to_pylist()
    out = {}
    for g, row in enumerate(patterns.coded):
        shown = tuple((items[pairs.items[v >> 1]], int(v & 1)) for v in row if v >= 0)
        key = queries[patterns.queries[g]], shown
        out[key] = out.get(key, 0) + int(patterns.impressions[g])
    return out


def test_both_engines_hold_out_the_same_impressions() -> None:
    rows = worlds.make_rows(random.Random(2), queries=4, style="hostile", impressions=True, rows_per_query=(10, 30))
    log = cr.read_log(worlds.to_arrow(rows))
    halves = [part(log, None, 0.3, "impression", None, open_engine(name)) for name in ("duckdb", "ibis")]
    one, other = ((as_set(each.pairs, each.train.patterns), as_set(each.pairs, each.test)) for each in halves)
    assert one == other
    whole = count_clicks(log, patterns=True)
    together = dict(one[0])
    for key, n in one[1].items():
        together[key] = together.get(key, 0) + n
    assert together == as_set(whole.pairs, whole.patterns)


def test_the_share_held_out_is_the_one_asked_for() -> None:
    page = {"query": ["q"], "items": [["a"]], "clicks": [[1]]}
    some, many = (count_clicks(page | {"impressions": [n]}, patterns=True) for n in (LOOPED, 10**9))
    for share in (0.1, 0.5):
        got = dealt(some.pairs, some.patterns, [share, 1 - share])[0, 0] / LOOPED
        assert got == pytest.approx(share, abs=5 * np.sqrt(share * (1 - share) / LOOPED))
        assert dealt(many.pairs, many.patterns, [share, 1 - share])[0, 0] / 1e9 == pytest.approx(share, abs=1e-4)


def test_days_at_the_end_are_held_out() -> None:
    log = {
        "query": ["q", "q", "r", "r", "q"],
        "items": [["a", "b"]] * 5,
        "clicks": [[1, 0], [0, 1], [0, 0], [1, 1], [1, 0]],
        "day": [1, 2, 2, 3, 3],
    }
    halves = part(cr.read_log(log), None, 0.4, "day", None, open_engine("duckdb"))
    assert as_set(halves.pairs, halves.test) == {("r", (("a", 1), ("b", 1))): 1, ("q", (("a", 1), ("b", 0))): 1}
    assert halves.told == "the last of 3 days"
    more = part(cr.read_log(log), None, 0.41, "day", None, open_engine("duckdb"))
    assert more.told == "the last 2 of 3 days"
    assert more.test.total == 4
    assert part(cr.read_log(log), None, 0.99, "day", None, open_engine("duckdb")).train.total == 1


def test_another_log_may_hold_other_pairs_and_longer_lists() -> None:
    train = {"query": ["q"] * 4, "items": [["a", "b"]] * 4, "clicks": [[1, 0], [1, 0], [0, 1], [0, 0]]}
    test = {"query": ["q", "z"], "items": [["b", "a", "c"], ["a", "c", "d"]], "clicks": [[0, 1, 0], [1, 0, 0]]}
    result = cr.clicks(train, test=test, models="item-ctr", prior=(1.0, 1.0))
    a, b = 3 / 6, 2 / 6
    chances = [[1 - b, a, 0.5], [0.5, 0.5, 0.5]]
    assert result.row("item-ctr").log_likelihood == pytest.approx(np.mean([np.log(c).mean() for c in chances]))
    assert result.row("item-ctr").perplexity == pytest.approx(
        np.mean([2 ** -np.mean(np.log2([x, y])) for x, y in zip(*chances, strict=True)])
    )
    assert "66.7% of the held-out" in result.notes[0]
    assert result.positions == 3


@pytest.mark.parametrize("users", ["pbm", "dcm", "cm"])
def test_the_model_of_the_users_predicts_best(users: str) -> None:
    world = make_world(queries=5, items=6, k=4, users=users, continuation=[0.6, 0.5, 0.4, 0.3], uniform_share=1.0)
    log = simulate(world, 20_000, np.random.default_rng(1))
    result = cr.clicks(log, models=["pbm", "dcm-ml", "cm", "ctr", "rank-ctr", "item-ctr"])
    assert result.best in {"pbm": ["pbm"], "dcm": ["dcm-ml"], "cm": ["cm", "dcm-ml"]}[users]
    assert result.row(result.best).log_likelihood_behind == 0
    assert [-row.log_likelihood for row in result.models] == sorted(-row.log_likelihood for row in result.models)
    for row in result.models:
        if row.model in ("ctr", "rank-ctr", "item-ctr"):
            assert row.log_likelihood_behind > 3 * row.log_likelihood_behind_stderr
    if users == "pbm":
        assert [point.harvested for point in result.curve] == pytest.approx([1, 1 / 2, 1 / 3, 1 / 4], abs=0.05)
        assert [point.examination for point in result.curve] == pytest.approx([1, 1 / 2, 1 / 3, 1 / 4], abs=0.05)


def test_attractions_come_from_the_whole_log() -> None:
    log = {"query": [7] * 50, "items": [[1, 2]] * 50, "clicks": [[1, 0]] * 30 + [[0, 0]] * 20}
    table = cr.clicks(log, models="item-ctr,rank-ctr,cm", prior=(1.0, 1.0)).attractions()
    assert set(table.column_names) == {"query", "item", "shown", "clicks", "item-ctr", "cm"}
    first = {"query": 7, "item": 1, "shown": 50, "clicks": 30, "item-ctr": 31 / 52, "cm": 31 / 52}
    assert table.to_pylist()[0] == pytest.approx(first)


def test_a_prior_may_be_chosen_from_the_log() -> None:
    rng = np.random.default_rng(0)
    rate = rng.beta(1, 9, 300)
    log = {
        "query": ["q"] * 3000,
        "items": [[f"i{i}"] for i in range(300) for _ in range(10)],
        "clicks": [[int(rng.random() < rate[i])] for i in range(300) for _ in range(10)],
    }
    given, chosen = (cr.clicks(log, models="item-ctr", prior=prior) for prior in ((1.0, 1.0), "fit"))
    alpha, beta = chosen.row("item-ctr").prior
    assert alpha / (alpha + beta) == pytest.approx(0.1, abs=0.02)
    assert chosen.row("item-ctr").log_likelihood > given.row("item-ctr").log_likelihood


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"models": "pmb"}, "unknown click model 'pmb'"),
        ({"models": ""}, "no click model was named"),
        ({"holdout": 1.0}, "`holdout` is 1"),
        ({"holdout": 1e-9}, "0 were held out"),
        ({"split": "day"}, "column 'day' is missing"),
        ({"split": "week"}, "`split` is 'week'"),
        ({"prior": "best"}, "unknown prior 'best'"),
        ({"iterations": 0}, "iterations is 0"),
    ],
)
def test_what_cannot_be_done_is_said_in_a_line(options: dict, said: str) -> None:
    log = {"query": ["q"] * 9, "items": [["a", "b"]] * 9, "clicks": [[1, 0]] * 9}
    with pytest.raises(InputError) as error:
        cr.clicks(log, **options)
    assert said in str(error.value)
    assert "\n" not in str(error.value)


def test_every_model_comes_out_finite_on_odd_logs() -> None:
    rows = worlds.make_rows(random.Random(9), queries=6, style="hostile", rows_per_query=(10, 30))
    never = {"query": ["q"] * 30, "items": [["a", "b"]] * 30, "clicks": [[0, 0]] * 30}
    for log in (worlds.to_arrow(rows), never):
        result = cr.clicks(log, scope="query")
        assert len(result.models) == len(FITS)
        assert result.to_json().startswith("{")
        assert all(np.isfinite([row.perplexity, row.log_likelihood]).all() for row in result.models)
    assert any("no harvested curve" in note for note in result.notes)


# Another implementation's figures on these files: perplexity and log-likelihood per position, to four digits.
OTHERS = {
    "ctr": (1.5522, -0.4181),
    "rank-ctr": (1.4880, -0.3855),
    "item-ctr": (1.4479, -0.3625),
    "cm": (1.5409, -7.869),
    "dcm": (1.4416, -0.3776),
    "sdbn": (1.4359, -0.3713),
    "pbm": (1.4337, -0.3525),
    "ubm": (1.4342, -0.3240),
}
SAMPLE = Path(os.environ.get("COUNTERRANK_DATA", "")) / "yandex-sample"


@pytest.mark.skipif(not (SAMPLE / "trainSample.gz").exists(), reason="COUNTERRANK_DATA has no yandex-sample")
def test_figures_on_real_pages_are_no_worse_than_another_implementations() -> None:
    train, test = (cr.read_log(SAMPLE / f"{name}.gz", format="yandex") for name in ("trainSample", "testSample"))
    result = cr.clicks(train, test=test, prior=(1.0, 1.0))
    assert {row.model for row in result.models} == set(FITS)
    for model, (perplexity, log_likelihood) in OTHERS.items():
        row = result.row(model)
        assert row.perplexity <= perplexity + 5e-5
        assert row.log_likelihood >= log_likelihood - 5e-5
        if model not in ("pbm", "ubm", "cm"):  # closed forms: the same to every digit given
            assert (row.perplexity, row.log_likelihood) == pytest.approx((perplexity, log_likelihood), abs=6e-5)
