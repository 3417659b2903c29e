"""How fast a worker answers /rank, beside an endpoint of the same framework that only validates the same body.

    python benchmarks/service.py [--seconds 5] [--folder DIR] [--store URL] [--workers 1] [--features-in-body]

Both run in processes of their own; the client is a third, with 32 connections (load.c, where there is a compiler, else
Python). The service fsyncs each impression before it answers; 100 items have 136 features. Then latencies at half of
the rate, while feedback arrives at the same rate, beside those of the other endpoint for as many requests. On a machine
whose cores are busy or taken away, or whose disk takes long to sync, figures are those of the machine: how long its
disk takes, how late a process that does nothing but sleep is woken, and what share of the cores a host took away is
measured in the same run; `--folder /dev/shm` leaves the disk out. `--by-second 60 --rate 1500` tells the seconds in
which a host took cores away from those in which it did not.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from typing import Any

try:
    import uvloop
except ImportError:
    uvloop = None

CONNECTIONS, ITEMS, FEATURES = 32, 100, 136
VALIDATES = """
from litestar import Litestar, post
from counterrank.service.bodies import RankBody

@post("/rank", status_code=200)
async def rank(data: RankBody) -> dict[str, int]:
    return {"candidates": len(data.items)}

app = Litestar([rank], openapi_config=None, logging_config=None)
"""


class Line(asyncio.Protocol):
    """One connection that is kept: a request at a time, with as little work as can be, beside the service's."""

    def __init__(self) -> None:
        self.found, self.size = bytearray(), -1
        self.done: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()

    @classmethod
    async def open(cls, port: int) -> Line:
        return (await asyncio.get_running_loop().create_connection(cls, "127.0.0.1", port))[1]

    def connection_made(self, transport: Any) -> None:
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self.found += data
        if self.size < 0 and (end := self.found.find(b"\r\n\r\n")) >= 0:
            head = bytes(self.found[:end]).lower() + b"\r\n"
            assert head.startswith(b"http/1.1 200"), self.found
            self.size = end + 4 + int(head.split(b"content-length:")[1].split(b"\r\n")[0])
        if len(self.found) == self.size:
            self.done.set_result(bytes(self.found))
            self.found, self.size = bytearray(), -1

    async def post(self, path: str, body: bytes) -> bytes:
        self.done = asyncio.get_running_loop().create_future()
        self.transport.write(
            b"POST %b HTTP/1.1\r\nhost: x\r\ncontent-length: %d\r\n\r\n%b" % (path.encode(), len(body), body)
        )
        return (await self.done).partition(b"\r\n\r\n")[2]


async def saturated(port: int, body: bytes, seconds: float) -> float:
    """Answers a second with all connections busy."""
    count, end = 0, time.perf_counter() + seconds

    async def one() -> None:
        nonlocal count
        line = await Line.open(port)
        while time.perf_counter() < end:
            await line.post("/rank", body)
            count += 1

    await asyncio.gather(*(one() for _ in range(CONNECTIONS)))
    return count / seconds


async def paced(port: int, body: bytes, rate: float, seconds: float, name: str = "b") -> list[float]:
    """Latencies of /rank at a rate, from the moment at which each was due; each is followed by feedback on lines of its
    own."""
    taken = []
    free: asyncio.Queue[Line] = asyncio.Queue()
    others: asyncio.Queue[Line] = asyncio.Queue()
    for _ in range(CONNECTIONS):
        free.put_nowait(await Line.open(port))
        others.put_nowait(await Line.open(port))

    async def one(number: int, due: float) -> None:
        line = await free.get()
        found = await line.post("/rank", body)
        taken.append(time.perf_counter() - due)
        free.put_nowait(line)
        impression, item = (found.split(name, 1)[1].split(b'"', 1)[0] for name in (b'"impression":"', b'"item":"'))
        given = b'{"impression": "%b", "event": "%b-%d", "clicks": ["%b"]}' % (
            impression, name.encode(), number, item,
        )  # fmt: skip
        other = await others.get()
        await other.post("/feedback", given)
        others.put_nowait(other)

    begun, tasks = time.perf_counter(), []
    for number in range(int(rate * seconds)):
        due = begun + number / rate
        if (wait := due - time.perf_counter()) > 0:
            await asyncio.sleep(wait)
        tasks.append(asyncio.create_task(one(number, due)))
    await asyncio.gather(*tasks)
    return sorted(taken)


def run_loop(work: Any) -> Any:
    """A coroutine's result, by uvloop where it is there."""
    with asyncio.Runner(loop_factory=uvloop.new_event_loop if uvloop else None) as runner:
        return runner.run(work)


def synced(folder: str, times: int = 200) -> str:
    """How long the disk takes to have 32 KB for certain."""
    taken = []
    with open(os.path.join(folder, "synced"), "wb") as file:
        for _ in range(times):
            file.write(bytes(32_768))
            file.flush()
            begun = time.perf_counter()
            os.fdatasync(file.fileno())
            taken.append(1000 * (time.perf_counter() - begun))
    taken.sort()
    return f"the disk alone, fdatasync of 32 KB: median {taken[times // 2]:.2f} ms, p99 {taken[-(times // 100)]:.2f} ms"


def woken(times: int = 1000) -> str:
    """How late the machine wakes a process that sleeps for a millisecond."""
    late = []
    for _ in range(times):
        due = time.perf_counter() + 0.001
        time.sleep(0.001)
        late.append(1000 * (time.perf_counter() - due))
    late.sort()
    return f"a sleeper alone is woken late by: median {late[times // 2]:.2f} ms, p99 {late[-(times // 100)]:.2f} ms"


SPIN = "import time; end = time.perf_counter() + 1.0; n = 0\nwhile time.perf_counter() < end: n += 1\nprint(n)"


def two_cores() -> str:
    """How much more two busy processes do than one: less than twice as much where a host has no two cores to give."""

    def done(number: int) -> int:
        words = [sys.executable, "-c", SPIN]
        busy = [subprocess.Popen(words, stdout=subprocess.PIPE, text=True) for _ in range(number)]
        return sum(int(each.communicate()[0]) for each in busy)

    return f"two busy processes do {done(2) / done(1):.2f} times the work of one"


def started(words: list[str], folder: str, says: str) -> tuple[subprocess.Popen[str], int]:
    """A server, once it says where it is. It runs elsewhere: what is imported from here is found by its whole path."""
    paths = [os.path.abspath(each) for each in os.environ.get("PYTHONPATH", "").split(os.pathsep) if each]
    here = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    process = subprocess.Popen([sys.executable, *words], cwd=folder, stderr=subprocess.PIPE, text=True, env=here)
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
    parser.add_argument("--folder", help="where the store lies, and all else")
    parser.add_argument("--workers", default="1")
    parser.add_argument("--features-in-body", action="store_true")
    parser.add_argument("--soak", type=float, help="instead: pages and feedback for so many seconds, and memory")
    parser.add_argument("--by-second", type=int, help="instead: latencies of so many single seconds at a rate")
    parser.add_argument("--rate", type=float, default=300.0, help="pages a second of a soak, or of single seconds")
    given = parser.parse_args()
    rng = random.Random(0)
    features = [{f"f{j}": rng.random() for j in range(FEATURES)} for _ in range(ITEMS)]
    items = [{"id": f"item-{i}", "features": each} for i, each in enumerate(features)]
    body = json.dumps({"query": "q", "items": items if given.features_in_body else [e["id"] for e in items]}).encode()
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        print(synced(folder), woken(), two_cores(), sep="\n", flush=True)
        with open(os.path.join(folder, "validates.py"), "w", encoding="utf-8") as file:
            file.write(VALIDATES)
        words = ["-m", "counterrank", "serve", "--port", "0", "--retrain-every", "0", "--workers", given.workers]
        ours, port = started([*words, *(["--store", given.store] if given.store else [])], folder, '"serving"')
        words = ["-m", "uvicorn", "--port", "0", "--no-access-log", "validates:app"]
        theirs, other = started(words, folder, "running on")
        if hasattr(os, "sched_getscheduler") and os.sched_getscheduler(0) == os.SCHED_FIFO:
            for thread in os.listdir(f"/proc/{ours.pid}/task"):  # what the supervisor does can wait for the others
                os.sched_setscheduler(int(thread), os.SCHED_OTHER, os.sched_param(0))
        try:
            run_loop(_put(port, items))
            if given.soak:
                soak(Load(folder), given.soak, given.rate, body, port, ours.pid)
                return
            if given.by_second:
                by_second(Load(folder), given.rate, given.by_second, body, port)
                return
            run(Load(folder), given.seconds, given.rounds, body, port, other)
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


def soak(load: Load, seconds: float, rate: float, body: bytes, port: int, process: int) -> None:
    """Print what memory each process has, twenty times."""
    for turn in range(20):
        found = load.latencies(port, body, rate, seconds / 20, f"s{turn}")
        held = ", ".join(f"{name} {megabytes:.0f}" for name, megabytes in memory(process))
        print(f"{(turn + 1) * seconds / 20:6.0f} s   MB: {held}   median {share(found, 0.5):.1f} ms", flush=True)


def memory(process: int) -> list[tuple[str, float]]:
    """Memory of the supervisor, of its workers, and of the processes that write for them."""
    found = [("supervisor", process)]
    for name, parents in (("worker", 1), ("writer", 2)):
        above = [number for each, number in found if each == ("supervisor", "worker")[parents - 1]]
        for number in above:
            with open(f"/proc/{number}/task/{number}/children", encoding="utf-8") as file:
                found += [(name, int(each)) for each in file.read().split()]
    held = []
    for name, number in found:
        with open(f"/proc/{number}/status", encoding="utf-8") as file:
            held.append((name, next(int(line.split()[1]) / 1024 for line in file if line.startswith("VmRSS"))))
    return held


class Load:
    """Who asks: a program of C's, where it can be compiled, else this one."""

    def __init__(self, folder: str) -> None:
        self.program = None
        if (compiler := shutil.which("cc")) is not None and sys.platform == "linux":
            self.program = os.path.join(folder, "load")
            source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "load.c")
            subprocess.run([compiler, "-O2", "-D_GNU_SOURCE", "-o", self.program, source], check=True)

    def rate(self, port: int, body: bytes, seconds: float) -> float:
        """Answers a second with all connections busy."""
        if self.program is None:
            return float(run_loop(saturated(port, body, seconds)))
        return float(self._ran(port, 0.0, seconds, "-", body)["rate"])

    def latencies(self, port: int, body: bytes, rate: float, seconds: float, name: str) -> list[float]:
        """Milliseconds of each page at a rate, in order, with as much feedback; with the name "-" there is none."""
        if self.program is not None:
            return list(self._ran(port, rate, seconds, name, body)["taken"])
        return [1000 * each for each in run_loop(paced(port, body, rate, seconds, name))]

    def _ran(self, port: int, rate: float, seconds: float, name: str, body: bytes) -> dict[str, Any]:
        words = [str(self.program), str(port), str(rate), str(seconds), str(CONNECTIONS), name]
        done = subprocess.run(words, input=body, stdout=subprocess.PIPE, check=True)
        found: dict[str, Any] = json.loads(done.stdout)
        return found


def taken_away() -> tuple[int, int]:
    """Ticks of all cores that a host took for others, and all ticks; nothing where that is not told."""
    try:
        with open("/proc/stat", encoding="utf-8") as file:
            ticks = [int(each) for each in file.readline().split()[1:9]]
    except OSError:
        return 0, 1
    return ticks[7], sum(ticks)


def run(load: Load, seconds: float, rounds: int, body: bytes, port: int, other: int) -> None:
    """Print rates side by side, and latencies at half of the rate."""
    load.rate(port, body, 1.0)
    best = least = 0.0
    for _ in range(rounds):
        mine, plain = (load.rate(each, body, seconds) for each in (port, other))
        best, least = max(best, mine), max(least, 0.6 * plain)
        print(f"rank {mine:8.0f}/s   validates only {plain:8.0f}/s   {mine / plain:6.1%}", flush=True)
    for name, rate in (("half of the best", best / 2), ("half of 60 % of the other's", least / 2)):
        for _ in range(rounds):
            found, lost = watched(load, port, body, rate, seconds)
            print(
                f"{rate:.0f} pages a second ({name}) and as much feedback: {told(found)}; "
                f"taken away by the host: {lost:.1%}",
                flush=True,
            )
    found = load.latencies(other, body, 2 * least / 2, seconds, "-")
    print(f"validates only, {least:.0f} a second: {told(found)}", flush=True)


def by_second(load: Load, rate: float, seconds: int, body: bytes, port: int) -> None:
    """Print latencies of all seconds, and of those in which the host left the cores alone."""
    load.latencies(port, body, rate, 2.0, "warm")
    rounds = [watched(load, port, body, rate, 1.0) for _ in range(seconds)]
    for name, most in (("all", 1.0), ("at most 2 %", 0.02), ("at most 0.5 %", 0.005), ("nothing", 0.0)):
        found = sorted(each for pages, lost in rounds if lost <= most for each in pages)
        number = sum(lost <= most for _, lost in rounds)
        said = told(found) if found else "-"
        print(
            f"{rate:.0f} pages a second and as much feedback, taken away: {name}: {number} seconds: {said}", flush=True
        )


def watched(load: Load, port: int, body: bytes, rate: float, seconds: float) -> tuple[list[float], float]:
    """Latencies, and the share of the cores that a host took away meanwhile."""
    before = taken_away()
    found = load.latencies(port, body, rate, seconds, os.urandom(4).hex())
    after = taken_away()
    return found, (after[0] - before[0]) / max(after[1] - before[1], 1)


def told(found: list[float]) -> str:
    """Of latencies in order."""
    names = {"median": 0.5, "p90": 0.9, "p99": 0.99}
    return ", ".join(f"{name} {share(found, at):.1f} ms" for name, at in names.items())


def share(found: list[float], at: float) -> float:
    """A quantile of numbers in order."""
    return found[int(at * (len(found) - 1))]


if __name__ == "__main__":
    main()
