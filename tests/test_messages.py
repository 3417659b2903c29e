"""Messages of the library speak of parameters, in backticks; only the command line speaks of options."""

from __future__ import annotations

import ast
import inspect
import re
from functools import cache
from pathlib import Path

import pytest
from typer.testing import CliRunner

import counterrank as cr
from counterrank.cli import COMMANDS, app, command
from counterrank.cli.flags import flags, speak_of
from counterrank.errors import NotInstalled, Unanswerable
from counterrank.optimizing.optimize import OPTIMIZERS
from counterrank.service.export import Choice
from counterrank.service.settings import Settings
from counterrank.service.store import Store

SOURCE = Path(cr.__file__).parent
LIBRARY = [path for path in SOURCE.rglob("*.py") if path.relative_to(SOURCE).parts[0] not in ("cli", "lab")]
OPTION = re.compile(r"(?<![\w-])--[a-z]")
PARAMETER = re.compile(r"`(\w+)(?:=[^`]*)?`")
OTHERS = {
    "items",
    "unsupported",
    "curve",
    "fit",
    "at",
    "compare",
}  # columns, fields and methods, which messages also name
PUBLIC = [
    cr.evaluate,
    cr.compare,
    cr.backtest,
    cr.check,
    cr.clicks,
    cr.learn,
    cr.simulate_sessions,
    cr.read_log,
    cr.read_policy,
    *OPTIMIZERS.values(),
    Settings,
    Choice,
    Store.import_log,
    Store.forget,
]
LOG = {"query": ["q"] * 4, "items": [["a", "b"], ["b", "a"]] * 2, "clicks": [[1, 0], [0, 0], [1, 1], [1, 0]]}


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def texts(path: Path) -> list[str]:
    """The string literals of a module; parts of an f-string are put together, with … for what is filled in."""
    tree = parsed(path)
    whole = [node for node in ast.walk(tree) if isinstance(node, ast.JoinedStr)]
    inside = {id(part) for node in whole for part in ast.walk(node) if part is not node}
    found = [
        "".join(str(part.value) if isinstance(part, ast.Constant) else "…" for part in node.values) for node in whole
    ]
    plain = [node for node in ast.walk(tree) if isinstance(node, ast.Constant) and id(node) not in inside]
    return found + [node.value for node in plain if isinstance(node.value, str)]


def messages(path: Path) -> list[str]:
    """The texts of a module without its docstrings."""
    tree = parsed(path)
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef)
    told = {ast.get_docstring(node, clean=False) for node in ast.walk(tree) if isinstance(node, kinds)}
    return [text for text in texts(path) if text not in told]


def test_the_library_names_no_option() -> None:
    found = {str(path.relative_to(SOURCE)): [text for text in texts(path) if OPTION.search(text)] for path in LIBRARY}
    assert {path: said for path, said in found.items() if said} == {}


def test_what_messages_name_in_backticks_is_a_parameter() -> None:
    known = {name for function in PUBLIC for name in inspect.signature(function).parameters} | {"by"}
    named = {name for path in LIBRARY for text in messages(path) for name in PARAMETER.findall(text)}
    assert named - OTHERS - {"…"} <= known
    assert len(named & known) > 20


def test_every_parameter_that_messages_name_is_an_option_of_some_command() -> None:
    named = {name for path in LIBRARY for text in messages(path) for name in PARAMETER.findall(text)} - OTHERS - {"…"}
    said = set()
    for name in COMMANDS:
        speak_of(command(name))
        said |= {parameter for parameter in named if flags(f"`{parameter}`").startswith("--")}
    assert said == named


def test_parameters_become_options_of_the_command() -> None:
    speak_of(command("evaluate"))
    assert flags("add `metric='clicks'`, or cut with `top=3`") == "add --metric clicks, or cut with --top 3"
    assert flags("`estimators='best'` and `reward_range`") == "--estimator best and --reward-range"
    assert flags("the order of `items`, the id `x`, `k`") == "the order of `items`, the id `x`, `k`"
    assert flags("`bad_rows` x.csv: `features=FILE`") == "--bad-rows x.csv: --features FILE"
    speak_of(command("optimize"))
    assert flags("`k` is 5, `estimators`") == "--k is 5, `estimators`"


def test_python_reads_parameters_and_the_command_line_options(tmp_path: Path) -> None:
    with pytest.raises(cr.InputError, match=r"^`confidence` is 2: expected"):
        cr.evaluate(LOG, "logging", confidence=2)
    found = cr.evaluate(LOG, {"q": ["b", "a"]}, estimators="pi", clip=5)
    assert "`clip` does not apply: these weights may be negative, and are used as they are" in found.rows[0].warnings
    path = tmp_path / "log.jsonl"
    row = '{"query": "q", "items": ["%s", "%s"], "clicks": [1, 0]}\n'
    path.write_text((row % ("a", "b") + row % ("b", "a")) * 4)
    target = tmp_path / "new.jsonl"
    target.write_text('{"query": "q", "items": ["b", "a"]}\n')
    words = ["evaluate", str(path), "--target", str(target)]
    assert "--confidence is 2.0: expected" in CliRunner().invoke(app, [*words, "--confidence", "2"]).stderr
    for more in ([], ["--json"], ["--report", str(tmp_path / "page.html")]):
        said = CliRunner().invoke(app, [*words, "--estimator", "pi", "--clip", "5", *more]).stdout
        assert "--clip does not apply: these weights may be negative" in said
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "--clip does not apply" in page
    assert "`clip`" not in page


def test_what_the_data_cannot_answer_and_what_is_not_there_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(Unanswerable, match="the target has rankings for none of the log's queries"):
        cr.evaluate(LOG, {"z": ["a"]})
    with pytest.raises(Unanswerable, match="`metric=reward` needs a column 'reward'"):
        cr.evaluate(LOG, "logging", metric="reward")
    with pytest.raises(Unanswerable, match="column 'day' is missing"):
        cr.backtest(LOG)
    monkeypatch.setitem(__import__("sys").modules, "polars", None)
    with pytest.raises(NotInstalled, match="polars is not installed: pip install polars"):
        cr.evaluate(LOG, "logging", estimators="rctr").to_polars()
    assert issubclass(Unanswerable, cr.InputError)
    assert issubclass(NotInstalled, cr.InputError)
    with pytest.raises(cr.InputError) as wrong:
        cr.evaluate(LOG, "logging", top=0)
    assert type(wrong.value) is cr.InputError
