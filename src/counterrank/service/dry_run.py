"""What a policy would be worth, before it serves: `compare` on the service's own log, in a process of its own."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from counterrank.errors import InputError
from counterrank.service.bodies import Refused
from counterrank.service.policies import Directory

if TYPE_CHECKING:
    from counterrank.service.service import Service

SECONDS = 60.0  # as long as a dry run may take
QUERIES = 20_000  # whose ranking is asked of the posterior at most


async def dry_run(service: Service, name: str) -> bytes:
    """`compare`'s JSON: this policy against what was served, on the log so far."""
    ranks = service.policies.get(name)
    job: dict[str, Any] = {"store": service.settings.store, "k": service.settings.k}
    if isinstance(ranks, Directory):
        job["directory"] = str(Path(service.settings.policies or "") / name)
    elif name == "logging":
        raise Refused(422, "cannot_be_judged", "the order as received is not in the log: it cannot be judged", "name")
    else:
        job["rankings"] = service.rankings(name, QUERIES)
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "counterrank.service.dry_run",
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL,
    )  # fmt: skip
    try:
        found, _ = await asyncio.wait_for(process.communicate(json.dumps(job).encode()), SECONDS)
    except TimeoutError:
        process.kill()
        await process.wait()
        message = f"the dry run took longer than {SECONDS:g} s: export the log, and compare there"
        raise Refused(422, "too_long", message) from None
    answer = json.loads(found) if found else {"error": "it ended without an answer"}
    if "error" in answer:
        raise Refused(422, "cannot_be_judged", answer["error"], "name")
    return found


def judge(job: dict[str, Any]) -> str:
    """The comparison that a job asks for, as JSON."""
    from counterrank.comparing.compare import compare
    from counterrank.policy import read_policy
    from counterrank.service.store import Store

    store = Store.open(job["store"], create=False)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log.parquet"
        try:
            store.export(path)
        finally:
            store.close()
        target = read_policy(job.get("directory") or job["rankings"])
        return compare(str(path), target).to_json()


def main() -> None:
    """Read a job from stdin, print its answer."""
    os.environ.setdefault("NUMBA_NUM_THREADS", "1")
    try:
        print(judge(json.load(sys.stdin)))
    except InputError as error:
        print(json.dumps({"error": str(error)}))


if __name__ == "__main__":
    main()
