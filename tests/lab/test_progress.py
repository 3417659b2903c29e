"""What a long reproduction tells, and where."""

from __future__ import annotations

import pytest

from counterrank.lab.progress import VARIABLE, counted, tell


def test_a_file_or_pipe_hears_nothing_unless_asked(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    tell("reading")
    assert list(counted("a panel", "xyz", 3)) == ["x", "y", "z"]
    assert capsys.readouterr() == ("", "")
    monkeypatch.setenv(VARIABLE, "1")
    tell("reading")
    assert list(counted("a panel", "xyz", 3)) == ["x", "y", "z"]
    out, err = capsys.readouterr()
    assert out == ""
    assert err.splitlines() == ["reading …", "a panel: 3 runs …", "a panel: 3 runs done, 0 s"]


def test_a_terminal_has_one_line_that_counts(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    assert list(counted("a panel", range(3), 3)) == [0, 1, 2]
    lines = [line.removeprefix("\x1b[K") for line in capsys.readouterr().err.replace("\r", "\n").splitlines()]
    counts = ["a panel: 1 of 3 runs", "a panel: 2 of 3 runs"]
    assert lines == ["a panel: 3 runs …", "", *counts, "a panel: 3 runs done, 0 s"]
