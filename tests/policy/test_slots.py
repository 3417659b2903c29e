"""Slots: positions with items of their own, from rows, dicts, files and candidates."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import counterrank as cr
from counterrank.errors import InputError
from counterrank.policy import Mixture, Slots, Uniform, read_policy
from counterrank.policy import product as bound_slots

ROWS = {"query": ["q"] * 5 + ["7"], "position": [1, 2, 2, 3, 1, 1], "item": ["a", "c", "d", "e", "b", "z"]}
CHANCES = [0.75, 0.5, 0.5, 1.0, 0.25, 1.0]
PAGES = {("a", "c", "e"): 0.375, ("a", "d", "e"): 0.375, ("b", "c", "e"): 0.125, ("b", "d", "e"): 0.125}


def refused(make: Callable[[], object], *words: str) -> None:
    with pytest.raises(InputError) as caught:
        make()
    assert "\n" not in str(caught.value)
    for word in words:
        assert word in str(caught.value), str(caught.value)


def check(policy: cr.policy.Policy) -> None:
    for page, chance in PAGES.items():
        assert policy.probability("q", page) == pytest.approx(chance)
    assert policy.probability("q", ["a", "c"], length=2) == pytest.approx(0.375)
    assert policy.probability("q", ["c", "a", "e"]) == 0
    assert policy.rank("q") == ["a", "c", "e"]
    assert policy.rank(7) == ["z"]


@pytest.mark.parametrize("name", ["p.csv", "p.jsonl", "p.parquet"])
def test_files(tmp_path: Path, name: str) -> None:
    given = Slots(*ROWS.values(), CHANCES)
    check(given)
    given.save(tmp_path / name)
    found = read_policy(tmp_path / name)
    assert isinstance(found, Slots)
    check(found)


def test_tables_dicts_and_other_names() -> None:
    check(read_policy(pa.table({**ROWS, "probability": CHANCES})))
    check(read_policy({**ROWS, "probability": CHANCES}))
    check(read_policy({"q": [{"a": 0.75, "b": 0.25}, {"c": 0.5, "d": 0.5}, {"e": 1}], 7: [{"z": 1}]}))
    named = pa.table({**{k: v for k, v in ROWS.items() if k != "position"}, "slot": ROWS["position"], "p": CHANCES})
    check(read_policy(named, columns={"position": "slot", "probability": "p"}))
    equal = read_policy(ROWS)
    assert equal.probability("q", ["b", "d", "e"]) == 0.25
    assert read_policy({"q": [["a", "b"], ["c", "d"], ["e"]]}).probability("q", ["b", "d", "e"]) == 0.25
    scored = read_policy(pa.table({**ROWS, "score": [3.0, 2.0, 1.0, 0.0, 5.0, 1.0]}))  # a score says more
    assert scored.rank("q") == ["b", "a", "c", "d", "e"]


def test_its_rankings_are_all_combinations(monkeypatch: pytest.MonkeyPatch) -> None:
    queries, lists = Slots(*ROWS.values(), CHANCES).rankings()
    found = dict(zip(map(tuple, lists.to_pylist()), queries.to_pylist(), strict=True))
    assert found == {**dict.fromkeys(PAGES, "q"), ("z",): "7"}
    sure = Slots(["q", "q"], [1, 1], ["a", "b"], [0, 1])
    assert sure.rankings()[1].to_pylist() == [["b"]]
    many = {"q": [[f"{k}-{a}" for a in range(10)] for k in range(60)]}
    assert Slots.from_dict(many).rankings() is None
    assert Slots.from_dict(many)._alone("q", 60).support() is None
    assert Slots.from_dict(many).probability("q", [f"{k}-3" for k in range(60)]) == pytest.approx(1e-60)
    monkeypatch.setattr(bound_slots, "LISTED", 4)
    assert Slots(*ROWS.values(), CHANCES).rankings() is None


def test_supported_pages_and_pair_marginals_by_enumeration() -> None:
    rng = np.random.default_rng(4)
    for sizes in [(1,), (3,), (2, 3), (1, 4, 2), (2, 1, 1)]:
        slots = [[f"{k}-{a}" for a in range(size)] for k, size in enumerate(sizes)]
        chances = [rng.dirichlet(np.ones(size)) for size in sizes]
        policy = Slots.from_dict({"q": [dict(zip(s, c, strict=True)) for s, c in zip(slots, chances, strict=True)]})
        for length in range(1, len(sizes) + 1):
            bound = policy._alone("q", length)
            names = bound.pairs.item_ids.texts.to_pylist()
            gamma = np.zeros((len(names) * length,) * 2)
            pages = list(product(*slots[:length]))
            for page in pages:
                chance = float(np.prod([chances[k][slots[k].index(a)] for k, a in enumerate(page)]))
                mark = np.zeros((len(names), length))
                mark[[names.index(a) for a in page], np.arange(length)] = 1
                gamma += chance * np.outer(mark, mark)
            found = bound.pair_marginals(0)
            assert found.matrix == pytest.approx(gamma, abs=1e-14)
            assert not found.drawn
            _, rankings, probability = bound.support()
            assert sorted(tuple(names[a] for a in r) for r in rankings) == sorted(pages)
            assert probability.sum() == pytest.approx(1)


def test_what_is_wrong_is_said() -> None:
    refused(lambda: Slots(["q", "q"], [1, 2], ["a", "a"]), "'a'", "positions 1 and 2", "an item once", "id of its own")
    refused(lambda: Slots(["q", "q"], [1, 1], ["a", "a"]), "'a'", "more than once at position 1")
    refused(lambda: Slots(["q", "q"], [1, 3], ["a", "b"]), "'q'", "position 2", "without holes")
    refused(lambda: Slots(["q"], [2], ["a"]), "position 1")
    for bad in (0, 1.5, -1, float("nan"), float("inf")):
        refused(lambda bad=bad: Slots(["q"], [bad], ["a"]), "whole numbers from 1", "row 1")
    refused(lambda: Slots(["q", "q"], [1, 1], ["a", "b"], [0.5, 0.4]), "position 1", "0.9", "leave the column out")
    refused(lambda: Slots(["q", "q"], [1, 1], ["a", "b"], [1.5, -0.5]), "-0.5", "row 2")
    refused(lambda: Slots(["q", "q"], [1, 1], ["a", "b"], [1.0]), "1 probabilities for 2 items")
    refused(lambda: Slots(["q", "q"], [1], ["a", "b"]), "as many of each")
    refused(lambda: Slots([], [], []), "no rows")
    refused(lambda: Slots.from_dict({"q": [["a"], {"b": 1.0}]}), "for all slots")
    refused(lambda: read_policy(ROWS, temperature=1), "scores only")
    refused(lambda: read_policy(pa.table({"query": ["q"], "position": [1]})), "'item'")
    near = Slots(["q", "q"], [1, 1], ["a", "b"], [0.5, 0.5 + 9e-7])  # near enough: divided by the sum
    assert near.probability("q", ["a"]) + near.probability("q", ["b"]) == pytest.approx(1, abs=1e-15)


def test_candidates_with_positions(tmp_path: Path) -> None:
    path = tmp_path / "c.csv"
    path.write_text("query,position,item\nq,1,a\nq,2,c\nq,1,b\nq,1,a\n")  # a row that comes again says nothing new
    for candidates in (path, {"q": [["a", "b"], ["c"]]}):
        policy = Uniform(candidates)
        assert policy.probability("q", ["b", "c"]) == 0.5
        assert policy.probability("q", ["c", "b"]) == 0
        assert not policy.ranks_all
    mixed = Mixture(Slots(["q", "q"], [1, 2], ["a", "c"]), 0.5).narrowed(Uniform(path))
    assert mixed.probability("q", ["b", "c"]) == 0.25
    path.write_text("query,position,item\nq,1,a\nq,2,a\n")
    refused(lambda: Uniform(path), "an item once")
    refused(lambda: Uniform({"q": ["a", ["b"]]}), "mix")
    log = {"query": ["q", "r"], "items": [["a", "c"], ["x", "y"]], "reward": [1, 0]}
    options = {"candidates": {"q": [["a"], ["c"]]}, "logging": "uniform", "estimators": "pi"}
    assert cr.evaluate(log, "uniform", **options).value("pi") == 1
    refused(lambda: cr.evaluate(log, {"r": ["x"]}, **options), "'r'", "(query, position, item)")
