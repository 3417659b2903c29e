"""Open Bandit Pipeline's slate estimators on our log, in a virtual environment of their own.

`prepare(folder)` makes that environment. `python -m benchmarks.obp NAME LOG TARGET`, run by its Python, is one
contender: it gives Open Bandit Pipeline the propensities ready-made (shares in the log, as ours are; the package does
not estimate them) and times only the package's own call. Integer ids only.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
import types
import venv
from pathlib import Path

# obp 0.5.7 asks for Python below 3.11 and pins old packages; these work with it on 3.11
NEEDS = ["numpy==1.26.*", "pandas==2.2.*", "scikit-learn==1.5.*", "pyarrow==17.*"]
NEEDS += ["scipy", "tqdm", "pyyaml", "matplotlib", "seaborn"]
NAMES = {"iips": "SlateIndependentIPS", "rips": "SlateRewardInteractionIPS", "sips": "SlateStandardIPS"}
LIMITS = {"iips": 1_000_000, "rips": 100_000, "sips": 100_000, "iips-interval": 100_000}  # impressions we wait for
OURS = {"iips": "ip", "sips": "list"}  # which of our estimators gives the same number


def prepare(folder: Path) -> Path | str:
    """The environment's Python, or why there is none."""
    python = folder / "obp-venv" / "bin" / "python"
    if (folder / "obp-venv" / "ready").exists():
        return python
    if sys.version_info[:2] > (3, 12):
        return "NumPy 1.26, which it needs, has no wheels for this Python"
    try:
        venv.create(python.parents[1], with_pip=True, clear=True)
        install = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*install, *NEEDS], check=True, capture_output=True, text=True, timeout=900)
        alone = ["--no-deps", "--ignore-requires-python", "obp==0.5.7"]
        subprocess.run([*install, *alone], check=True, capture_output=True, text=True, timeout=300)
        check = "from benchmarks.obp import slate_estimators; slate_estimators()"
        root = Path(__file__).parents[1]
        subprocess.run([str(python), "-c", check], check=True, capture_output=True, text=True, cwd=root, timeout=300)
    except subprocess.CalledProcessError as error:
        lines = (error.stderr or "").strip().splitlines()
        return f"it could not be installed: {lines[-1] if lines else error}"
    except (subprocess.TimeoutExpired, OSError) as error:
        return f"it could not be installed: {error}"
    (folder / "obp-venv" / "ready").touch()
    return python


class _AbsentClass(type):
    def __getattr__(cls, name: str):
        if name.startswith("__"):
            raise AttributeError(name)
        return _AbsentClass(name, (), {})


class _Absent(types.ModuleType):
    """Stands in for torch: the package imports it everywhere, its slate estimators never use it."""

    __path__: list[str] = []  # noqa: RUF012 - what makes a module a package

    def __getattr__(self, name: str):
        if name.startswith("__"):
            raise AttributeError(name)
        return _AbsentClass(name, (), {})


def slate_estimators():
    try:
        import torch  # noqa: F401
    except ImportError:
        for name in ("torch", "torch.nn", "torch.nn.functional", "torch.optim"):
            sys.modules[name] = _Absent(name)
        sys.modules["torch"].nn = sys.modules["torch.nn"]  # type: ignore[attr-defined]
    from obp import ope

    return ope


def shares(queries, codes):
    """The share of each code among the impressions of its query, per row."""
    import numpy as np

    _, of, counts = np.unique(queries * (codes.max() + 1) + codes, return_inverse=True, return_counts=True)
    return counts[of] / np.bincount(queries)[queries]


def propensities(name: str, queries, items, target):
    """(n, K) chances under the log and under the target, as each estimator wants them."""
    import numpy as np

    same = items == target
    if name.startswith("iips"):
        logged = np.stack([shares(queries, items[:, k]) for k in range(items.shape[1])], axis=1)
        return logged, same.astype(float)
    prefix = np.zeros(len(queries), dtype=np.int64)
    logged = np.empty(items.shape)
    for k in range(items.shape[1]):
        prefix = np.unique(prefix * (items.max() + 1) + items[:, k], return_inverse=True)[1].reshape(-1)
        logged[:, k] = shares(queries, prefix)
    shown = np.logical_and.accumulate(same, axis=1).astype(float)
    if name == "rips":
        return logged, shown
    return np.repeat(logged[:, -1:], items.shape[1], axis=1), np.repeat(shown[:, -1:], items.shape[1], axis=1)


def main() -> None:
    import numpy as np
    import pyarrow.parquet as pq

    name, log, target = sys.argv[1:]
    ope = slate_estimators()
    rows = pq.read_table(log, columns=["query", "items", "clicks"])
    queries = rows["query"].to_numpy()
    items = rows["items"].combine_chunks().values.to_numpy().reshape(len(queries), -1)
    clicks = rows["clicks"].combine_chunks().values.to_numpy().astype(np.int64)
    policy = pq.read_table(target)
    wanted = np.zeros((int(queries.max()) + 1, items.shape[1]), dtype=np.int64)
    wanted[policy["query"].to_numpy()] = policy["items"].combine_chunks().values.to_numpy().reshape(len(policy), -1)
    logged, shown = propensities(name, queries, items, wanted[queries])
    kind = {"sips": "pscore", "rips": "pscore_cascade"}.get(name, "pscore_item_position")
    given = {kind: logged.ravel(), f"evaluation_policy_{kind}": shown.ravel()}
    slates = np.repeat(np.arange(len(queries)), items.shape[1])
    positions = np.tile(np.arange(items.shape[1]), len(queries))
    given |= {"slate_id": slates, "reward": clicks, "position": positions}
    estimator = getattr(ope, NAMES[name.removesuffix("-interval")])(len_list=items.shape[1])
    start = time.perf_counter()
    if name.endswith("-interval"):
        value = estimator.estimate_interval(random_state=0, **given)["mean"]
    else:
        value = estimator.estimate_policy_value(**given)
    seconds = time.perf_counter() - start
    values = {OURS[name]: float(value)} if name in OURS else {}
    print(json.dumps({"seconds": seconds, "values": values, "value": float(value)}))


if __name__ == "__main__":
    main()
