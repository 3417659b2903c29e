"""A PostgreSQL of a test run's own."""

from __future__ import annotations

import contextlib
import subprocess
from pathlib import Path
from typing import Any

import pytest


def started(package: Any, data: Path, **options: Any) -> Any:
    """A server, which has ten seconds to start; on a busy machine it is asked again."""
    for _ in range(5):
        with contextlib.suppress(subprocess.SubprocessError):
            return package.get_server(data, **options)
    return pytest.skip("PostgreSQL does not start here")
