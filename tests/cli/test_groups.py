"""Options in groups: each is an option of its own on the command line, and a field of the group in the command."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar

import pytest
import typer
from typer.testing import CliRunner

from counterrank.cli import COMMANDS, function
from counterrank.cli.files import READS, WRITES_TABLE, marks
from counterrank.cli.groups import Told, flat

seen: list[object] = []


@dataclass(frozen=True)
class Fruit:
    panel: ClassVar[str] = "The fruit"

    tree: Annotated[str, typer.Argument(help="Where it grows."), READS]
    kind: Annotated[str | None, typer.Option(help="Which.")] = None
    out: Annotated[Path | None, typer.Option("--basket", help="Where it goes."), WRITES_TABLE] = None


@dataclass(frozen=True)
class Taste:
    panel: ClassVar[str] = "The taste"

    sweet: Annotated[float, typer.Option(help="How sweet.")] = 0.5
    ripe: Annotated[bool, typer.Option("--ripe", help="Only ripe ones.")] = False


def pick(
    *,
    count: Annotated[int, typer.Option(help="How many.")] = 1,
    taste: Annotated[Taste, Told(ripe="None that is green.")] = Taste(sweet=0.75),
    fruit: Fruit,
) -> None:
    """Pick fruit."""
    seen.append((count, taste, fruit))


def test_fields_are_options_and_come_back_as_the_group() -> None:
    app = typer.Typer()
    app.command()(flat(pick))
    seen.clear()
    assert CliRunner().invoke(app, ["oak"]).exit_code == 0
    words = ["oak", "--count", "3", "--sweet", "1", "--ripe", "--kind", "acorn", "--basket", "x.csv"]
    assert CliRunner().invoke(app, words).exit_code == 0
    flat(pick)(tree="elm", sweet=0.25)
    assert seen == [
        (1, Taste(0.75), Fruit("oak")),
        (3, Taste(1.0, True), Fruit("oak", "acorn", Path("x.csv"))),
        (1, Taste(0.25), Fruit("elm")),
    ]
    assert CliRunner().invoke(app, []).exit_code == 2


def test_help_names_the_groups_and_what_the_command_says_of_an_option() -> None:
    app = typer.Typer()
    app.command()(flat(pick))
    shown = CliRunner().invoke(app, ["--help"]).stdout
    for words in ("The taste", "The fruit", "None that is green.", "default: 0.75", "--basket", "Where it grows."):
        assert words in shown
    assert "Only ripe ones" not in shown
    assert Taste.__annotations__["ripe"].count("Only ripe ones"), "the group itself stays as it was"


def test_marks_of_files_are_seen() -> None:
    assert marks(flat(pick)) == {"tree": READS, "out": WRITES_TABLE}


def test_what_cannot_be() -> None:
    def misspelt(*, taste: Annotated[Taste, Told(rip="…")] = Taste()) -> None: ...

    def twice(*, one: Taste = Taste(), two: Taste = Taste()) -> None: ...

    with pytest.raises(TypeError, match="Taste has no rip"):
        flat(misspelt)
    with pytest.raises(ValueError, match="duplicate parameter name"):
        flat(twice)


@pytest.mark.parametrize("name", COMMANDS)
def test_no_command_has_more_than_twelve_parameters(name: str) -> None:
    written = inspect.unwrap(function(name))
    assert len(inspect.signature(written).parameters) <= 12
