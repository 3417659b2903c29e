"""The position-based model by CLAX (in JAX) and by ours, on the same log: `python -m benchmarks.clax 1e6`.

CLAX runs in a virtual environment of its own, which this command makes; it is no dependency. Both fit the first four
fifths of a log and are judged on the rest by log-likelihood per position. CLAX is given its batches ready-made, and
only its own training counts; ours begins with the name of a Parquet file. They take turns, and the fastest counts.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
import venv
from pathlib import Path

from benchmarks.make_log import default_folder

NEEDS = ["clax-models==0.1.1", "jax==0.7.2", "jaxlib==0.7.2", "pyarrow"]
BATCH, RATE = 4096, 0.02


def prepare(folder: Path) -> Path:
    """The environment's Python."""
    python = folder / "clax-venv" / "bin" / "python"
    if not (folder / "clax-venv" / "ready").exists():
        venv.create(python.parents[1], with_pip=True, clear=True)
        install = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *NEEDS]
        subprocess.run(install, check=True, capture_output=True, text=True, timeout=1800)
        (folder / "clax-venv" / "ready").touch()
    return python


def halves(folder: Path, size: int) -> tuple[Path, Path]:
    """The log's first four fifths, and the rest."""
    import pyarrow.parquet as pq

    from benchmarks.run import make_log

    paths = folder / f"clax-train-{size}.parquet", folder / f"clax-test-{size}.parquet"
    if not paths[1].exists():
        table, cut = pq.read_table(make_log(folder, size, "int", 0).log), size * 4 // 5
        for path, part in zip(paths, (table.slice(0, cut), table.slice(cut)), strict=True):
            pq.write_table(part, path, row_group_size=122_880)
    return paths


def ours(train: str, test: str) -> dict[str, float]:
    import counterrank as cr

    start = time.perf_counter()
    found = cr.clicks(train, test=test, models="pbm").to_dict()["models"][0]
    return {"seconds": time.perf_counter() - start, "log_likelihood": found["log_likelihood"]}


def theirs(train: str, test: str, epochs: int) -> dict[str, float]:
    """Run by the environment's Python."""
    import numpy as np
    import optax
    import pyarrow.parquet as pq
    from clax import PositionBasedModel, Trainer  # type: ignore[import-not-found]
    from flax import nnx  # type: ignore[import-not-found]

    def read(path: str) -> tuple:
        rows = pq.read_table(path, columns=["query", "items", "clicks"])
        queries = rows["query"].to_numpy()
        items = rows["items"].combine_chunks().values.to_numpy().reshape(len(queries), -1)
        clicks = rows["clicks"].combine_chunks().values.to_numpy().reshape(items.shape)
        return queries, items, clicks

    logs = [read(path) for path in (train, test)]
    most = 1 + max(int(items.max()) for _, items, _ in logs)
    keys = [(queries[:, None] * most + items).ravel() for queries, items, _ in logs]
    _, codes = np.unique(np.concatenate(keys), return_inverse=True)
    pairs = int(codes.max()) + 1

    def batches(number: int) -> list[dict]:
        _, items, clicks = logs[number]
        mine = (codes[: len(keys[0])] if number == 0 else codes[len(keys[0]) :]).reshape(items.shape)
        places = np.broadcast_to(np.arange(1, items.shape[1] + 1), items.shape)
        ends = range(0, len(items) - BATCH + 1, BATCH)  # of one size, so that nothing is compiled twice
        return [
            {
                "positions": places[at : at + BATCH].astype(np.int32), "mask": np.ones((BATCH, items.shape[1]), bool),
                "query_doc_ids": mine[at : at + BATCH].astype(np.int32),
                "clicks": clicks[at : at + BATCH].astype(np.float32),
            }
            for at in ends
        ]  # fmt: skip

    data, held = batches(0), batches(1)
    model = PositionBasedModel(positions=logs[0][1].shape[1], query_doc_pairs=pairs, rngs=nnx.Rngs(0))
    trainer = Trainer(optimizer=optax.adam(RATE), epochs=epochs)
    start = time.perf_counter()
    told = trainer.train(model, data, held)
    seconds = time.perf_counter() - start
    [column] = [name for name in told.columns if name.endswith("val_ll") or name == "val_log_likelihood"]
    return {"seconds": seconds, "log_likelihood": float(told[column].max()), "epochs": len(told)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("impressions", type=lambda text: int(float(text)))
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--dir", type=Path, default=default_folder())
    given = parser.parse_args()
    given.dir.mkdir(parents=True, exist_ok=True)
    python, (train, test) = prepare(given.dir), halves(given.dir, given.impressions)
    call = "import json, sys; from benchmarks.clax import {0}; print(); print(json.dumps({0}(*sys.argv[1:3]{1})))"
    commands = {
        "counterrank": [sys.executable, "-c", call.format("ours", "")],
        "CLAX": [str(python), "-c", call.format("theirs", f", {given.epochs}")],
    }
    best: dict[str, dict[str, float]] = {}
    for _ in range(given.turns):
        for name, words in commands.items():
            environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}
            if name == "counterrank":
                environment["PYTHONPATH"] += f"{os.pathsep}{Path(__file__).parents[1] / 'src'}"
            done = subprocess.run(
                [*words, str(train), str(test)], env=environment, check=True, stdout=subprocess.PIPE, text=True
            )
            found = json.loads(done.stdout.splitlines()[-1])
            print(f"{name}: {found}", flush=True)
            if name not in best or found["seconds"] < best[name]["seconds"]:
                best[name] = found
    print(f"CLAX by ours: {best['CLAX']['seconds'] / best['counterrank']['seconds']:.1f}")


if __name__ == "__main__":
    main()
