"""What a command does without still is there for whoever asks."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

WITHOUT = """
import json, os, sys
from counterrank.cli.lean import leave_out
leave_out("evaluate")
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
told = {}
told["plain"] = pa.array(np.arange(3)).to_pylist()
told["distinct"] = np.unique(np.array([2, 1, 2])).tolist()
told["early"] = [name for name in ("numpy.ma", "pandas") if name in sys.modules]
told["made"] = np.ma.MaskedArray([1, 2], mask=[False, True]).tolist()
told["masked"] = pa.array(np.ma.array([1, 2], mask=[False, True])).to_pylist()
told["is_masked"] = [np.ma.is_masked(each) for each in (np.arange(2), np.ma.array([1], mask=[True]))]
told["distinct_masked"] = len(np.unique(np.ma.array([1, 1, 2], mask=[False, False, True])).compressed())
told["sum"] = pc.sum(pa.array([1, 2, None]), skip_nulls=True).as_py()
told["rounded"] = pc.round(pa.array([1.25]), ndigits=1, round_mode="half_up").to_pylist()
from pyarrow.vendored import docscrape
page = docscrape.NumpyDocString("Title.\\n\\nParameters\\n----------\\nx : int\\n    A number.\\n")
told["reader"] = len(page["Parameters"])
told["memory"] = pa.default_memory_pool().backend_name
print(json.dumps(told))
"""


def run(*words: str) -> str:
    return subprocess.run([sys.executable, *words], check=True, capture_output=True, text=True).stdout


def test_what_is_left_out_is_there_when_it_is_asked_for() -> None:
    told = json.loads(run("-c", WITHOUT))
    assert told["early"] == []
    assert told["plain"] == [0, 1, 2]
    assert told["distinct"] == [1, 2]
    assert told["made"] == told["masked"] == [1, None]
    assert told["is_masked"] == [False, True]
    assert told["distinct_masked"] == 1
    assert told["sum"] == 3
    assert told["rounded"] == [1.3]
    assert told["reader"] == 1
    assert told["memory"] == "system"


def test_json_needs_neither_rich_nor_pandas(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    log.write_text('{"query": "q", "items": ["a", "b"], "clicks": [1, 0]}\n' * 3)
    policy = tmp_path / "new.jsonl"
    policy.write_text('{"query": "q", "items": ["b", "a"]}\n')
    code = (
        "import sys\nfrom counterrank.cli import main\n"
        f"sys.argv = ['counterrank', 'evaluate', {str(log)!r}, '--target', {str(policy)!r}, '--json']\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        "print([name for name in ('rich', 'pandas', 'numba') if name in sys.modules])"
    )
    assert run("-c", code).splitlines()[-1] in ("[]", "['numba']")  # which is there where something is compiled


def test_a_command_that_ends_at_once_leaves_nothing_behind(tmp_path: Path) -> None:
    """Temporary files go, what was printed is whole, and the exit code is that of the answer."""
    log, policy = tmp_path / "log.csv", tmp_path / "new.jsonl"
    rows = "".join(f'q{i % 7},"[""a"", ""b""]","[1, 0]"\n' for i in range(500))
    log.write_text("query,items,clicks\n" + rows)
    policy.write_text("".join(f'{{"query": "q{i}", "items": ["b", "a"]}}\n' for i in range(7)))
    (tmp_path / "temporary").mkdir()
    words = [sys.executable, "-m", "counterrank", "compare", str(log), "--target", str(policy), "--json"]
    environment = {**os.environ, "TMPDIR": str(tmp_path / "temporary")}
    done = subprocess.run([*words, "--require-improvement", "0"], capture_output=True, text=True, env=environment)
    assert done.returncode == 1
    assert json.loads(done.stdout)["verdict"] != "target"
    assert list((tmp_path / "temporary").iterdir()) == []
