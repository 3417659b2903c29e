"""What is compiled ahead of time."""

from __future__ import annotations

import pytest

from counterrank.cli import COMMANDS
from counterrank.errors import InputError
from counterrank.simulate.warm import WARMED, warm


def test_every_warmed_command_is_a_command() -> None:
    assert set(WARMED) <= set(COMMANDS)


def test_a_second_time_nothing_is_left_to_compile() -> None:
    first, again = (list(warm(["check", "evaluate"])) for _ in range(2))
    assert [each.command for each in first] == ["check", "evaluate"]
    assert [each.compiled for each in again] == [0, 0]


def test_an_unknown_command_is_refused() -> None:
    with pytest.raises(InputError, match="unknown command 'evalute': did you mean 'evaluate'"):
        list(warm(["evalute"]))
