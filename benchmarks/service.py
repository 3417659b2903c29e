"""How fast a worker answers /rank, beside an endpoint of the same framework that only validates the same body.

    python benchmarks/service.py [--seconds 5] [--store sqlite:///…] [--features-in-body]

Both run in processes of their own; the client is a third, with 32 connections. The service fsyncs each impression
before it answers; 100 items have 136 features. Then, at half of the rate, latencies while feedback arrives at the
same rate. On a machine whose cores are busy, or whose disk takes long to sync, figures are those of the machine.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from typing import Any

CONNECTIONS, ITEMS, FEATURES = 32, 100, 136
VALIDATES = """
from litestar import Litestar, post
from counterrank.service.bodies import RankBody

@post("/rank", status_code=200)
async def rank(data: RankBody) -> dict[str, int]:
    return {"candidates": len(data.items)}

app = Litestar([rank], openapi_config=None, logging_config=None)
"""


class Line:
    """One connection that is kept."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.reader: Any = None
        self.writer: Any = None

    async def post(self, path: str, body: bytes) -> bytes:
        if self.writer is None:
            self.reader, self.writer = await asyncio.open_connection("127.0.0.1", self.port)
        self.writer.write(
            b"POST %b HTTP/1.1\r\nhost: x\r\ncontent-length: %d\r\n\r\n%b" % (path.encode(), len(body), body)
        )
        head = await self.reader.readuntil(b"\r\n\r\n")
        size = int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0])
        content: bytes = await self.reader.readexactly(size)
        assert head.startswith(b"HTTP/1.1 200"), head + content
        return content


async def saturated(port: int, body: bytes, seconds: float) -> float:
    """Answers a second with all connections busy."""
    count, end = 0, time.perf_counter() + seconds

    async def one() -> None:
        nonlocal count
        line = Line(port)
        while time.perf_counter() < end:
            await line.post("/rank", body)
            count += 1

    await asyncio.gather(*(one() for _ in range(CONNECTIONS)))
    return count / seconds


async def paced(port: int, body: bytes, rate: float, seconds: float) -> list[float]:
    """Latencies of /rank at a rate, each followed by feedback."""
    taken, lines = [], [Line(port) for _ in range(CONNECTIONS)]
    free: asyncio.Queue[Line] = asyncio.Queue()
    for line in lines:
        free.put_nowait(line)

    async def one(number: int) -> None:
        begun = time.perf_counter()
        line = await free.get()
        found = json.loads(await line.post("/rank", body))
        taken.append(time.perf_counter() - begun)
        given = {
            "impression": found["impression"],
            "event": f"b{port}-{number}",
            "clicks": [found["ranking"][0]["item"]],
        }
        await line.post("/feedback", json.dumps(given).encode())
        free.put_nowait(line)

    begun, tasks = time.perf_counter(), []
    for number in range(int(rate * seconds)):
        await asyncio.sleep(max(0.0, begun + number / rate - time.perf_counter()))
        tasks.append(asyncio.create_task(one(number)))
    await asyncio.gather(*tasks)
    return sorted(taken)


def started(words: list[str], folder: str, says: str) -> tuple[subprocess.Popen[str], int]:
    """A server, once it says where it is."""
    process = subprocess.Popen([sys.executable, *words], cwd=folder, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    for line in process.stderr:
        if says in line:
            return process, int(
                line.rpartition(":")[2].split(" ")[0].strip('",}\n ')
            ) if "serving" not in line else int(json.loads(line)["serving"].rpartition(":")[2])
    raise SystemExit("a server did not start")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--store")
    parser.add_argument("--features-in-body", action="store_true")
    given = parser.parse_args()
    rng = random.Random(0)
    features = [{f"f{j}": rng.random() for j in range(FEATURES)} for _ in range(ITEMS)]
    items = [{"id": f"item-{i}", "features": each} for i, each in enumerate(features)]
    body = json.dumps({"query": "q", "items": items if given.features_in_body else [e["id"] for e in items]}).encode()
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "validates.py"), "w", encoding="utf-8") as file:
            file.write(VALIDATES)
        words = ["-m", "counterrank", "serve", "--port", "0", "--retrain-every", "0"]
        ours, port = started([*words, *(["--store", given.store] if given.store else [])], folder, '"serving"')
        words = ["-m", "uvicorn", "--port", "8199", "--no-access-log", "validates:app"]
        theirs, other = started(words, folder, "running on")[0], 8199
        try:
            asyncio.run(_put(port, items))
            run(given.seconds, given.rounds, body, port, other)
        finally:
            for process in (ours, theirs):
                process.terminate()
                process.wait(30)


async def _put(port: int, items: list[Any]) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    body = json.dumps({"items": items}).encode()
    writer.write(b"PUT /items HTTP/1.1\r\nhost: x\r\ncontent-length: %d\r\n\r\n%b" % (len(body), body))
    assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 200")
    writer.close()


def run(seconds: float, rounds: int, body: bytes, port: int, other: int) -> None:
    """Print rates side by side, and latencies at half of the rate."""
    asyncio.run(saturated(port, body, 1.0))
    best = 0.0
    for _ in range(rounds):
        mine, plain = (asyncio.run(saturated(each, body, seconds)) for each in (port, other))
        best = max(best, mine)
        print(f"rank {mine:8.0f}/s   validates only {plain:8.0f}/s   {mine / plain:6.1%}", flush=True)
    taken = asyncio.run(paced(port, body, best / 2, seconds))
    at = {share: taken[int(share * (len(taken) - 1))] * 1000 for share in (0.5, 0.9, 0.99)}
    print(f"at half of that, with feedback: median {at[0.5]:.1f} ms, p90 {at[0.9]:.1f} ms, p99 {at[0.99]:.1f} ms")


if __name__ == "__main__":
    main()
