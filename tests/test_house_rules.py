"""Rules of the house that a reader of one file would not see broken."""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import counterrank

SOURCE = Path(counterrank.__file__).parent
LONGEST_FUNCTION = 60
MOST_FIELDS = 6  # more are given by name, be it to a class or to a function
MOST_ARGUMENTS = 12  # of a kernel; arrays that belong together are one record


@cache
def files() -> dict[str, ast.Module]:
    """Every module, parsed: by the first test that asks, not by every process that collects tests."""
    paths = SOURCE.rglob("*.py")
    return {path.relative_to(SOURCE).as_posix(): ast.parse(path.read_text(encoding="utf-8")) for path in paths}


def kernels(tree: ast.AST) -> Iterator[ast.FunctionDef]:
    return (each for each in functions(tree) if is_kernel(each))


def functions(tree: ast.AST) -> Iterator[ast.FunctionDef]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))


def is_kernel(function: ast.FunctionDef) -> bool:
    return any("njit" in ast.unparse(each) for each in function.decorator_list)


def test_functions_fit_on_a_screen() -> None:
    long = {
        f"{name}: {each.name}": lines
        for name, tree in files().items()
        for each in functions(tree)
        if not is_kernel(each) and (lines := body_lines(each)) > LONGEST_FUNCTION
    }
    assert not long


def body_lines(function: ast.FunctionDef) -> int:
    """Lines of code: neither parameters nor what is said of them."""
    first = function.body[1:2] if ast.get_docstring(function) else function.body[:1]
    return (function.end_lineno or 0) - first[0].lineno + 1 if first else 0


def test_kernels_take_records_instead_of_many_arrays() -> None:
    many = {
        f"{name}: {kernel.name}": size
        for name, tree in files().items()
        for kernel in kernels(tree)
        if (size := len(kernel.args.args)) > MOST_ARGUMENTS
    }
    assert not many


def test_many_fields_are_given_by_name() -> None:
    positional = [
        f"{name}: {node.name}"
        for name, tree in files().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
        and any("dataclass" in (text := ast.unparse(each)) and "kw_only" not in text for each in node.decorator_list)
        and sum(isinstance(each, ast.AnnAssign) and "ClassVar" not in ast.unparse(each) for each in node.body)
        > MOST_FIELDS
    ]
    assert not positional


def test_many_parameters_are_given_by_name() -> None:
    positional = [
        f"{name}: {each.name}"
        for name, tree in files().items()
        for each in functions(tree)
        if not is_kernel(each) and sum(a.arg not in ("self", "cls") for a in each.args.args) > MOST_FIELDS
    ]
    assert not positional


def test_modules_with_an_underscore_are_protected_by_import_linter() -> None:
    settings = tomllib.loads((SOURCE.parents[1] / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = [each for each in settings["tool"]["importlinter"]["contracts"] if each["type"] == "protected"]
    rooms = {module: each["allowed_importers"] for each in contracts for module in each["protected_modules"]}
    modules = ["counterrank." + name.removesuffix(".py").replace("/", ".") for name in files()]
    hidden = [module for module in modules if any(part.startswith("_") for part in module.split("."))]
    wanted = {module: [module.rpartition(".")[0]] for module in hidden if not module.endswith("__")}
    assert rooms == wanted


def test_every_room_stands_in_a_layer() -> None:
    settings = tomllib.loads((SOURCE.parents[1] / "pyproject.toml").read_text(encoding="utf-8"))
    [layers] = [each["layers"] for each in settings["tool"]["importlinter"]["contracts"] if each["type"] == "layers"]
    known = {room.strip() for layer in layers for room in layer.split(":")}
    tops = {f"counterrank.{name.split('/')[0].removesuffix('.py')}" for name in files()}
    assert tops - known == {f"counterrank.{name}" for name in ("__init__", "__main__", "version")}


def test_names_with_an_underscore_stay_in_their_room() -> None:
    taken = [
        f"{name}: {node.module} {each.name}"
        for name, tree in files().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("counterrank.")
        for each in node.names
        for parts in [[*(node.module or "").split(".")[1:], each.name]]
        if parts[0] != name.split("/")[0] and any(part.startswith("_") and not part.startswith("__") for part in parts)
    ]
    assert not taken
