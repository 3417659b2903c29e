"""What is temporary goes, even what was being made at the very moment of the end."""

from __future__ import annotations

from pathlib import Path

import pytest

from counterrank import temporary


def test_a_file_that_is_just_being_made_goes_at_the_second_look(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(temporary, "_files", {})
    late = tmp_path / "late"
    monkeypatch.setitem(temporary._files, str(late), temporary.os.getpid())
    temporary.clear()
    late.touch()
    temporary.clear()
    assert not late.exists()
