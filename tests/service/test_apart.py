"""The process that writes for a worker, and how the two speak."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from counterrank.service import told
from counterrank.service.batch import Outcome
from counterrank.service.claims import Board
from counterrank.service.events import (
    Away,
    Change,
    Conflict,
    NotOnPage,
    Outdated,
    Page,
    PolicySetting,
    Receipt,
    Replay,
    Superseded,
    UnknownImpression,
    Unstorable,
)
from service.service_worlds import given, shown

CHANGE = Change(5, "q", ("a",), (1,), (0,), (1,))


def test_operations_and_outcomes_come_over_as_they_are() -> None:
    page = shown(user_key="u", request="r", digest="d", answer=b"\0x", kept="k", epoch=3)
    click = given(page.impression, "a", reward=0.5)
    [content] = told.Messages().take(told.asked([page, click]))
    assert told.operations_of(content) == [page, click]
    for error in (
        Replay(b"x"), Conflict("e"), Superseded(Page(("a",), 0.5, (0.25,))), Outdated(PolicySetting("p", 1.0, 0.0, 7)),
        UnknownImpression("i"), NotOnPage("z"), Unstorable("why"), Away("gone"),
    ):  # fmt: skip
        outcomes = [Outcome(4), Outcome(Receipt(False, True, 1, 5), None, CHANGE), Outcome(error=error)]
        [content] = told.Messages().take(told.answered(outcomes, [(4, 5)], 1))
        reply = told.reply_of(content)
        assert (reply.ranges, reply.claimed) == ([(4, 5)], 1)
        found = [told.outcome_of(each, out) for each, out in zip([page, click, page], reply.outcomes, strict=True)]
        assert found[0].result == 4
        assert found[0].change is not None
        assert found[0].change.items == page.items
        assert (found[1].result, found[1].change) == (outcomes[1].result, CHANGE)
        assert type(found[2].error) is type(error)
        assert vars(found[2].error) == vars(error)
        assert str(found[2].error) == str(error)


def test_messages_are_cut_wherever_they_break() -> None:
    whole = b"".join(told.asked([given("i", event=str(n))]) for n in range(3))
    for size in (1, 3, 7, len(whole)):
        messages = told.Messages()
        parts = [whole[i : i + size] for i in range(0, len(whole), size)]
        found = [each for part in parts for content in messages.take(part) for each in told.operations_of(content)]
        assert [each.event for each in found] == ["0", "1", "2"]


SCRIPT = """
import asyncio, os, signal, sys
from counterrank.service.apart import Apart
from counterrank.service.events import Away
from counterrank.service.store import Store
from service.service_worlds import given, shown

async def main(store, writer):
    told, ended = [], []
    store.listen(told.extend)
    writer.on_end = lambda: ended.append(True)
    pages = [shown(items=("a", "b")) for _ in range(40)]
    assert sorted(await asyncio.gather(*map(store.show, pages))) == list(range(1, 41))
    receipts = await asyncio.gather(*(store.give(given(page.impression, "a")) for page in pages))
    assert sorted(receipt.sequence for receipt, _ in receipts) == list(range(41, 81))
    assert [change.sequence for change in told] == list(range(1, 81))
    assert await asyncio.to_thread(store.others, 0) == (80, [])  # all of it is ours
    with Store.open(sys.argv[1]) as other:
        await other.show(shown())
        assert [change.sequence for change in (await asyncio.to_thread(store.others, 80))[1]] == [81]
    assert (await asyncio.gather(store.give(given("none")), return_exceptions=True))[0].args == ("none",)
    if sys.argv[2] == "kill":
        os.kill(writer.process, signal.SIGSTOP)
        waiting = asyncio.ensure_future(store.show(shown()))
        await asyncio.sleep(0.05)
        os.kill(writer.process, signal.SIGKILL)
        for work in (waiting, store.show(shown())):
            try:
                raise SystemExit(f"written: {await work}")
            except Away:
                pass
        assert ended
    assert (await asyncio.to_thread(store.verify)).differences == 0
    await asyncio.to_thread(store.close)
    assert bool(ended) == (sys.argv[2] == "kill")

writer = Apart(sys.argv[1])
asyncio.run(main(Store.open(sys.argv[1], writer=writer), writer))
print("well")
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="a process is forked")
@pytest.mark.parametrize("how", ["close", "kill"])
def test_a_process_writes_and_its_end_is_noticed(tmp_path: Path, how: str) -> None:
    words = [sys.executable, "-c", SCRIPT, f"sqlite:///{tmp_path}/s.db", how]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}
    done = subprocess.run(words, capture_output=True, text=True, env=environment, timeout=120)
    assert (done.returncode, done.stdout) == (0, "well\n"), done.stderr


def test_a_writer_does_not_wait_for_a_worker_that_has_gone() -> None:
    board = Board()
    for number in range(Board.ROOM):
        board.claim(number, number)
    board._worker = -1  # as after a kill: whoever waits here holds the lock of all writers
    with pytest.raises(Away, match="ended"):
        board.claim(Board.ROOM, Board.ROOM)
    board.told(1)
    board.claim(Board.ROOM, Board.ROOM)
