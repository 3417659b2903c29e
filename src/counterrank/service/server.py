"""The supervisor of a service: it opens the socket, and keeps workers running and the store in order."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field, replace
from typing import Any

from counterrank.errors import InputError
from counterrank.service.bodies import Refused
from counterrank.service.database import parse
from counterrank.service.events import Away
from counterrank.service.metrics import Metrics
from counterrank.service.policies import Policies
from counterrank.service.secret import read_secret, secret_path
from counterrank.service.settings import Settings
from counterrank.service.shared import Shared, shared_path
from counterrank.service.store import Store
from counterrank.service.tokens import read_tokens
from counterrank.service.upkeep import Upkeep
from counterrank.service.worker import GRACE, Job

log = logging.getLogger("counterrank.service")
AGAIN = 1.0  # seconds before a worker that ended early is started anew


@dataclass
class Child:
    """A worker process."""

    number: int
    process: subprocess.Popen[str]
    started: float = field(default_factory=time.monotonic)


class Server:
    """A running service. `start` opens all and returns once workers answer; `run` keeps them; `stop` ends them."""

    def __init__(self, settings: Settings, *, verbose: bool = True) -> None:
        settings.check_host()
        read_tokens(settings.tokens)
        _check_policy(settings)
        self.settings, self.verbose = settings, verbose
        self.store = Store.open(settings.store)
        path = parse(settings.store)
        sqlite = path.database if path.get_backend_name() == "sqlite" else None
        self.shared = Shared(shared_path(settings.store, sqlite), worker=settings.workers)
        self.shared.reset(self.store.setting().epoch)
        self.secret = read_secret(
            settings.secret, secret_path(self.store.database.url.render_as_string(hide_password=False), sqlite)
        )
        self.metrics = Metrics(self.shared)
        self.children: list[Child] = []
        self.stopping = threading.Event()
        self.upkeep = Upkeep(settings, self.store, self.metrics, self.stopping)
        self.socket = _listening(settings.host, settings.port)
        self.port = int(self.socket.getsockname()[1])

    @property
    def url(self) -> str:
        host = f"[{self.settings.host}]" if ":" in self.settings.host else self.settings.host
        return f"http://{host}:{self.port}"

    def start(self) -> None:
        """Start the workers, and wait until each of them answers."""
        self.children = [self._spawn(number) for number in range(self.settings.workers)]
        for child in self.children:
            self._await(child)

    def _spawn(self, number: int) -> Child:
        """A worker, which signals to the supervisor's group do not reach.

        It is of the same session: of two sessions Linux gives each its share of the cores, whatever the priorities.
        """
        job = Job(
            replace(self.settings), self.secret.hex(), str(self.shared.path), number, self.socket.fileno(), self.verbose
        )
        environment = {**os.environ, "NUMBA_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        process = subprocess.Popen(
            [sys.executable, "-m", "counterrank.service.worker"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            text=True, pass_fds=(self.socket.fileno(),), env=environment, process_group=0,
        )  # fmt: skip
        assert process.stdin is not None  # noqa: S101
        with contextlib.suppress(BrokenPipeError):
            process.stdin.write(job.to_json() + "\n")
            process.stdin.flush()
        return Child(number, process)

    def _await(self, child: Child) -> None:
        assert child.process.stdout is not None  # noqa: S101
        line = child.process.stdout.readline()
        if not line:
            self.stop()
            raise InputError("a worker of the service ended before it was ready: see what it said above")

    def run(self) -> None:
        """Keep workers running and the store in order, until `stopping` is set."""
        self.upkeep.start()
        while not self.stopping.wait(0.1):
            self._replace()

    def _replace(self) -> None:
        """Start a worker anew in the place of one that ended."""
        for i, child in enumerate(self.children):
            code = child.process.poll()
            if code is None or time.monotonic() - child.started < AGAIN:
                continue
            log.warning("worker ended", extra={"fields": {"worker": child.number, "code": code}})
            _close(child.process)
            self.children[i] = self._spawn(child.number)

    def stop(self) -> None:
        """Let workers end what they have begun, then end."""
        self.stopping.set()
        self.socket.close()
        for child in self.children:
            with contextlib.suppress(ProcessLookupError):
                child.process.send_signal(signal.SIGTERM)
        for child in self.children:
            try:
                child.process.wait(GRACE + 5)
            except subprocess.TimeoutExpired:
                child.process.kill()
                child.process.wait()
            _close(child.process)
        self.upkeep.end()
        with contextlib.suppress(Away):
            self.store.fold()
        self.store.close()


def _close(process: subprocess.Popen[str]) -> None:
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            with contextlib.suppress(OSError):
                stream.close()


def _listening(host: str, port: int) -> socket.socket:
    """The socket that all workers accept from: what waits in it survives any of them."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    made = socket.socket(family, socket.SOCK_STREAM)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind((host, port))
        made.listen(2048)
    except OSError as error:
        made.close()
        raise InputError(
            f"{host}:{port} cannot be listened on ({error.strerror}): give another `host` or `port`"
        ) from None
    made.set_inheritable(True)
    return made


def run_service(settings: Settings, *, verbose: bool = True, on_ready: Any = None) -> None:
    """Serve until SIGINT or SIGTERM."""
    server = Server(settings, verbose=verbose)
    for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(each, lambda number, frame: server.stopping.set())
    try:
        server.start()
        print(json.dumps({"serving": server.url, "store": _hidden(settings.store)}), file=sys.stderr, flush=True)
        after = on_ready(server) if on_ready is not None else None
        try:
            server.run()
        finally:
            if after is not None:
                after()
    finally:
        server.stop()


def _check_policy(settings: Settings) -> None:
    """A policy that no worker could serve is refused before anything begins."""
    if settings.policies is not None and not os.path.isdir(settings.policies):
        raise InputError(f"`policies` is {settings.policies}: there is no such folder")
    try:
        Policies(settings.policies).find(settings.policy)
    except Refused as error:
        raise InputError(f"`policy` cannot be served: {error}") from None


def _hidden(store: str) -> str:
    return parse(store).render_as_string(hide_password=True).replace("+psycopg", "").replace("+pysqlite", "")
