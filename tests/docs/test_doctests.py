"""Examples in the source say what the code does."""

from __future__ import annotations

import doctest
import importlib
from pathlib import Path

import pytest

import counterrank

SOURCE = Path(counterrank.__file__).parent
MODULES = sorted(
    ".".join(("counterrank", *path.relative_to(SOURCE).with_suffix("").parts)).removesuffix(".__init__")
    for path in SOURCE.rglob("*.py")
    if ">>>" in path.read_text(encoding="utf-8")
)


@pytest.mark.parametrize("name", MODULES)
def test_examples(name: str) -> None:
    found = doctest.testmod(importlib.import_module(name))
    assert found.attempted
    assert not found.failed
