"""What a command does without. Pandas stays out of one that does not need it: to import it takes as long as to judge
a small log.

Arrow imports Pandas at its first conversion, wherever it is installed, only to see whether values are of its types. A
command that counts in this process makes no such values. A program that uses the library is left alone, and so are
engines that work with Pandas, and installed packages that offer members of ours and may.
"""

from __future__ import annotations

import os
import sys
from typing import Any

from counterrank.cli.listing import offered

_ABSENT = "pandas"
SMALL = ("check", "evaluate", "compare", "clicks", "backtest")  # commands without large matrices


class _Refuses:
    """Among Python's finders of modules: one does not let itself be found."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> None:
        if name == _ABSENT:
            raise ModuleNotFoundError(f"{name} is not looked for", name=name)


def leave_cores_free(command: str) -> None:
    """Linear algebra takes one thread where its matrices are small: more of them would wait in a loop for the next,
    on the core where rows are counted. Before NumPy is imported; a setting of the user's stays."""
    if command in SMALL and "numpy" not in sys.modules:
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def leave_pandas_out() -> None:
    """Arrow shall look for Pandas now, and not find it."""
    if _ABSENT in sys.modules or offered():
        return
    import pyarrow as pa

    refuses: Any = _Refuses()
    sys.meta_path.insert(0, refuses)
    try:
        pa.scalar(True)
    finally:
        sys.meta_path.remove(refuses)
