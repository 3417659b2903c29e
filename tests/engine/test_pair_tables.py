"""Each query's own table of pairs finds what a plain dictionary finds, whatever the ids are and however it grows."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from counterrank.engine import Embedded, Plan, kernels
from counterrank.errors import InputError
from counterrank.log import parts, read_log
from counterrank.statistics.cells import Cells


def counted_plainly(queries, items, clicks):
    """(query, item, position) → shown and clicked."""
    out: dict[tuple[str, str, int], list[int]] = {}
    for query, row, clicked in zip(queries, items, clicks, strict=True):
        for k, (item, click) in enumerate(zip(row, clicked, strict=True)):
            cell = out.setdefault((str(query), str(item), k), [0, 0])
            cell[0] += 1
            cell[1] += click
    return {key: tuple(value) for key, value in out.items()}


def counted(table, **options):
    counts = Embedded(**options).count(read_log(table), Plan(metric="clicks", weights=np.ones)).counts
    pairs, cells = counts.pairs, counts.cells
    query, item = pairs.query_ids.texts.to_pylist(), pairs.item_ids.texts.to_pylist()
    found = {}
    for row, k, shown, clicked in zip(cells.rows, cells.positions, counts.shown, counts.clicked, strict=True):
        found[query[pairs.queries[row]], item[pairs.items[row]], int(k)] = (int(shown), int(clicked))
    return found


def far_apart(item):  # the least and the largest ids, and ids that share their lower half
    return [0, -(2**63), 2**63 - 1, -1][item] if item < 4 else item << 32


@pytest.mark.parametrize("batch", [53, 1 << 17])
@pytest.mark.parametrize("name", ["small", "far apart", "text"])
def test_cells_are_those_of_a_dictionary(batch, name, monkeypatch):
    """The first query meets a new item in nearly every row, so that its table moves again and again."""
    monkeypatch.setattr(parts, "BATCH_ROWS", batch)
    rng = np.random.default_rng(2)
    spelled = {"small": int, "far apart": far_apart, "text": lambda item: f"item-{item}"}[name]
    queries = np.where(rng.random(3000) < 0.5, 0, rng.integers(0, 90, 3000)).tolist()
    items = []
    for number, query in enumerate(queries):
        known = 5 + number // 3 if query == 0 else 9
        items.append([spelled(int(i)) for i in rng.choice(known, rng.integers(1, 6), replace=False)])
    clicks = [(rng.random(len(row)) < 0.3).astype(int).tolist() for row in items]
    table = pa.table({"query": queries, "items": items, "clicks": clicks})
    assert counted(table) == counted_plainly(queries, items, clicks)


def test_batches_large_enough_for_two_threads(monkeypatch):
    """Pairs that are new in either half of a later batch."""
    monkeypatch.setattr(parts, "BATCH_ROWS", 10_000)
    rng = np.random.default_rng(4)
    size = 30_000
    queries = rng.integers(0, 40, size).tolist()
    items = [rng.choice(6 + row // 5000, 3, replace=False).tolist() for row in range(size)]
    clicks = [[int(row % 3 == k) for k in range(3)] for row in range(size)]
    table = pa.table({"query": queries, "items": items, "clicks": clicks})
    assert counted(table) == counted_plainly(queries, items, clicks)


def coded_once(values, kind):
    """Values as places in a dictionary."""
    known, places = np.unique(np.array(values), return_inverse=True)
    return pa.DictionaryArray.from_arrays(pa.array(places.ravel(), pa.int32()), pa.array(known.tolist(), kind))


@pytest.mark.parametrize("kind", [pa.int64(), pa.string()], ids=str)
@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("batch", [400, 20_000])
def test_ids_that_are_given_once_each(kind, shared, batch, monkeypatch):
    """Items that many queries show move from one to the other, until they are looked up by their keys."""
    monkeypatch.setattr(parts, "BATCH_ROWS", batch)
    rng = np.random.default_rng(5)
    size, positions = 40_000 if batch > 400 else 3_000, 3
    queries = rng.integers(0, 25, size)
    items = np.argsort(rng.random((size, 6)), axis=1)[:, :positions] + (0 if shared else 10 * queries[:, None])
    clicks = (rng.random(items.shape) < 0.3).astype(int)
    ends = pa.array(np.arange(0, items.size + 1, positions), pa.int32())
    spelled = items.ravel().tolist() if kind == pa.int64() else [f"item-{item}" for item in items.ravel()]
    table = pa.table(
        {
            "query": coded_once(queries.tolist(), pa.int64()),
            "items": pa.ListArray.from_arrays(ends, coded_once(spelled, kind)),
            "clicks": clicks.tolist(),
        }
    )
    rows = np.array(spelled).reshape(items.shape).tolist()
    assert counted(table) == counted_plainly(queries.tolist(), rows, clicks.tolist())


def test_a_dictionary_that_has_an_id_twice():
    """Both are the same item: a row that shows both repeats it."""
    known = pa.array(["a", "b", "a"])
    ends, places = pa.array(np.arange(0, 81, 2), pa.int32()), [0, 1] * 39 + [0, 2]
    items = pa.ListArray.from_arrays(ends, pa.DictionaryArray.from_arrays(pa.array(places, pa.int32()), known))
    table = pa.table({"query": ["q"] * 40, "items": items, "clicks": [[0, 1]] * 40})
    with pytest.raises(InputError, match="row 40"):
        counted(table)
    assert counted(table.slice(0, 39)) == {("q", "a", 0): (39, 0), ("q", "b", 1): (39, 39)}


@pytest.mark.parametrize("place", [-1, 2, 1 << 30])
def test_a_dictionary_whose_places_are_not_in_it(place):
    """What is asked of memory that is not there is an error, and no crash."""
    places = pa.array([0, 1] * 20, pa.int32()).to_numpy().copy()
    places[7] = place
    wrong = pa.DictionaryArray.from_arrays(pa.array(places), pa.array(["a", "b"]), safe=False)
    items = pa.ListArray.from_arrays(pa.array(np.arange(0, 41, 2), pa.int32()), wrong)
    with pytest.raises((pa.ArrowException, IndexError)):
        counted(pa.table({"query": ["q"] * 20, "items": items, "clicks": [[0, 1]] * 20}))


def test_a_row_goes_to_its_place_in_the_order_of_queries():
    codes = np.array([2, 0, -1, 2, 1, 0])
    place, starts = kernels.by_query(codes, 3)
    assert place.tolist() == [4, 1, 0, 5, 3, 2]
    assert starts.tolist() == [1, 3, 4, 6]
    place, starts = kernels.by_query(codes, 25)  # too many queries to sort by
    assert (place.tolist(), len(starts)) == (list(range(6)), 0)


@pytest.mark.parametrize("listed", [True, False])
@pytest.mark.parametrize("estimators", [1, 3, 4, 6, 9])
def test_moments_are_those_of_a_plain_loop(estimators, listed, monkeypatch):
    """Groups of four estimators and the rest; pairs shown at every position down to some, and pairs that are not."""
    rng = np.random.default_rng(estimators)
    positions, pairs, size = 5, 12, 400
    rows = [rng.choice(pairs, rng.integers(1, positions + 1), replace=False) for _ in range(size)]
    coded = np.full((size, positions), -1, dtype=np.int32)
    shown = np.zeros((pairs, positions), dtype=np.int64)
    for r, row in enumerate(rows):
        coded[r, : len(row)] = 2 * row + (rng.random(len(row)) < 0.4)
        shown[row, np.arange(len(row))] += 1
    shown[3, 1:3] = shown[5, 0] = 1
    for pair, k in ((3, 0), (5, 2), (5, 3)):  # these pairs have gaps
        coded[(coded[:, k] >> 1) == pair, 0] = -1  # rows that are crossed out
        shown[pair, k] = 0
    cells, _ = Cells.of_tables(shown)
    weight, offset = rng.normal(size=(2, len(cells), estimators))
    scale, constant = rng.random((estimators, positions)), rng.normal(size=(estimators, 1))
    out, cross = np.zeros((1, estimators, 4)), np.zeros((estimators, estimators))
    spread = np.zeros((estimators, 3, 1 << 15, 2))
    monkeypatch.setattr("counterrank.statistics.cells.LISTED", pairs * positions if listed else 0)
    where = cells.looked_up(np.arange(pairs), np.zeros(pairs, dtype=np.int64))
    assert len(where[4]) == (pairs if listed else 0)
    table, ones = np.hstack([weight, offset]), np.zeros(0, dtype=np.int64)
    runs = tuple(np.array(each) for each in ([0, size // 3], [size // 3, size], [0, 0]))
    kernels.sum_moments(coded, -1, runs, (ones, False), where, table, scale, constant, out, cross, spread)

    r, mean, term = [], [], []
    for row in coded[coded[:, 0] >= 0]:
        k = np.arange((row >= 0).sum())
        at = cells.find(row[k].astype(np.int64) >> 1, k)
        assert (at >= 0).all()
        term.append((scale[:, k].T * weight[at] * (row[k] & 1)[:, None]).sum(axis=0))
        r.append(term[-1] - offset[at].sum(axis=0))
        mean.append(weight[at].mean(axis=0))
    r, mean, term = np.array(r), np.array(mean), np.array(term)
    assert len(r) > size / 4
    np.testing.assert_allclose(out[0].T, [r.sum(0), (r**2).sum(0), mean.sum(0), (mean**2).sum(0)], rtol=1e-9)
    np.testing.assert_allclose(np.tril(cross), np.tril(r.T @ r), rtol=1e-9)
    sums = spread.sum(axis=2)
    np.testing.assert_allclose(sums[:, :, 0], len(r))
    np.testing.assert_allclose(sums[:, :, 1].T, [(r + constant.T).sum(0), term.sum(0), mean.sum(0)], rtol=1e-9)


def test_keys_that_differ_in_one_bit_do_not_all_meet():
    """Ids that differ only in their uppermost bits, or only in their lowest, are spread by most secrets."""
    secrets = np.random.default_rng(0).integers(1 << 63, size=(40, 4)).astype(np.uint64) * np.uint64(2) + np.uint64(1)
    for keys in (np.arange(48) << 58, np.arange(48) << 32, np.arange(48)):
        steps = [_steps(keys, secret) for secret in secrets]
        assert np.median(steps) < 48
        assert np.mean(steps) < 2 * 48


def _steps(keys, secret):
    """How many slots beyond their own keys are put into a table of 128, all together."""
    slots, empty, steps = np.zeros((130, 2), dtype=np.int64), np.zeros((130, 2), dtype=np.int64), 0
    for key in keys:
        at = int(kernels._slot(key, 2, 64 - 7, slots, secret))
        steps += (at - int(kernels._slot(key, 2, 64 - 7, empty, secret))) % 128
        slots[at] = key, 1
    assert (slots[:, 1] > 0).sum() == len(keys)
    return steps
