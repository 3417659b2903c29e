"""Logs of very many cells are judged part by part: the answers are the same, and nothing large is kept."""

from __future__ import annotations

import types
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import counterrank as cr
from counterrank.engine import tallier
from counterrank.judging import evaluate as judging
from counterrank.statistics import cell_tally, cells, counts, pairs

QUERIES, ITEMS, PLACES = 60, 6, 3


def log(seed: int = 0) -> pa.Table:
    rng = np.random.default_rng(seed)
    query = rng.integers(0, QUERIES, 900)
    items = np.stack([rng.permutation(ITEMS)[:PLACES] for _ in query]) + ITEMS * query[:, None]
    clicks = (rng.random(items.shape) < 0.4 / np.arange(1, PLACES + 1)).astype(int)
    return pa.table({"query": query, "items": items.tolist(), "clicks": clicks.tolist()})


def target() -> dict[int, list[int]]:
    return {q: [ITEMS * q + k for k in (2, 0, 7)] for q in range(QUERIES)}  # the last belongs to another query


def small_parts(patch: pytest.MonkeyPatch) -> None:
    """Every table counts as large."""
    patch.setattr(cell_tally, "SMALL", 1)
    patch.setattr(counts, "SHORT", 16)
    patch.setattr(counts, "PART", 16)
    patch.setattr("counterrank.estimate.by_clicks.SHORT", 16)
    for module in (pairs, cells, counts):
        patch.setattr(module, "FEW", 0)


def reached(roots: Mapping[str, Any]) -> Iterator[tuple[str, np.ndarray[Any, Any]]]:
    """Every array that is held, with how it is reached."""
    seen: set[int] = set()
    waiting = list(roots.items())
    while waiting:
        path, each = waiting.pop()
        if id(each) in seen or isinstance(each, type | types.ModuleType | str):
            continue
        seen.add(id(each))
        if isinstance(each, np.ndarray):
            yield path, each
        elif isinstance(each, dict):
            waiting += [(f"{path}[{key}]", value) for key, value in each.items()]
        elif isinstance(each, list | tuple):
            waiting += [(f"{path}[{i}]", value) for i, value in enumerate(each)]
        elif isinstance(each, types.MethodType):
            waiting.append((path, each.__self__))
        elif isinstance(each, types.FunctionType):
            held = zip(each.__code__.co_freevars, each.__closure__ or (), strict=True)
            waiting += [(f"{path}.{name}", cell.cell_contents) for name, cell in held]
        elif hasattr(each, "__dict__"):
            waiting += [(f"{path}.{name}", value) for name, value in vars(each).items()]


def numbers(told: Any, path: str = "") -> dict[str, float]:
    """All numbers of an answer, by where they stand."""
    if isinstance(told, dict | list):
        inside = told.items() if isinstance(told, dict) else enumerate(told)
        return {at: value for key, each in inside for at, value in numbers(each, f"{path}/{key}").items()}
    return {path: float(told)} if isinstance(told, int | float) else {}


@pytest.mark.parametrize("weights", ["clicks", "dcg"])
@pytest.mark.parametrize("clip", [None, 2.0])
def test_parts_give_the_same_answers(monkeypatch: pytest.MonkeyPatch, weights: str, clip: float | None) -> None:
    def told() -> list[dict[str, Any]]:
        return [judge(log(), target(), weights=weights, clip=clip).to_dict() for judge in (cr.evaluate, cr.compare)]

    whole = told()
    small_parts(monkeypatch)
    for one, other in zip(whole, told(), strict=True):
        assert numbers(other) == pytest.approx(numbers(one), rel=1e-10, abs=1e-12)


def test_no_table_of_cells_is_kept_for_each_estimator(monkeypatch: pytest.MonkeyPatch) -> None:
    small_parts(monkeypatch)
    held: dict[str, int] = {}
    finished = judging.finished

    def looked(drafts: Any, evidence: Any, run: Any, **more: Any) -> Any:
        known = {id(array) for _, array in reached({"evidence": evidence, "run": run})}
        size = min(len(evidence.cells), len(evidence.counts.pairs))
        own = {name: draft for name, draft in drafts.items() if name in ("ip", "wip", "pbm", "item")}
        assert len(own) == 4
        held.update({p: len(a) for p, a in reached(own) if a.ndim and len(a) >= size and id(a) not in known})
        return finished(drafts, evidence, run, **more)

    monkeypatch.setattr(judging, "finished", looked)
    cr.evaluate(log(), target())
    assert held == {}


def test_cells_wait_only_while_all_rows_are_kept_and_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    small_parts(monkeypatch)
    some = {q: ranking for q, ranking in target().items() if q % 2}
    found = cr.evaluate(log(), some, estimators=["ip", "pbm"])
    monkeypatch.setattr(tallier, "DEFERRED", 0)
    other = cr.evaluate(log(), some, estimators=["ip", "pbm"])
    assert [row.value for row in found.rows] == pytest.approx([row.value for row in other.rows], rel=1e-12)
