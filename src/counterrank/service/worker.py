"""One worker process: it serves a socket that its supervisor opened, and ends when that does."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import json
import logging
import os
import signal
import socket
import sys
import threading
from collections.abc import AsyncIterator
from dataclasses import asdict, dataclass
from typing import Any

import uvicorn

from counterrank.errors import InputError
from counterrank.service.apart import Apart
from counterrank.service.app import application
from counterrank.service.lines import Line
from counterrank.service.logs import set_up
from counterrank.service.routes import ROUTES
from counterrank.service.service import Service
from counterrank.service.settings import Settings
from counterrank.service.shared import Shared
from counterrank.service.store import Store
from counterrank.service.tokens import read_tokens

log = logging.getLogger("counterrank.service")
SWITCH = 0.0002  # seconds after which the thread that writes gets its turn, however busy the others are
COLLECT = (20_000, 50, 50)  # answers have no cycles: to look for some rarely is enough
GRACE = 10  # seconds that requests have to end


@dataclass(frozen=True)
class Job:
    """What a supervisor tells a worker, on its stdin: secrets are in no argument list."""

    settings: Settings
    secret: str
    shared: str
    number: int
    socket: int
    verbose: bool

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def of_json(cls, text: str) -> Job:
        given = json.loads(text)
        return cls(**(given | {"settings": Settings(**given["settings"])}))


def made(job: Job, writer: Apart | None = None) -> tuple[Service, Any]:
    """The service of a worker and its application. `writer`: the process that writes for it, else a thread does."""
    store = Store.open(job.settings.store, queue=job.settings.queue, writer=writer)
    service = Service(job.settings, store, Shared(job.shared, job.number), bytes.fromhex(job.secret))
    if not service.policies.knows(job.settings.policy):
        service.policies.find(job.settings.policy)
    return service, application(service, read_tokens(job.settings.tokens), ROUTES)


@contextlib.asynccontextmanager
async def running(service: Service) -> AsyncIterator[None]:
    """A service that has its evidence and follows the others; at the end all that waits is written."""
    await service.begin()
    task = asyncio.create_task(service.watch())
    try:
        yield
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
        await asyncio.to_thread(service.store.close)


async def serve(job: Job, writer: Apart | None) -> None:
    """Serve until a signal comes, or the supervisor or the process that writes has gone."""
    sys.setswitchinterval(SWITCH)
    service, app = made(job, writer)
    sock = socket.socket(fileno=job.socket)
    sock.setblocking(False)
    config = uvicorn.Config(
        app, lifespan="off", access_log=False, log_config=None, timeout_graceful_shutdown=GRACE, server_header=False,
        date_header=False, backlog=2048, timeout_keep_alive=75, h11_max_incomplete_event_size=65536, ws="none",
        http=Line, proxy_headers=False,
    )  # fmt: skip
    server = uvicorn.Server(config)
    loop = asyncio.get_running_loop()

    def stop() -> None:
        server.should_exit = True

    def lost() -> None:
        log.error("the process that writes has ended")
        stop()

    if writer is not None:
        writer.on_end = lost

    def orphaned() -> None:
        sys.stdin.read()
        loop.call_soon_threadsafe(stop)

    threading.Thread(target=orphaned, daemon=True).start()
    server.capture_signals = contextlib.nullcontext  # type: ignore[method-assign,assignment]
    for each in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(each, stop)
    async with running(service):
        gc.collect()
        gc.freeze()  # what is there now stays: it need not be looked through again
        gc.set_threshold(*COLLECT)
        log.info("ready", extra={"fields": {"worker": job.number, "as_of": service.state.as_of}})
        print(json.dumps({"ready": job.number}), flush=True)
        await server.serve([sock])


def main() -> None:
    """The process that a supervisor starts."""
    job = Job.of_json(sys.stdin.readline())
    set_up(job.verbose)
    writer = Apart(job.settings.store, queue=job.settings.queue, close=(job.socket,)) if hasattr(os, "fork") else None
    try:
        import uvloop

        runner = asyncio.Runner(loop_factory=uvloop.new_event_loop)
    except ImportError:
        runner = asyncio.Runner()
    code = 0
    try:
        with runner:
            runner.run(serve(job, writer))
    except InputError as error:
        log.error("worker", extra={"fields": {"error": str(error)}})
        code = 2
    sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    main()
