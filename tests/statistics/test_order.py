"""The one order of ids and rows, keyed hashes and draws by content."""

from __future__ import annotations

import random

import numpy as np
import pyarrow as pa
import pytest

import counterrank as cr
from counterrank.setting.click_counts import count_clicks
from counterrank.statistics import hashing
from counterrank.statistics.draws import dealt
from counterrank.statistics.hashing import content_keys, distinct, ranking_keys, text_keys
from counterrank.statistics.order import id_order, row_order


@pytest.mark.parametrize(
    "texts",
    [
        ["b", "10", "9", "a", "-1", "007", "0"],
        ["9223372036854775807", "9223372036854775806", "12345678901234567890", "-9223372036854775808", "5"],
        ["1" * 39, "1" * 38, "x", "2"],
        ["é", "e", "z", "Z", ""],
        [],
    ],
)
def test_whole_numbers_by_size_then_text(texts: list[str]) -> None:
    def place(text: str) -> tuple[bool, int, bytes]:
        whole = text.removeprefix("-").isdigit() and str(int(text)) == text and len(text.removeprefix("-")) <= 38
        return not whole, int(text) if whole else 0, text.encode()

    found = pa.array(texts, pa.string()).take(pa.array(id_order(pa.array(texts, pa.string()))))
    assert found.to_pylist() == sorted(texts, key=place)


def test_equal_rows_meet_also_where_their_hashes_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    queries, rows = rng.integers(0, 3, 500), rng.integers(0, 3, (500, 3))
    expected = {(q, *row) for q, row in zip(queries.tolist(), rows.tolist(), strict=True)}
    for broken in (False, True):
        if broken:
            monkeypatch.setattr("counterrank.statistics.order._row_keys", lambda *a: a[-1].fill(7))
        order, starts = row_order(queries, rows)
        first = order[starts]
        found = [(q, *row) for q, row in zip(queries[first].tolist(), rows[first].tolist(), strict=True)]
        assert len(found) == len(set(found))
        assert set(found) == expected
        assert (np.diff(queries[order]) >= 0).all()


def test_texts_get_different_keys_and_other_ones_in_another_process(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = ["", "\0", "\0\0", "a", "a\0", "abcd", "abcde", "x" * 1023, "x" * 1024, "x" * 1025, "x" * 5000, "x" * 5001]
    texts += ["x" * 4000 + "y" + "x" * 999, *(str(number) for number in range(100_000))]
    given = pa.array(texts)
    keys = text_keys(given)
    assert len(np.unique(keys)) == len(texts)
    assert (text_keys(given.slice(7, 5)) == keys[7:12]).all()
    stable = content_keys(given)
    secret = np.random.default_rng(1).integers(0, 2**64, hashing._TEXT_SECRET.shape, dtype=np.uint64)
    monkeypatch.setattr(hashing, "_TEXT_SECRET", secret)
    assert not (text_keys(given) == keys).any()
    assert (content_keys(given) == stable).all()


def test_two_texts_that_an_unkeyed_hash_takes_for_one_are_two_queries() -> None:
    """Words of eight bytes such that mix(k ^ a) ^ b is the same for both: the older hash of ids had no key."""
    mask = 2**64 - 1

    def mix(value: int) -> int:
        z = (value + 0x9E3779B97F4A7C15) & mask
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & mask
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & mask
        return z ^ (z >> 31)

    start = 16 * 0x9E3779B97F4A7C15 & mask
    rng = random.Random(0)
    while True:
        one, other = (rng.randbytes(8).hex().encode()[:8] for _ in range(2))
        tail = b"aaaaaaaa"
        needed = mix(start ^ int.from_bytes(one)) ^ mix(start ^ int.from_bytes(other)) ^ int.from_bytes(tail)
        twin = needed.to_bytes(8)
        if max(twin) < 128 and min(twin) > 31:
            break
    texts = [(one + tail).decode(), (other + twin).decode()]
    stable = content_keys(pa.array(texts))
    assert stable[0] == stable[1]  # the trap is set
    log = {"query": texts, "items": [["a"], ["b"]], "clicks": [[1], [0]]}
    assert cr.check(log).facts["queries"] == 2


def test_answers_do_not_depend_on_the_key() -> None:
    rng = random.Random(4)
    log = {"query": [rng.choice("abc") for _ in range(300)]}
    log["items"] = [rng.sample(["u", "v", "w", "x"], 3) for _ in range(300)]
    log["clicks"] = [[int(rng.random() < 0.3) for _ in range(3)] for _ in range(300)]
    target = {query: ["x", "w", "v"] for query in "abc"}

    def told() -> str:
        return cr.evaluate(log, target).to_json() + cr.optimize(log, delta="auto").to_json()

    before = told()
    saved = hashing.SECRET.copy(), hashing._TEXT_SECRET.copy()
    try:
        hashing.SECRET[:] = np.random.default_rng(2).integers(0, 2**64, 4, dtype=np.uint64) | np.uint64(1)
        hashing._TEXT_SECRET[:] = np.random.default_rng(3).integers(0, 2**64, saved[1].shape, dtype=np.uint64)
        assert told() == before
    finally:
        hashing.SECRET[:], hashing._TEXT_SECRET[:] = saved


def test_distinct_keys_stand_as_they_were_met() -> None:
    first, of = distinct(np.array([9, 2, 9, 1, 2], dtype=np.uint64))
    assert (first.tolist(), of.tolist()) == ([0, 1, 3], [0, 1, 0, 2, 1])
    rows = np.array([[1, 2], [2, 1], [1, 2]])
    keys = ranking_keys(np.array([0, 0, 0]), rows, np.array([2, 2, 2]))
    assert keys[0] == keys[2] != keys[1]


def test_impressions_are_dealt_by_what_they_hold() -> None:
    rng = random.Random(5)
    rows = [("q" + rng.choice("12"), rng.sample("abc", 2), rng.choice([[0, 1], [1, 0]])) for _ in range(400)]

    def folds(rows: list) -> dict:
        query, items, clicks = map(list, zip(*rows, strict=True))
        counts = count_clicks({"query": query, "items": items, "clicks": clicks}, patterns=True)
        pairs, patterns = counts.pairs, counts.patterns
        assert patterns is not None
        parts = dealt(pairs, patterns, [0.2] * 5, seed=3)
        assert (parts.sum(axis=0) == patterns.impressions).all()
        texts = pairs.item_ids.texts.to_pylist()
        held = [(pairs.query_ids.texts[int(q)].as_py(), *(texts[pairs.items[v >> 1]] + str(v & 1) for v in row))
                for q, row in zip(patterns.queries, patterns.coded, strict=True)]  # fmt: skip
        return dict(zip(held, parts.T.tolist(), strict=True))

    expected = folds(rows)
    rng.shuffle(rows)
    assert folds(rows) == expected
    more = folds([*rows, ("other", ["a", "z"], [1, 0])])  # another row moves none of these
    assert more | expected == more
