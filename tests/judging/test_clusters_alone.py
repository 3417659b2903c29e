"""Where every impression is a cluster of its own, clusters change nothing."""

from __future__ import annotations

import random

import pytest

import counterrank as cr


@pytest.mark.parametrize("engine", ["duckdb", "ibis"])
def test_clusters_of_one_impression_change_nothing(engine: str) -> None:
    rng = random.Random(2)
    pages = [rng.sample("abc", 2) for _ in range(80)]
    log = {"query": ["q"] * 80, "items": pages, "clicks": [[rng.randint(0, 1) for _ in page] for page in pages]}
    named = log | {"cluster": [f"c{i}" for i in range(80)]}
    one, two = (
        cr.evaluate(each, {"q": ["b", "a"]}, estimators="list,wlist,ip,pbm", engine=engine) for each in (log, named)
    )
    for name in ("list", "wlist", "ip", "pbm"):
        for field in ("value", "stderr", "lower", "upper"):
            assert getattr(one[name], field) == pytest.approx(getattr(two[name], field), abs=1e-12), (name, field)
    together = log | {"cluster": [f"c{i // 2}" for i in range(80)]}
    assert cr.evaluate(together, {"q": ["b", "a"]}, estimators="list", engine=engine)["list"].stderr is None
