"""Outside `estimate/` nobody asks for an estimator's name: its traits say what it is."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import counterrank
from counterrank.estimate import ESTIMATORS

SOURCE = Path(counterrank.__file__).parent
ROOMS = sorted(
    path.relative_to(SOURCE).as_posix()
    for path in SOURCE.rglob("*.py")
    if path.relative_to(SOURCE).parts[0] not in ("estimate", "lab")  # lab/ has the estimators that papers print
)
# words that are also the name of something else: columns, forms of a log, click models and what is learnt with them
OTHERS = {
    "item": (
        "engine/",
        "log/",
        "policy/",
        "checking/check.py",
        "checks/logs.py",
        "fitting/clicks.py",
        "learning/served.py",
        "online/memory.py",
        "service/demo.py",
        "service/live_data.py",
        "simulate/labelled.py",
        "simulate/sessions/read.py",
        "simulate/warm.py",
        "optimizing/pessimistic/lower.py",
    ),
    "list": ("log/", "policy/", "optimizing/pessimistic/lower.py"),
    "pbm": ("click/__init__.py", "optimizing/pessimistic/worth.py", "simulate/world.py"),
    "pi": ("optimizing/programs/programs.py",),
}


def names_asked_for(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Names of estimators in comparisons, in what `in` looks through, as keys of dictionaries and as beginnings."""
    sets = {
        node.targets[0].id: node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
    }
    for node in ast.walk(tree):
        asked: list[ast.AST | None] = []
        if isinstance(node, ast.Compare):
            asked = [node.left, *node.comparators]
            asked += [sets.get(side.id) for side in node.comparators if isinstance(side, ast.Name)]
        elif isinstance(node, ast.Dict):
            asked = list(node.keys)
        elif isinstance(node, ast.MatchValue):
            asked = [node.value]
        elif isinstance(node, ast.Subscript):
            asked = [node.slice]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            asked = list(node.args) if node.func.attr in ("startswith", "endswith", "get", "index") else []
        for part in asked:
            if isinstance(part, ast.Constant | ast.Tuple | ast.List | ast.Set):
                for leaf in ast.walk(part):
                    if isinstance(leaf, ast.Constant) and isinstance(leaf.value, str) and leaf.value in ESTIMATORS:
                        yield leaf.lineno, leaf.value


@cache
def asked_in(path: str) -> list[tuple[int, str]]:
    return list(names_asked_for(ast.parse((SOURCE / path).read_text(encoding="utf-8"))))


def test_traits_not_names() -> None:
    found = [
        f"{path}:{line} {name!r}"
        for path in ROOMS
        for line, name in asked_in(path)
        if not path.startswith(OTHERS.get(name, ()) or ("-",))
    ]
    assert not found, "asks for an estimator by name; give `Estimator` a trait instead"


@pytest.mark.parametrize(
    "code",
    [
        'name == "ip"',
        'name in ("dm", "rctr")',
        'WORDS = ("dm", "rctr")\nx = name in WORDS',
        '{"pbm": 1}',
        'name.startswith("list")',
        'ESTIMATORS["ip"]',
        'match name:\n    case "ip":\n        pass',
    ],
)
def test_finds_what_it_looks_for(code: str) -> None:
    assert list(names_asked_for(ast.parse(code)))


def test_words_with_two_meanings_are_still_used() -> None:
    """An exception that no file needs any more is dropped."""
    for name, places in OTHERS.items():
        for place in places:
            files = [path for path in ROOMS if path.startswith(place)]
            used = any(name == found for path in files for _, found in asked_in(path))
            assert used, f"{name!r} is nowhere in {place}"
