"""Starting is quick: what is slow to import comes when it is needed."""

from __future__ import annotations

import subprocess
import sys

import pytest


@pytest.mark.parametrize("module", ["scipy.optimize", "pandas", "ibis", "pyspark", "altair"])
def test_the_command_line_does_not_import(module):
    code = f"import sys, counterrank.cli; sys.exit({module!r} in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
