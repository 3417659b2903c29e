"""Every engine is tried: `tests/engines` holds all of them to the same numbers."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from counterrank.engine import ENGINES, Embedded, Engine, open_engine
from counterrank.errors import InputError


def test_every_engine_is_held_to_the_same_numbers() -> None:
    place = Path(__file__).parents[1] / "engines" / "conftest.py"
    spec = importlib.util.spec_from_file_location("engines_conftest", place)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    assert spec.loader is not None
    spec.loader.exec_module(module)
    assert {ENGINES[name] for name in module.TRIED} == set(ENGINES.values())


def test_engines_are_opened_by_name() -> None:
    assert isinstance(open_engine("duckdb"), Embedded)
    assert open_engine("ibis").name == "ibis"
    one: Engine = Embedded()
    assert open_engine(one) is one
    with pytest.raises(InputError, match="did you mean 'duckdb'"):
        open_engine("duckbd")
