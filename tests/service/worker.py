"""Processes that show pages, get feedback and fold, as fast as they can, until they are killed.

Each line on stdin (store, seed, seconds, file) forks one, whose number is printed. It says in its file what it is about
to write and what was acknowledged: a line of JSON each.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import sys
import threading
import time
import traceback

from msgspec.structs import asdict

from counterrank.service.events import Away, Given, Shown
from counterrank.service.store import Store
from service.service_worlds import given, shown

CALLERS = 12


def say(**what: object) -> None:
    os.write(1, json.dumps(what).encode() + b"\n")


async def patiently(store: Store, operation: Shown | Given) -> None:
    """Say, write, say; while the store is away, try again with the same request or event."""
    name = operation.impression if isinstance(operation, Shown) else operation.event
    say(kind=type(operation).__name__, name=name, **{"value": asdict(operation)})
    while True:
        try:
            await (store.show(operation) if isinstance(operation, Shown) else store.give(operation))
        except Away as error:
            say(away=str(error))
            await asyncio.sleep(0.05)
            continue
        except Exception as error:
            if type(error).__name__ != "Replay":
                raise
        say(ack=name)
        return


async def caller(store: Store, draw: random.Random, until: float) -> None:
    while time.time() < until:
        items = draw.sample([f"i{i}" for i in range(9)], draw.randint(1, 5))
        name = f"{draw.getrandbits(64):x}"
        page = shown(
            f"q{draw.randrange(4)}", items, request=f"r{name}", digest="d", answer=b"x",
            deferred=draw.random() < 0.2, counted=draw.random() < 0.9, impression=name,
        )  # fmt: skip
        page = Shown(**{**asdict(page), "answer": None})  # bytes are no JSON
        await patiently(store, page)
        for _ in range(draw.randrange(3)):
            clicks = [draw.choice(items) for _ in range(draw.randrange(3))]
            await patiently(store, given(name, *clicks, event=f"e{draw.getrandbits(64):x}"))


async def main(url: str, seed: str, seconds: float) -> None:
    store = Store.open(url)
    stop = threading.Event()

    def fold() -> None:
        while not stop.wait(0.02):
            try:
                store.fold()
            except Away:
                continue

    folding = threading.Thread(target=fold)
    folding.start()
    say(ready=True)
    until = time.time() + seconds
    try:
        await asyncio.gather(*(caller(store, random.Random(f"{seed} {i}"), until) for i in range(CALLERS)))
    finally:
        stop.set()
        folding.join()
    store.close()


def begin(url: str, seed: str, seconds: str, path: str) -> None:
    """The life of one of these processes."""
    os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), 1)
    try:
        asyncio.run(main(url, seed, float(seconds)))
        say(ended="well")
    except BaseException:
        say(ended=traceback.format_exc())
    finally:
        os._exit(0)


if __name__ == "__main__":
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for them
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            begin(*line.rstrip("\n").split("\t"))
        print(child, flush=True)
