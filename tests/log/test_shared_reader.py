"""Texts are read on one DuckDB of this process."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

FORKED = """
import os
from counterrank.log.parts import connect
with connect() as first:
    print(first.execute("SELECT current_setting('enable_progress_bar')").fetchall()[0][0], flush=True)
child = os.fork()
if child == 0:
    with connect() as own:
        os._exit(own.execute("SELECT 7").fetchall()[0][0])
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no processes are forked here")
def test_a_forked_process_opens_its_own() -> None:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", FORKED], capture_output=True, text=True, check=False, timeout=60
    )
    assert (done.stdout.split(), done.stderr) == (["False", "7"], "")
