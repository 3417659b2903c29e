"""`optimize` on thin queries: ties, clickless queries, held-out values, and what dcm gives up."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import counterrank as cr
from counterrank.simulate import make_world, simulate


@pytest.fixture(scope="module")
def table() -> pa.Table:
    return simulate(make_world(queries=10, items=8, k=4, users="pbm", seed=3), 3000, np.random.default_rng(2), days=5)


def test_equal_bounds_and_clickless_queries_keep_the_logged_order() -> None:
    log = {
        "query": ["q"] * 5 + ["z"] * 3,
        "items": [["c", "b", "a"]] * 4 + [["b", "c", "a"]] + [["y", "x", "w"]] * 2 + [["x", "v", "w"]],
        "clicks": [[0, 0, 1]] + [[0, 0, 0]] * 7,
    }
    for model in ("cm", "dcm", "pbm"):
        rows = {row["query"]: row for row in cr.optimize(log, click_model=model).to_dict()["rankings"]}
        assert rows["z"]["items"] == ["y", "x", "w"]
        assert rows["z"]["reason"] == "no clicks: keeps its most logged ranking"
    assert cr.optimize(log, bound="bayes").policy.rank("q") == ["a", "c", "b"]  # b and c are equal


def test_no_bound_is_a_number_next_to_nothing() -> None:
    log = {"query": ["q"] * 400, "items": [["a", "b"]] * 400, "clicks": [[1, 0]] + [[0, 0]] * 399}
    found = cr.optimize(log, prior="0.001,500", bound="bayes", delta=0.01)
    assert found.lower[0] > 1e-12
    assert found.lower[1] == 0.0


def test_the_policy_is_learnt_without_what_it_is_judged_on(table: pa.Table) -> None:
    found = cr.optimize(table, holdout=0.25)
    held = found.holdout
    assert held is not None
    assert not held.twin
    assert held.impressions + found.impressions == 3000
    assert held.impressions == pytest.approx(750, abs=100)
    assert held.lower < held.value < held.upper
    shuffled = table.take(np.random.default_rng(0).permutation(3000))
    again = cr.optimize(shuffled, holdout=0.25)
    assert again.to_dict()["holdout"] == found.to_dict()["holdout"]
    assert found.reading.to_dict()["rows"] == 3000
    assert "that had no say in it" in found.notes[0]


def test_what_was_not_read_is_said_with_a_part_held_out_too(table: pa.Table, tmp_path: Path) -> None:
    pq.write_table(table, tmp_path / "part.parquet")
    (tmp_path / "part.jsonl.zst").write_bytes(b"not read")
    for options in ({"holdout": 0.25}, {"holdout": "days", "by": "lp-ip"}, {}):
        assert any("part.jsonl.zst" in note for note in cr.optimize(tmp_path, **options).notes), options


def test_what_cannot_be_held_out_is_said_in_its_own_words() -> None:
    log = {"query": list("pqrst"), "items": [["a", "b"]] * 5, "clicks": [[1, 0]] * 5, "day": [1] * 5}
    with pytest.raises(cr.InputError, match="no query of what was held out"):
        cr.optimize(log, holdout=0.5)
    with pytest.raises(cr.InputError, match="one day only: the last days cannot be held out"):
        cr.optimize(log, holdout="days")


def test_lists_cut_short_are_judged_as_such(table: pa.Table) -> None:
    """What was logged is counted down to the same position as the policy."""
    logged = [
        cr.optimize(table, holdout=0.25, **cut).to_dict()["holdout"]["logged"] for cut in ({"top": 1}, {"k": 1}, {})
    ]
    assert logged[0] == logged[1] < logged[2]


def test_a_reward_beside_the_clicks_does_not_matter_to_bounds_on_clicks(table: pa.Table) -> None:
    with_reward = table.append_column("reward", pa.array(np.ones(3000)))
    assert cr.optimize(with_reward, holdout=0.25).holdout == cr.optimize(table, holdout=0.25).holdout


def test_days_are_held_out_whole(table: pa.Table) -> None:
    last = int(np.sum(np.asarray(table["day"]) == np.max(np.asarray(table["day"]))))
    found = cr.optimize(table, holdout="days").holdout
    assert found is not None
    assert found.impressions >= last
    assert "days" in found.told


def test_programs_are_judged_on_impressions_held_out_by_default(table: pa.Table) -> None:
    found = cr.optimize(table, by="lp-ip")
    assert found.holdout is not None
    assert found.holdout.twin
    assert found.holdout.estimator == "ip"
    assert found.holdout.value < found.value  # what looks best looks better than it is
    assert found.impressions == 3000
    assert cr.optimize(table, by="lp-ip", holdout="none").holdout is None
    pages = table.drop_columns(["clicks"]).append_column("reward", pa.array(np.ones(3000)))
    assert any("not judged" in note for note in cr.optimize(pages, by="lp-list").notes)
    with pytest.raises(cr.InputError, match="judges clicks"):
        cr.optimize(pages, by="lp-list", holdout=0.2)
    with pytest.raises(cr.InputError, match="expected a share"):
        cr.optimize(table, holdout=1.5)


def test_dcm_says_how_many_clicks_it_gives_up() -> None:
    world = make_world(queries=5, items=8, k=5, users="dcm", continuation=[0.9, 0.8, 0.6, 0.4, 0.2], seed=1)
    log = simulate(world, 20_000, np.random.default_rng(1))
    notes = cr.optimize(log, click_model="dcm").notes
    assert any("aim at the click that ends the search" in note and "are given up" in note for note in notes)
    assert not any("are given up" in note for note in cr.optimize(log, click_model="cm").notes)
