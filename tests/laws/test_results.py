"""Every result behaves alike: as text, in a notebook, as JSON and as a table of data."""

from __future__ import annotations

import gc
import importlib
import json
import math
import pkgutil
import random
import re
import weakref
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from typing import Any

import pytest

import counterrank
import counterrank as cr
from counterrank.fitting.result import ClickComparison
from counterrank.lab.result import PaperFinding, Reproduction
from counterrank.log import Log, read_log
from counterrank.result.answer import Answer

ODD = "<b>\x1b[2J&\u202e"
Q, A = f"q1{ODD}", f"a{ODD}"
PAGES = [(Q, [A, "b", "c"]), (Q, ["b", A, "c"]), ("q2", ["x", "y"]), ("q2", ["y", "x"])]
OFTEN = {A: 0.8, "b": 0.3, "c": 0.1, "x": 0.7, "y": 0.15}  # clicked, at the top: items differ, so that fits are quick
DRAWN = random.Random(3)
ROWS = [
    {
        "query": q,
        "items": items,
        "clicks": [int(DRAWN.random() < OFTEN[item] / (k + 1)) for k, item in enumerate(items)],
    }
    | {"day": i // 16}
    for i, (q, items) in enumerate(PAGES * 12)
]
TABLE = {name: [row[name] for row in [*ROWS, ROWS[0] | {"clicks": [2, 0, 0]}]] for name in ROWS[0]}  # the last is bad
TARGET = {Q: ["b", A, "c"], "q2": ["y", "x"]}
FEATURES = {
    "query": [q for q, items in PAGES[::2] for _ in items],
    "item": [item for _, items in PAGES[::2] for item in items],
    "x": [0.1, 0.5, 0.2, 0.3, 0.9],
}
DOCUMENTS = {
    "query": [f"{Q}{i // 8}" for i in range(80)],
    "item": [f"{A}{i}" for i in range(80)],
    "x": [i % 7 for i in range(80)],
    "grade": [i % 3 for i in range(80)],
}
MADE: dict[str, Callable[[Log], Answer]] = {  # by the class that it is
    "Evaluation": lambda log: cr.evaluate(log, TARGET),
    "Comparison": lambda log: cr.compare(log, TARGET),
    "Comparisons": lambda log: cr.compare_all(log, {ODD: TARGET, "other": {Q: ["c", "b", A], "q2": ["x", "y"]}}),
    "Backtest": lambda log: cr.backtest(log, replicates=20),
    "ClickComparison": lambda log: cr.clicks(log, models="pbm,cm"),
    "Check": lambda log: cr.check(log),
    "Pessimistic": lambda log: cr.optimize(log, click_model="pbm"),
    "Solved": lambda log: cr.optimize(log, by="lp-list", clip=5),
    "Learnt": lambda log: cr.optimize(log, by="pi-opt", features=FEATURES),
    "Learning": lambda log: cr.learn(log, general=TARGET, special="both"),
    "Simulation": lambda log: replace(
        cr.simulate_sessions(DOCUMENTS, "grade", rankers="bm25,truth", sessions=60, trials=2),
        reading=cr.check(log).reading,
    ),
    "Reproduction": lambda log: Reproduction(
        paper="a paper", tables=[], findings=[PaperFinding(ODD, "here", "yes", "1")], numbers={"x": math.nan},
        notes=list(cr.check(log).notes), reading=cr.check(log).reading,
    ),
}  # fmt: skip
MORE: dict[str, Callable[[Log], Answer]] = {
    "Comparison by ip": lambda log: cr.compare(log, TARGET, estimator="ip"),
    "Evaluation by pi": lambda log: cr.evaluate(log, TARGET, estimators="pi,rctr", interval="theorem3"),
    "Evaluation by nothing": lambda log: cr.evaluate(log, {"q2": ["z"]}, estimators="ip,wip"),
}
each = pytest.mark.parametrize("name", [*MADE, *MORE])


def log() -> Log:
    return replace(read_log(TABLE), tolerant=True)


@cache
def made(name: str) -> Answer:
    return (MADE | MORE)[name](log())


def members(kind: type[Answer]) -> Iterator[type[Answer]]:
    for member in kind.__subclasses__():
        yield member
        yield from members(member)


def test_every_kind_of_result_is_tried() -> None:
    for module in pkgutil.walk_packages(counterrank.__path__, "counterrank."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    ends = {member.__name__ for member in members(Answer) if not member.__subclasses__()}
    assert {type(made(name)).__name__ for name in MADE} == set(MADE) == ends


@each
def test_json_is_finite_and_accounts_for_the_rows(name: str) -> None:
    def never(text: str) -> None:
        pytest.fail(f"{text} in JSON")

    found = json.loads(made(name).to_json(), parse_constant=never)
    assert (found["rows"], found["rejected"]) == (len(ROWS), 1)
    assert all(isinstance(note, str) for note in found["notes"])
    assert list(found) == list(made(name).to_dict())


@each
def test_tables_of_data_are_the_rows_of_the_json(name: str) -> None:
    result = made(name)
    rows, table = result.records(), result.to_arrow()
    assert rows
    columns = table.column_names
    shown = [{column: row.get(column) for column in columns} for row in rows]
    assert plain(table.to_pylist()) == plain(shown)
    assert plain(result.to_polars().to_dicts()) == plain(shown)
    frame = result.to_pandas()
    assert list(frame.columns) == columns
    assert len(frame) == len(rows)
    if isinstance(result, cr.Comparison):  # its JSON has them one by one
        rows = [{"policy": policy, **bound} for policy, bound in result.to_dict()["separate"].items()] + rows[-1:]
        assert plain(result.records()) == plain(rows)
        assert rows[-1]["value"] == result.to_dict()["difference"]
    elif isinstance(result, cr.Learning):  # its JSON has no rows: they are in the policy directory
        assert plain(result.gate.to_pylist()) == plain(rows)
    else:
        assert plain(result.to_dict()[type(result).listed]) == plain(rows)


@each
def test_text_and_html_are_visible_and_escaped(name: str) -> None:
    result = made(name)
    text, page = repr(result), result._repr_html_()
    assert text.startswith("\n".join([*([result.headline()] if result.headline() else []), result.summary()]))
    assert not re.search("[\x00-\x09\x0b-\x1f\u202e]", text + page)
    assert "<b>" not in page
    header, body = result.cells()
    assert all(len(row) == len(header) for row in body)
    assert page.count("<tr>") == 1 + len(body)
    assert all(isinstance(line, str) and line for line in result.remarks())
    assert str(result.reading.line()) in text  # type: ignore[attr-defined]


@each
def test_a_result_does_not_keep_its_log(name: str) -> None:
    source = log()
    kept = [weakref.ref(source), *map(weakref.ref, source.parts)]
    result = (MADE | MORE)[name](source)
    del source
    gc.collect()
    assert [known() for known in kept] == [None] * len(kept)
    assert result.to_json()


def test_a_package_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "polars", None)
    result = made("Check")
    with pytest.raises(cr.InputError, match="polars is not installed: pip install polars"):
        result.to_polars()


def plain(value: Any) -> Any:
    """Tuples as lists, as JSON has them."""
    if isinstance(value, dict):
        return {key: plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [plain(part) for part in value]
    return None if isinstance(value, float) and math.isnan(value) else value


def test_attractions_do_not_need_the_log() -> None:
    result = made("ClickComparison")
    assert isinstance(result, ClickComparison)
    assert result.attractions().num_rows == 5
