"""What a policy would be worth, before it serves: `compare` on the service's own log, in a process of its own."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from counterrank.errors import InputError
from counterrank.service.bodies import Refused
from counterrank.service.received import Received

if TYPE_CHECKING:
    from counterrank.service.service import Service

PAGES = "the policy is judged by the page that it would show now, of all items that the service knows of a query"
SECONDS = 60.0  # as long as a dry run may take
QUERIES = 20_000  # whose ranking is asked of a policy at most
TOGETHER = 20  # queries that are ranked before others get their turn
_NOBODY = {"value": None, "lower": None, "upper": None}


async def dry_run(service: Service, name: str) -> bytes:
    """`compare`'s JSON: this policy against what was served, on the log so far. One at a time in a worker."""
    async with service.judging:
        job: dict[str, Any] = {"store": service.settings.store, "name": name}
        if name != "logging":
            job["rankings"] = await rankings(service, name)
        return await _judged(job)


async def rankings(service: Service, name: str) -> dict[str, list[str]]:
    """The base page of each query that is known, of the items that are known of it; other requests go on meanwhile."""
    found: dict[str, list[str]] = {}
    for number, query in enumerate(list(service.state.queries)[:QUERIES]):
        page = service.base_page(query, name)
        if page:
            found[query] = page
        if number % TOGETHER == TOGETHER - 1:
            await asyncio.sleep(0)
    return found


async def _judged(job: dict[str, Any]) -> bytes:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "counterrank.service.dry_run",
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL,
    )  # fmt: skip
    try:
        found, _ = await asyncio.wait_for(process.communicate(json.dumps(job).encode()), SECONDS)
    except TimeoutError:
        message = f"the dry run took longer than {SECONDS:g} s: export the log, and compare there"
        raise Refused(422, "too_long", message) from None
    finally:
        if process.returncode is None:  # too long, or nobody waits for it any more
            process.kill()
            await process.wait()
    if not found:
        raise Refused(
            422, "cannot_be_judged", "the dry run ended without an answer: export the log, and compare", "name"
        )
    return found


def judge(job: dict[str, Any]) -> str:
    """The comparison that a job asks for, as JSON; where there is nothing to compare by, one that cannot tell."""
    from counterrank.comparing.compare import compare
    from counterrank.service.store import Store

    received = Received() if "rankings" not in job else None
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log.parquet"
        with Store.open(job["store"], create=False) as store:
            done = store.export(path, change=received)
        target = received.policy if received is not None else job["rankings"]
        notes = received.notes if received is not None else [PAGES]
        try:
            if not done.impressions:
                raise InputError("nothing was shown yet that counts")
            if not target:
                raise InputError("there is no query of the log that it is known for how this policy would rank it")
            found = compare(str(path), target)
        except InputError as error:
            return json.dumps(untold(str(error), notes))
        return replace(found, notes=[*notes, *found.notes]).to_json()


def untold(why: str, notes: list[str]) -> dict[str, Any]:
    """`compare`'s fields where there is nothing to compare by."""
    from counterrank.comparing.comparison import FIELDS

    trust: dict[str, Any] = {"level": "do not trust", "reason": why, "estimator": None, "findings": []}
    return {
        **dict.fromkeys(FIELDS), "rows": 0, "rejected": 0, "unit": "clicks an impression", "metric": "clicks",
        "confidence": 0.95, "verdict": "undecided", "needed_reason": why, "covered": 0.0, "impressions": 0,
        "queries": 0, "positions": 0, "unsupported": {"target": None, "baseline": None},
        "separate": {"target": _NOBODY, "baseline": _NOBODY}, "warnings": [], "way": None, "trust": trust,
        "notes": [f"cannot tell: {why}", *notes],
    }  # fmt: skip


def main() -> None:
    """Read a job from stdin, print its answer."""
    os.environ.setdefault("NUMBA_NUM_THREADS", "1")
    print(judge(json.load(sys.stdin)))


if __name__ == "__main__":
    main()
