"""Pages on their way: made under a policy setting, and not answered yet. A kill switch waits for those of before it."""

from __future__ import annotations

import asyncio
import time

from counterrank.service.shared import Shared

PATIENCE = 2.0  # seconds that a change of the policy waits for pages on their way, at most


class Flight:
    """A block in which a page is made. One made with `contextlib` costs several times as much."""

    __slots__ = ("_epoch", "_flights")

    def __init__(self, flights: Flights, epoch: int) -> None:
        self._flights, self._epoch = flights, epoch

    def __enter__(self) -> None:
        self._flights.begin(self._epoch)

    def __exit__(self, *error: object) -> None:
        asyncio.get_running_loop().call_soon(self._flights.land, self._epoch)


class Flights:
    """Pages of one worker that are on their way, counted by the number of their setting; all workers see the oldest.

    A page that was written before a change of the policy counts as shown, so it has to be answered, and before the
    change is; one that comes later is refused by the store, and made anew.
    """

    def __init__(self, shared: Shared) -> None:
        self.shared = shared
        self._pages: dict[int, int] = {}

    def flight(self, epoch: int) -> Flight:
        """What is made in this block is on its way until the event loop's next turn: by then it is answered."""
        return Flight(self, epoch)

    def begin(self, epoch: int) -> None:
        self._pages[epoch] = self._pages.get(epoch, 0) + 1
        if self._pages[epoch] == 1:
            self.shared.fly(min(self._pages))

    def land(self, epoch: int) -> None:
        left = self._pages[epoch] - 1
        if left:
            self._pages[epoch] = left
        else:
            del self._pages[epoch]
            self.shared.fly(min(self._pages, default=None))

    async def settle(self, epoch: int) -> None:
        """Wait until no worker of the machine has a page of an earlier setting on its way, but not for ever."""
        end = time.monotonic() + PATIENCE
        while self.shared.in_flight(epoch) and time.monotonic() < end:
            await asyncio.sleep(0.002)
        self.shared.raise_answered(epoch)
