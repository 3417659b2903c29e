"""A made-up click log of any size as one Parquet file, with two target policies: `python -m benchmarks.make_log 1e6`.

1,000 queries × 50 items, 10 positions. Half of the impressions show one of 200 fixed rankings of their query, a few
much more often than the rest, so that rankings repeat; the others are fresh Plackett–Luce draws. Users click by the
position-based model, on about one shown item in ten. The same seed gives the same log, with integer or text ids.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

QUERIES, ITEMS, POSITIONS, RANKINGS = 1_000, 50, 10, 200
ROW_GROUP = 122_880
CLICK_RATE = 0.1
VERSION = 1  # of what the files hold: cached files of another version are not used


def default_folder() -> Path:
    return Path(tempfile.gettempdir()) / "counterrank-benchmarks"


@dataclass(frozen=True)
class Files:
    """Where a log of this size, kind of ids and seed is kept, with the policies to evaluate on it."""

    folder: Path
    impressions: int
    ids: str = "int"
    seed: int = 0

    @property
    def log(self) -> Path:
        return self.folder / f"log-{self.impressions}-{self._tail}"

    @property
    def table(self) -> Path:
        """One ranking per query; every other one is among the rankings that the log repeats."""
        return self.folder / f"table-{self._tail}"

    @property
    def scores(self) -> Path:
        """A score for each item of each query."""
        return self.folder / f"scores-{self._tail}"

    @property
    def _tail(self) -> str:
        return f"{self.ids}-seed{self.seed}-v{VERSION}.parquet"


class World:
    """What the logging policy prefers, what users like, and what the target shows."""

    def __init__(self, seed: int) -> None:
        rng = np.random.default_rng([seed, 0])
        self.scores = rng.normal(size=(QUERIES, ITEMS)).astype(np.float32)
        self.rankings = np.stack([draw(rng, self.scores) for _ in range(RANKINGS)], axis=1)
        popularity = 1 / np.arange(1, RANKINGS + 1)
        self.popularity = np.cumsum(popularity / popularity.sum())
        liked = 1 / (1 + np.exp(-self.scores - rng.normal(size=self.scores.shape)))
        self.examination = (1 / np.arange(1, POSITIONS + 1)).astype(np.float32) ** 0.5
        rate = (liked[np.arange(QUERIES)[:, None, None], self.rankings] * self.examination).mean()
        self.attraction = (liked * CLICK_RATE / rate).astype(np.float32)
        self.new_scores = self.scores + rng.normal(size=self.scores.shape).astype(np.float32)
        best = np.argsort(-self.new_scores, axis=1)[:, :POSITIONS]
        logged = np.arange(QUERIES) % 2 == 0
        self.target = np.where(logged[:, None], self.rankings[:, 1], best)

    def impressions(self, rng: np.random.Generator, size: int) -> tuple[NDArray, NDArray, NDArray]:
        """Queries (n,), items shown (n, K) as 0 … ITEMS-1 of the query, and clicks (n, K)."""
        queries = rng.integers(0, QUERIES, size)
        repeated = rng.random(size) < 0.5
        shown = np.empty((size, POSITIONS), dtype=np.int64)
        which = np.searchsorted(self.popularity, rng.random(int(repeated.sum()))).clip(max=RANKINGS - 1)
        shown[repeated] = self.rankings[queries[repeated], which]
        shown[~repeated] = draw(rng, self.scores[queries[~repeated]])
        chance = self.attraction[queries[:, None], shown] * self.examination
        return queries, shown, (rng.random(shown.shape, dtype=np.float32) < chance).astype(np.int8)


def draw(rng: np.random.Generator, scores: NDArray[np.float32]) -> NDArray[np.int64]:
    """A Plackett–Luce ranking per row, as a race: the first K of exponential arrival times of rate exp(score)."""
    times = rng.standard_exponential(scores.shape, dtype=np.float32) * np.exp(-scores)
    first = np.argpartition(times, POSITIONS, axis=1)[:, :POSITIONS]
    order = np.argsort(np.take_along_axis(times, first, axis=1), axis=1)
    return np.take_along_axis(first, order, axis=1)


class Names:
    """Ids as the file holds them: integers, or texts of realistic length."""

    def __init__(self, kind: str) -> None:
        self.queries = pa.array(range(QUERIES), pa.int64())
        self.items = pa.array(range(QUERIES * ITEMS), pa.int64())
        if kind == "str":
            self.queries = pa.array([f"query-{q:04d}" for q in range(QUERIES)])
            self.items = pa.array([f"item-{i:06d}" for i in range(QUERIES * ITEMS)])

    def lists(self, queries: NDArray, shown: NDArray) -> pa.Array:
        return lists(self.items.take(pa.array((queries[:, None] * ITEMS + shown).ravel())), shown.shape)


def lists(values: pa.Array, shape: tuple[int, ...]) -> pa.Array:
    return pa.ListArray.from_arrays(pa.array(np.arange(0, shape[0] * shape[1] + 1, shape[1], dtype=np.int32)), values)


def make(files: Files) -> Files:
    """Write what is not there yet, a row group at a time."""
    files.folder.mkdir(parents=True, exist_ok=True)
    if files.log.exists() and files.table.exists() and files.scores.exists():
        return files
    world, names = World(files.seed), Names(files.ids)
    everything = np.arange(QUERIES)
    table = pa.table({"query": names.queries, "items": names.lists(everything, world.target)})
    _write(files.table, [table])
    of_query = names.queries.take(pa.array(np.repeat(everything, ITEMS)))
    scores = pa.array(world.new_scores.ravel().astype(np.float64))
    _write(files.scores, [pa.table({"query": of_query, "item": names.items, "score": scores})])
    _write(files.log, _row_groups(world, names, files))
    return files


def _row_groups(world: World, names: Names, files: Files):
    for number, start in enumerate(range(0, files.impressions, ROW_GROUP)):
        rng = np.random.default_rng([files.seed, 1, number])
        queries, shown, clicks = world.impressions(rng, min(ROW_GROUP, files.impressions - start))
        yield pa.table(
            {
                "query": names.queries.take(pa.array(queries)),
                "items": names.lists(queries, shown),
                "clicks": lists(pa.array(clicks.ravel()), clicks.shape),
            }
        )


def _write(path: Path, tables) -> None:
    """Complete or not at all: another run may look for the file meanwhile."""
    partial = path.with_suffix(f".{os.getpid()}.partial")
    writer = None
    for table in tables:
        writer = writer or pq.ParquetWriter(partial, table.schema)
        writer.write_table(table, row_group_size=ROW_GROUP)
    assert writer is not None, "a log has at least one impression"
    writer.close()
    partial.replace(path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("impressions", type=lambda text: int(float(text)))
    parser.add_argument("--ids", choices=("int", "str"), default="int")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--dir", type=Path, default=default_folder())
    given = parser.parse_args()
    files = make(Files(given.dir, given.impressions, given.ids, given.seed))
    print(files.log, files.table, files.scores, sep="\n")


if __name__ == "__main__":
    main()
