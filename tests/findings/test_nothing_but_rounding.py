"""Where every page is worth the same, estimators differ by rounding alone: no error, and nothing to doubt."""

from __future__ import annotations

import random

import pyarrow as pa
import pytest

import counterrank as cr


def rows_of(seed: int) -> tuple[list[dict[str, object]], list[int], dict[str, list[str]]]:
    """Pages of one item, always clicked; how often each came; and a target."""
    rng = random.Random(seed)
    queries, items = "abcd"[: rng.randint(1, 4)], "xyzuvw"[: rng.randint(2, 6)]
    rows = [
        {"query": rng.choice(queries), "items": [rng.choice(items)], "clicks": [1]} for _ in range(rng.randint(2, 60))
    ]
    known: dict[str, set[str]] = {}
    for row in rows:
        known.setdefault(str(row["query"]), set()).update(row["items"])  # type: ignore[arg-type]
    target = {query: rng.sample(sorted(some), len(some)) for query, some in known.items()}
    return list(rows), [rng.choice([1, 1, 2, 9]) for _ in rows], target


@pytest.mark.parametrize("seed", [5, 20, 24, *range(100, 112)])
def test_pages_that_are_all_worth_the_same(seed: int) -> None:
    rows, many, target = rows_of(seed)
    counted = pa.Table.from_pylist([{**row, "impressions": n} for row, n in zip(rows, many, strict=True)])
    spelled = pa.Table.from_pylist([row for row, n in zip(rows, many, strict=True) for _ in range(n)])
    answers = [cr.evaluate(table, target) for table in (counted, spelled, spelled[::-1])]
    for answer in answers:
        for row in answer.rows:
            if row.stderr is not None and row.unsupported < 1e-9:
                assert row.stderr < 1e-15, row.estimator
        assert answer.diagnosis is not None
        said = [each for each in answer.diagnosis.findings if each.key == "disagreement"]
        assert all(each.level == "trust" and "agree" in each.words for each in said)
    told = [[(each.key, each.level, each.words) for each in answer.diagnosis.findings] for answer in answers]  # type: ignore[union-attr]
    assert told[0] == told[1] == told[2]
