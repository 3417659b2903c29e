"""`check` on page-level questions: logs whose answer is known, and random ones against all rankings enumerated."""

from __future__ import annotations

import json
import random
from itertools import permutations, product
from typing import Any

import numpy as np
import pytest

import counterrank as cr
from counterrank.engine import Embedded
from counterrank.estimate.pseudoinverse import span

Lists = dict[str, list[list[str]]]


def look(lists: Lists, **options: Any) -> Any:
    rows = [(q, shown) for q, of in lists.items() for shown in of]
    return cr.check(
        {"query": [q for q, _ in rows], "items": [r for _, r in rows], "reward": [1.0] * len(rows)}, **options
    )


def shares(lists: Lists, **options: Any) -> list[tuple[float, float]]:
    """(any ranking of logged pairs, any ranking of logged items) for K = 1, 2, …"""
    return [(row["supported_pairs"], row["supported"]) for row in look(lists, **options).pages]


def test_one_ranking_per_query_tells_of_no_other() -> None:
    found = look({"q": [["a", "b", "c"]] * 5, "r": [["x", "y", "z"]]})
    assert [(row["supported_pairs"], row["supported"]) for row in found.pages] == [(0, 0)] * 3
    assert any("for no query did rankings vary enough" in text for text in found.answers)
    assert shares({"q": [["a"]] * 3}) == [(1, 1)]  # one item at one position: there is no other ranking


def test_all_permutations_tell_of_all_rankings() -> None:
    every = [list(r) for r in permutations("abcd")]
    found = look({"q": every})
    assert [row["supported"] for row in found.pages] == [1] * 4
    assert [row["parameters"] for row in found.pages] == [4, 7, 10, 10]  # K(m−1) + 1, and (m−1)² + 1
    assert [row["impressions_per_parameter"] for row in found.pages] == pytest.approx([6, 24 / 7, 2.4, 2.4])
    assert any("up to K = 4" in text and "100.0%" in text for text in found.answers)


def test_latin_squares_tell_of_the_first_position_only() -> None:
    """Each item at each position once, but n rankings for K(n−1) + 1 parameters."""
    square = [[str((row + k) % 4) for k in range(4)] for row in range(4)]
    assert shares({"q": square}) == [(1, 1), (0, 0), (0, 0), (0, 0)]


def test_two_items_swapped_are_two_parameters() -> None:
    assert shares({"q": [["a", "b"], ["b", "a"]]}) == [(1, 1), (1, 1)]


def test_slots_can_be_recombined_though_not_reordered() -> None:
    pages = [list(r) for r in product("ab", "cde", "f")]
    found = look({"q": pages})
    assert [(row["supported_pairs"], row["supported"]) for row in found.pages] == [(1, 0)] * 3
    assert [row["parameters"] for row in found.pages] == [2, 4, 4]
    without = [["a", "c", "f"], ["b", "c", "f"], ["a", "d", "f"]]  # one at a time: e is never seen
    assert shares({"q": without}) == [(1, 0)] * 3
    assert shares({"q": [["a", "c"], ["b", "d"]]}) == [(1, 0), (0, 0)]  # a always with c


def test_short_lists_count_with_their_own_length() -> None:
    some = {"long": [list(r) for r in permutations("abc")], "short": [["a"], ["b"], ["b"]]}
    assert shares(some) == [(1, 1)] * 3
    ragged = [["a", "b"], ["b", "a"], ["a"], ["b"]]
    assert shares({"q": ragged}) == [(1, 1), (1, 1)]
    # a and b alone tell what position 1 adds, and so what each pair adds
    assert shares({"q": [["a", "b"], ["a"], ["b"]]}) == [(1, 1), (1, 0)]


def test_shares_are_of_impressions_and_top_cuts() -> None:
    some = {"q": [list(r) for r in permutations("abc", 2)], "r": [["a", "b"]] * 18}
    assert shares(some) == [(0.25, 0.25)] * 2
    assert len(shares(some, top=1)) == 1
    weighted = cr.check({"query": ["q", "q", "r"], "items": [["a"], ["b"], ["x", "y"]], "reward": [0, 1, 0],
                         "impressions": [1, 2, 1]})  # fmt: skip
    assert weighted.pages[1]["supported"] == 0.75


def brute(lists: list[list[str]], k: int) -> tuple[bool, bool]:
    """By the ranks of the marks of logged rankings, alone and with all others."""
    items = sorted({a for shown in lists for a in shown})
    length = min(k, max(map(len, lists)))

    def marks(rankings: Any) -> np.ndarray:
        out = np.zeros((len(rankings), len(items), length))
        for g, ranking in enumerate(rankings):
            for position, a in enumerate(ranking[:length]):
                out[g, items.index(a), position] = 1
        return out.reshape(len(rankings), -1)

    logged = marks(sorted({tuple(shown[:k]) for shown in lists}))
    every = marks(list(permutations(items, length)))
    made = every[(every <= logged.sum(axis=0)).all(axis=1)]
    rank = np.linalg.matrix_rank(logged)
    pairs = rank == np.linalg.matrix_rank(np.vstack([logged, made])) and (rank > 1 or len(items) == 1)
    return bool(pairs), bool(rank == np.linalg.matrix_rank(np.vstack([logged, every])))


def random_lists(seed: int) -> Lists:
    rng = random.Random(seed)
    lists: Lists = {}
    for q in range(4):
        items = [f"i{a}" for a in range(rng.randint(1, 4))]
        slots = [[f"{k}{a}" for a in range(rng.randint(1, 3))] for k in range(rng.randint(1, 4))]
        full = rng.randint(1, len(items))
        lists[f"q{q}"] = []
        for _ in range(rng.choice([2, 3, 8, 30, 100])):
            shown = [rng.choice(slot) for slot in slots] if seed % 4 == 0 else rng.sample(items, full)
            lists[f"q{q}"].append(shown[: rng.randint(1, len(shown))] if seed % 3 == 0 else shown)
    return lists


def test_random_logs_agree_with_all_rankings() -> None:
    """Any ranking of the items exactly so; of any ranking of logged pairs too little is said, but rarely."""
    said = true = 0.0
    for seed in range(60):
        lists = random_lists(seed)
        total = sum(map(len, lists.values()))
        engine = Embedded(group_room=16) if seed % 5 == 0 else "duckdb"
        for k, (pairs, items) in enumerate(shares(lists, engine=engine), start=1):
            want = {q: brute(of, k) for q, of in lists.items()}
            assert items == pytest.approx(sum(len(lists[q]) for q, (_, every) in want.items() if every) / total)
            most = sum(len(lists[q]) for q, (made, _) in want.items() if made) / total
            assert items <= pairs <= most + 1e-12
            said, true = said + pairs, true + most
    assert 0.98 * true <= said < true


def test_what_takes_too_long_is_left_out_and_said(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(1)
    big = [rng.sample([f"i{a}" for a in range(12)], 6) for _ in range(900)]
    some = {"small": [list(r) for r in permutations("abc", 2)], "big": big}
    monkeypatch.setattr(span, "WORK", 4e4)
    found = look(some)
    assert found.pages[0]["examined"] == found.pages[1]["examined"] == 1
    assert found.pages[5]["examined"] == pytest.approx(6 / 906)
    assert found.pages[5]["supported"] == 1  # of those that were looked into
    assert any("too large to look into" in text for text in found.answers)
    monkeypatch.setattr(span, "WORK", 1e9)
    monkeypatch.setattr(span, "BLOCK", 10)  # a query at a time
    assert all(row["examined"] == 1 for row in look(some).pages)
    assert look(some).pages[5]["supported"] == 1


def test_json_has_the_rows() -> None:
    found = json.loads(look({"q": [["a", "b"], ["b", "a"], ["a", "b"]]}).to_json())
    assert found["page_level"] == [
        {"positions": k, "examined": 1.0, "supported": 1.0, "supported_pairs": 1.0, "parameters": 2.0,
         "impressions_per_parameter": 1.5}
        for k in (1, 2)
    ]  # fmt: skip


def test_what_check_promises_evaluate_keeps() -> None:
    """Where any ranking is supported, `pi` finds nothing unsupported for a random one; and the other way round."""
    rng = random.Random(7)
    items = [f"i{a}" for a in range(5)]
    for impressions in (4, 12, 40):
        lists = {"q": [rng.sample(items, 3) for _ in range(impressions)]}
        row = look(lists).pages[2]
        log = {"query": ["q"] * impressions, "items": lists["q"], "reward": [1.0] * impressions}
        seen = sorted({a for shown in lists["q"] for a in shown})
        some = rng.sample(list(permutations(seen, 3)), 12)
        lost = [cr.evaluate(log, {"q": list(r)}, estimators="pi")["pi"].unsupported for r in some]
        assert (max(lost) < 1e-9) == (row["supported"] == 1)
