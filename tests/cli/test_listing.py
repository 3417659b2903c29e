"""Options as data: the same as the commands say themselves."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from counterrank.cli import COMMANDS, app, function
from counterrank.cli import listing as listing_module
from counterrank.cli.listing import PLACE, described, listed, made
from counterrank.cli.plain import take_plainly


def test_the_listing_is_in_step_with_the_commands() -> None:
    assert PLACE.read_text(encoding="utf-8") == made(), "run `python -m counterrank.cli.listing`"


@pytest.mark.parametrize("name", COMMANDS)
def test_a_listed_command_is_parsed_like_the_command_itself(name: str) -> None:
    given = listed(name, function(name))
    assert given is not None
    assert described(given) == described(function(name))


def test_a_listing_of_other_files_is_not_used(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    old = tmp_path / "listing.json"
    for text in (json.dumps({**json.loads(PLACE.read_text()), "made_from": "others"}), "{", "[]"):
        old.write_text(text)
        monkeypatch.setattr(listing_module, "PLACE", old)
        listing_module._read.cache_clear()
        assert listed("check", print) is None
    monkeypatch.undo()
    listing_module._read.cache_clear()


def test_plain_words_become_what_they_say_and_others_are_refused_by_typer() -> None:
    seen = []

    def run(
        word: str,
        count: int = 1,
        share: float = 0.5,
        *,
        place: Path = Path("here"),
        loud: bool = False,
        names: list[str] | None = None,
    ) -> None:
        seen.append((word, count, share, place, loud, names))

    plain = typer.Typer(add_completion=False)
    plain.command()(run)
    parsed = take_plainly(typer.main.get_command(plain))
    runner = CliRunner()
    for words in (
        ["a"],
        ["a", "--count", "-3", "--share", "1e-3", "--place", "x/y", "--loud"],
        ["é", "--share", "2", "--names", "n", "--names", "m"],
    ):
        before = len(seen)
        parsed.main(words, standalone_mode=False)
        assert runner.invoke(plain, words).exit_code == 0
        assert seen[before] == seen[before + 1], "as without"
        assert [type(value) for value in seen[before]] == [type(value) for value in seen[before + 1]]
    for words in (["a", "--count", "1.5"], ["a", "--share", "x"]):
        with pytest.raises(Exception, match=r"(?i)valid") as error:
            parsed.main(words, standalone_mode=False)
        assert hasattr(error.value, "format_message")


def test_the_front_page_fits_its_screen_and_names_every_command(monkeypatch: pytest.MonkeyPatch) -> None:
    for columns, most in (("72", 72), ("300", 100)):
        monkeypatch.setenv("COLUMNS", columns)
        shown = CliRunner().invoke(app, ["--help"]).stdout
        assert max(map(len, shown.splitlines())) <= most
        assert all(f"\n  {name} " in shown for name in COMMANDS)
