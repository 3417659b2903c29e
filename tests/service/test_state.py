"""What a worker knows, beside the simulation's memory and its rankers, which were written apart from it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from counterrank.online import RANKERS, Memory, Options
from counterrank.regress import LinearPrior
from counterrank.regress.prior import Seen
from counterrank.service.events import Change, Evidence
from counterrank.service.prior import Prior
from counterrank.service.scoring import BY_BOUND, BY_POSTERIOR, SCORE, base_order
from counterrank.service.settings import Settings
from counterrank.service.state import State

CURVE = Settings().curve()


def played(seed: int, pages: int = 300) -> tuple[State, Memory, list[Change]]:
    """The same random pages in both."""
    rng = np.random.default_rng(seed)
    state, memory, changes = State(CURVE), Memory(positions=len(CURVE)), []
    for sequence in range(1, pages + 1):
        query = f"q{rng.integers(3)}"
        items = [f"i{i}" for i in rng.choice(12, size=rng.integers(1, 8), replace=False)]
        clicks = rng.binomial(1, 0.4, size=len(items)).tolist()
        memory.record(query, items, clicks)
        places = tuple(range(1, len(items) + 1))
        changes.append(Change(sequence, query, tuple(items), places, (1,) * len(items), tuple(clicks)))
    state.apply(changes)
    return state, memory, changes


@pytest.mark.parametrize("evidence", ["ips", "exposure"])
@pytest.mark.parametrize(("name", "by"), [("ebrank", BY_POSTERIOR), ("pessimistic", BY_BOUND)])
def test_scores_are_those_of_the_online_rankers(name: str, by: int, evidence: str) -> None:
    state, memory, _ = played(1)
    memory.rows.belief[:] = (1.0, 5.0)
    ranker = RANKERS[name](Options(examination=np.array(CURVE), evidence=evidence))
    for query in ("q0", "q1", "q2"):
        items = memory.items_of(query)
        out = np.empty((len(items), 8))
        at, order = state.rows(query, items), np.empty(len(items), dtype=np.int64)
        exploration = ranker.params[0]
        params = (float(by), exploration, float(evidence == "exposure"), 0.0, 1.0, 5.0)
        base_order(at, state.counts, state.belief, np.zeros((0, 2)), np.zeros(0), params, out, order)
        expected = ranker.scores(memory, query, np.random.default_rng(0))
        assert out[:, SCORE] == pytest.approx(expected, abs=1e-9)


def test_the_order_of_events_does_not_matter_to_the_last_bit() -> None:
    state, _, changes = played(2)
    other = State(CURVE)
    other.apply(reversed(changes))
    for query, items in state.queries.items():
        for item, row in items.items():
            assert (state.counts[row] == other.counts[other.queries[query][item]]).all()


def test_loading_evidence_is_as_good_as_having_been_there() -> None:
    state, _, changes = played(3)
    cells: dict[tuple[str, str, int], list[int]] = {}
    for change in changes:
        for item, position, shown, clicked in zip(
            change.items, change.positions, change.shown, change.clicked, strict=True
        ):
            cell = cells.setdefault((change.query, item, position), [0, 0])
            cell[0] += shown
            cell[1] += clicked
    columns: Any = zip(*((*key, *counts) for key, counts in cells.items()), strict=True)
    query, item, position, shown, clicked = columns
    loaded = State(CURVE)
    loaded.put([("i1", None, {"x": 1.0}), ("i2", "q0", {"x": 2.0})])
    arrays = {"position": np.array(position), "shown": np.array(shown), "clicked": np.array(clicked)}
    loaded.load(Evidence(as_of=300, generation=0, query=list(query), item=list(item), **arrays))
    assert loaded.as_of == 300
    for name, items in state.queries.items():
        for each, row in items.items():
            assert (state.counts[row] == loaded.counts[loaded.queries[name][each]]).all()


def test_features_of_a_pair_win_over_those_of_the_item() -> None:
    x = np.array([[0.0], [1.0], [2.0], [3.0]])
    model = LinearPrior()
    model.fit(Seen(x, np.array([1.0, 3.0, 6.0, 9.0]), np.full(4, 10.0)))
    prior = Prior("1", (0.7, 4.0), ["x"], model)
    state = State(CURVE, prior)
    state.apply([Change(1, "q", ("a", "b"), (1, 2), (1, 1), (0, 0))])
    alpha = {value: model.alpha(np.array([[value]]))[0] for value in (1.0, 2.0, 3.0)}

    def belief(query: str, item: str) -> tuple[float, float]:
        return tuple(state.belief[state.rows(query, [item])[0]].tolist())

    assert belief("q", "a") == belief("new", "nothing") == (0.7, 4.0)
    state.put([("a", None, {"x": 1.0})])
    assert belief("q", "a") == belief("other", "a") == pytest.approx((alpha[1.0], 5.0))
    state.put([("a", "q", {"x": 2.0, "y": 5.0})])
    assert belief("q", "a") == pytest.approx((alpha[2.0], 5.0))
    assert belief("other", "a") == pytest.approx((alpha[1.0], 5.0))
    state.put([("a", None, {"x": 3.0})])
    assert belief("q", "a") == pytest.approx((alpha[2.0], 5.0))
    assert belief("other", "a") == pytest.approx((alpha[3.0], 5.0))
    assert belief("q", "b") == (0.7, 4.0)
    state.believe(Prior())
    assert belief("q", "a") == belief("q", "b") == (1.0, 5.0)


def test_a_prior_survives_its_files() -> None:
    model = LinearPrior()
    x = np.array([[0.0, 1.0], [1.0, np.nan], [2.0, 0.0]])
    model.fit(Seen(x, np.array([1.0, 2.0, 3.0]), np.full(3, 5.0)))
    prior = Prior("3", (0.5, 2.0), ["x", "y"], model)
    again = Prior.of_files(prior.files(), "3")
    table = np.array([[0.5, 2.0, 1.0], [np.nan, np.nan, 1.0]])
    assert (again.beliefs(table, ["x", "y", "z"]) == prior.beliefs(table, ["x", "y", "z"])).all()
    assert prior.beliefs(table, ["x", "y", "z"])[1].tolist() == [0.5, 2.0]


def test_as_of_waits_for_what_is_missing() -> None:
    state = State(CURVE)
    for sequence in (1, 2, 5, 4):
        state.has(sequence)
    assert state.as_of == 2
    state.reached(3)
    assert state.as_of == 5
    state.has(6)
    assert state.as_of == 6
