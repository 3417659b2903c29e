"""What was acknowledged is there, once, whenever a process is killed; what was not can be sent again."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from counterrank.service.events import Given, Replay, Shown
from counterrank.service.store import Store
from service.conftest import control, postgres_url
from service.service_worlds import evidence, plain_fold, written

TESTS = Path(__file__).parents[1]


class Worker:
    """A process of `worker.py`, and what it said by now."""

    def __init__(self, forks: Forks, url: str, seed: str, seconds: float = 600.0) -> None:
        self.path = forks.folder / f"{seed}.jsonl"
        self.path.touch()
        self.number = forks.begin(url, seed, str(seconds), str(self.path))
        self.tried: dict[str, Shown | Given] = {}
        self.acknowledged: set[str] = set()
        self.away = 0
        self.ended = ""

    def says(self, what: bytes) -> None:
        """Wait for a word."""
        until = time.monotonic() + 120
        while what not in self.path.read_bytes():
            assert time.monotonic() < until, self.path.read_bytes()[-2000:]
            time.sleep(0.02)

    def kill(self) -> None:
        os.kill(self.number, signal.SIGKILL)
        while True:  # until it is gone
            try:
                os.kill(self.number, 0)
            except ProcessLookupError:
                break
            time.sleep(0.005)
        self.read()

    def read(self) -> None:
        for line in self.path.read_bytes().splitlines():
            said = json.loads(line)
            if "ack" in said:
                self.acknowledged.add(said["ack"])
            elif "away" in said:
                self.away += 1
            elif "ended" in said:
                self.ended = said["ended"]
            elif "kind" in said:
                values = {k: tuple(v) if isinstance(v, list) else v for k, v in said["value"].items()}
                self.tried[said["name"]] = Shown(**values) if said["kind"] == "Shown" else Given(**values)


class Forks:
    """A `worker.py`, which begins processes in no time."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.process = subprocess.Popen(
            [sys.executable, str(TESTS / "service" / "worker.py")],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": str(TESTS)},
        )  # fmt: skip

    def begin(self, *words: str) -> int:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write("\t".join(words) + "\n")
        self.process.stdin.flush()
        return int(self.process.stdout.readline())


@pytest.fixture
def forks(tmp_path: Path) -> Iterator[Forks]:
    made = Forks(tmp_path)
    yield made
    made.process.kill()
    made.process.wait()


def check(store: Store, workers: list[Worker]) -> int:
    """All that was acknowledged is there as it was sent; after the rest was sent again, each counts once."""
    tried = {name: operation for worker in workers for name, operation in worker.tried.items()}
    acknowledged = set().union(*(worker.acknowledged for worker in workers))
    there = stored(store)
    for name in acknowledged:
        assert there[name] == content(tried[name])
    assert store.verify().differences == 0
    rest = [operation for name, operation in tried.items() if name not in acknowledged]
    again = sorted(rest, key=lambda operation: isinstance(operation, Given))
    for operation, result in zip(again, written(store, *again), strict=True):
        known = operation.impression if isinstance(operation, Shown) else operation.event
        if isinstance(operation, Shown):
            assert isinstance(result, Replay if known in there else int)
        else:
            assert result[0].duplicate == (known in there)
    assert stored(store).keys() == tried.keys()
    shows = [operation for operation in tried.values() if isinstance(operation, Shown)]
    gives = [operation for operation in tried.values() if isinstance(operation, Given)]
    assert evidence(store) == plain_fold(shows, gives)
    verified = store.verify()
    assert (verified.impressions, verified.feedback, verified.differences) == (len(shows), len(gives), 0)
    return len(acknowledged)


def content(operation: Shown | Given) -> Any:
    if isinstance(operation, Shown):
        return operation.query, list(operation.items), operation.deferred, operation.counted
    return operation.impression, operation.digest


def stored(store: Store) -> dict[str, Any]:
    """Events by name, as the tables have them; none has a name twice."""
    with store.database.reading() as connection:
        run = connection.exec_driver_sql
        pages = run("SELECT impression, query, items, deferred, counted FROM impressions").fetchall()
        replies = run(
            "SELECT event, impression, digest FROM feedback JOIN impressions ON impressions.sequence = shown"
        ).fetchall()
        last = run("SELECT value FROM meta WHERE name = 'sequence'").scalar()
    found: dict[str, Any] = {i: (q, json.loads(items), bool(d), bool(c)) for i, q, items, d, c in pages}
    found.update({event: (impression, digest) for event, impression, digest in replies})
    assert len(found) == len(pages) + len(replies) == last
    return found


def kill_often(forks: Forks, url: str, kills: int, seed: str) -> int:
    """Two processes at a time on one store; one after the other is killed at a random moment."""
    draw = random.Random(seed)
    Store.open(url).close()
    workers = [Worker(forks, url, f"{seed} 0")]
    for number in range(1, kills + 1):
        workers.append(Worker(forks, url, f"{seed} {number}"))
        workers[-1].says(b"ack")
        time.sleep(draw.random() * 0.2)
        workers[number - 1].kill()
    workers[-1].kill()
    with Store.open(url) as store:
        return check(store, workers)


def test_a_killed_process_loses_nothing_and_counts_nothing_twice(url: str, forks: Forks) -> None:
    assert kill_often(forks, url, 5, "short") > 50


@pytest.mark.slow
@pytest.mark.parametrize("part", range(4))
def test_two_hundred_kills(url: str, forks: Forks, part: int) -> None:
    assert kill_often(forks, url, 25, f"long {part}") > 500


def test_a_postgres_that_is_restarted_is_away_and_comes_back_with_all(postgres: Any, forks: Forks) -> None:
    url = postgres_url(postgres)
    Store.open(url).close()
    workers = [Worker(forks, url, f"restart {i}", seconds=4.0) for i in range(2)]
    for worker in workers:
        worker.says(b"ack")
    for mode in ("fast", "immediate"):
        time.sleep(0.3)
        control(postgres, "restart", mode)
    for worker in workers:
        worker.says(b"ended")
        worker.read()
        assert worker.ended == "well"
        assert worker.acknowledged == worker.tried.keys()
    assert sum(worker.away for worker in workers) > 0
    with Store.open(url) as store:
        assert check(store, workers) > 50
