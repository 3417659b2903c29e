"""One epoch of LambdaLoss on a linear model: ours beside the same in PyTorch.

    python -m benchmarks.lambda_loss                 # ours, and PyTorch's where it can be installed
    python -m benchmarks.lambda_loss --threads 2     # PyTorch may use two threads; ours always uses one

PyTorch lives in a virtual environment of its own, made once in `--dir`. Both epochs go over the same queries in steps
of the same size: scores, the order of each query, the pair weights of the present order, the slopes, a step of Adam.
They take turns, each in a process of its own, and the fastest epoch of each counts. It ends with exit code 1 if the
slopes of the two differ.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path

import numpy as np

TORCH = "torch==2.13.0"
SHARES = [0.52, 0.32, 0.13, 0.02, 0.01]  # of the labels 0..4, as in MSLR
BATCH = 79  # queries of a step, as our descent takes them of 10,000


def data(queries: int, documents: int, features: int) -> tuple[np.ndarray, np.ndarray]:
    """(Q·D, F) normal features and (Q·D,) labels for worth."""
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((queries * documents, features), dtype=np.float32)
    return rows, rng.choice(5, queries * documents, p=SHARES).astype(np.float32)


def ours(args: argparse.Namespace) -> dict[str, float | list[float]]:
    """The seconds of our epochs, and the slope of the first query at weights of 0.01."""
    from counterrank.learning.models.descent import Descent, Task
    from counterrank.learning.models.lambda_loss import gains, gradient
    from counterrank.learning.models.scaled import Directions

    rows, worth = data(args.queries, args.documents, args.features)
    gain = gains(1 / np.log2(np.arange(2, args.documents + 2)), args.documents).astype(np.float32)
    starts = np.arange(args.queries + 1) * args.documents
    width = args.features
    task = Task(
        starts=starts, queries=np.arange(args.queries), rows=rows, worth=worth, gain=gain,
        directions=Directions(np.eye(width), np.ones(width)),
    )  # fmt: skip
    slope = np.zeros(width, np.float32)
    gradient(starts, np.arange(1), rows, worth, gain, np.full(width, 0.01, np.float32), slope)
    descent = Descent(task, penalty=0.0, seed=0)
    return {"seconds": timed(args.epochs, lambda: descent.epoch(0.01)), "slope": slope.tolist(), **memory()}


def torchs(args: argparse.Namespace) -> dict[str, float | list[float]]:
    """The same in PyTorch, which this process must have."""
    import torch

    torch.set_num_threads(args.threads)
    rows, worth = (torch.from_numpy(each) for each in data(args.queries, args.documents, args.features))
    rows, worth = rows.view(args.queries, args.documents, -1), worth.view(args.queries, args.documents)
    place = torch.arange(args.documents)
    far = (place[:, None] - place[None, :]).abs().clamp(min=1).float()
    gain = (1 / torch.log2(1 + far) - 1 / torch.log2(2 + far)).fill_diagonal_(0)
    weights = torch.full((args.features,), 0.01, requires_grad=True)
    adam = torch.optim.Adam([weights], lr=0.01)

    def loss_of(some: torch.Tensor) -> torch.Tensor:
        scores = rows[some] @ weights
        ordered, order = scores.sort(dim=1, descending=True)
        value = worth[some].gather(1, order)
        more = (value[:, :, None] - value[:, None, :]).clamp(min=0) * gain
        return (more * torch.nn.functional.softplus(ordered[:, None, :] - ordered[:, :, None])).sum()

    loss_of(torch.arange(1)).backward()
    slope = weights.grad.tolist()

    def epoch() -> None:
        for some in torch.randperm(args.queries).split(BATCH):
            adam.zero_grad()
            (loss_of(some) / len(some)).backward()
            adam.step()

    return {"seconds": timed(args.epochs, epoch), "slope": slope, **memory()}


def timed(times: int, run) -> float:
    """The fastest of so many, after one to warm up."""
    run()
    found = []
    for _ in range(times):
        begin = time.perf_counter()
        run()
        found.append(time.perf_counter() - begin)
    return min(found)


def memory() -> dict[str, float]:
    return {"peak_gb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6}


def prepare(folder: Path) -> Path | str:
    """The Python of an environment with PyTorch, or why there is none."""
    python = folder / "torch-venv" / "bin" / "python"
    if not (folder / "torch-venv" / "ready").exists():
        try:
            venv.create(python.parents[1], with_pip=True, clear=True)
            install = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", TORCH, "numpy"]
            subprocess.run(install, check=True, capture_output=True, text=True, timeout=1800)
        except (subprocess.SubprocessError, OSError) as error:
            return f"PyTorch could not be installed: {str(error).splitlines()[0]}"
        (folder / "torch-venv" / "ready").touch()
    return python


def run(python: Path | str, kind: str, arguments: list[str]) -> dict:
    """One contender, in a process of its own with one thread for all but PyTorch."""
    root = Path(__file__).parents[1]
    limits = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    if kind == "torch":
        limits.clear()
    command = [str(python), "-m", "benchmarks.lambda_loss", "--only", kind, *arguments]
    done = subprocess.run(
        command, check=True, capture_output=True, text=True, cwd=root, env={**os.environ, **limits}, timeout=3600
    )
    return json.loads(done.stdout)


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name, default in (("queries", 10_000), ("documents", 100), ("features", 136), ("epochs", 3), ("threads", 1)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--rounds", type=int, default=3, help="how often the two take turns")
    parser.add_argument("--dir", type=Path, default=Path(tempfile.gettempdir()) / "counterrank-bench")
    parser.add_argument("--only", choices=["ours", "torch"], help="run one alone and print JSON")
    return parser.parse_args()


def main() -> int:
    args = parsed()
    if args.only:
        print(json.dumps(ours(args) if args.only == "ours" else torchs(args)))
        return 0
    sizes = [f"--{name}={getattr(args, name)}" for name in ("queries", "documents", "features", "epochs", "threads")]
    args.dir.mkdir(parents=True, exist_ok=True)
    python = prepare(args.dir)
    contenders = {"ours": sys.executable, **({} if isinstance(python, str) else {"torch": python})}
    found = [{kind: run(path, kind, sizes) for kind, path in contenders.items()} for _ in range(args.rounds)]
    fastest = {kind: min(each[kind]["seconds"] for each in found) for kind in contenders}
    for kind, seconds in fastest.items():
        print(f"{kind:6} {seconds:7.3f} s an epoch, {found[0][kind]['peak_gb']:.2f} GB at most")
    if "torch" not in fastest:
        print(python)
        return 0
    print(f"ratio  {fastest['ours'] / fastest['torch']:7.3f}")
    same = np.allclose(found[0]["ours"]["slope"], found[0]["torch"]["slope"], rtol=1e-3, atol=1e-3)
    print("the slopes are the same" if same else "the slopes differ")
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
