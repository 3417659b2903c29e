"""A service as it runs: the command in a process of its own, with its workers."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

WORKER = "service.worker"


class Served:
    def __init__(self, process: subprocess.Popen[str], port: int) -> None:
        self.process, self.port = process, port

    def call(
        self, method: str, path: str, body: Any = None, line: http.client.HTTPConnection | None = None
    ) -> tuple[int, Any]:
        line = line or self.line()
        line.request(method, path, None if body is None else json.dumps(body))
        reply = line.getresponse()
        content = reply.read()
        return reply.status, json.loads(content)

    def text(self, path: str) -> str:
        line = self.line()
        line.request("GET", path)
        return line.getresponse().read().decode()

    def line(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=90)

    def workers(self) -> list[int]:
        return [number for number, parent, command in processes() if parent == self.process.pid and WORKER in command]

    def writers(self) -> list[int]:
        """The processes that write for the workers."""
        workers = self.workers()
        return [number for number, parent, command in processes() if parent in workers and WORKER in command]

    def kill_one(self, rng: random.Random) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(rng.choice([*self.workers(), *self.writers()]), signal.SIGKILL)


def processes() -> Iterator[tuple[int, int, str]]:
    """Number, parent and command of each process that runs."""
    for each in Path("/proc").iterdir():
        if each.name.isdigit():
            try:
                status = (each / "stat").read_bytes().rpartition(b")")[2].decode().split()
                command = (each / "cmdline").read_bytes().decode(errors="replace")  # of whatever else runs here
            except OSError:
                continue
            if status[0] != "Z":
                yield int(each.name), int(status[1]), command


@contextmanager
def command(folder: Path, *options: str, store: str | None = None) -> Iterator[Served]:
    """`counterrank serve` on a free port, until the block ends."""
    words = [
        "serve",
        "--port",
        "0",
        "--retrain-every",
        "0",
        "--store",
        store or f"sqlite:///{folder}/store.db",
        *options,
    ]
    process = subprocess.Popen(
        [sys.executable, "-m", "counterrank", *words], stderr=subprocess.PIPE, text=True, cwd=folder
    )
    try:
        assert process.stderr is not None
        port = 0
        for line in process.stderr:
            if '"serving"' in line:
                port = int(json.loads(line)["serving"].rpartition(":")[2])
                break
        assert port, f"ended with {process.wait(60)}"
        yield Served(process, port)
    finally:
        process.send_signal(signal.SIGTERM)
        code = process.wait(120)
        assert process.stderr is not None
        said = process.stderr.read()
        process.stderr.close()
        assert code == 0, said[-3000:]


def until(true: Any, seconds: float = 90.0) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it did not come true"
        time.sleep(0.05)
