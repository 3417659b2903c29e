"""What has gone through a service, followed event by event: by minute, by policy, and how much of it explored."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict, deque
from typing import Any

import msgspec

from counterrank.interval.betting import lower_bound
from counterrank.service.below import Below
from counterrank.service.store import Store
from counterrank.statistics.histogram import Histogram
from counterrank.statistics.terms import Units

MINUTES = 60
WINDOW = 10_000  # pages by which exploration is told
STEP = 2_000  # events read at a time: nobody who asks meanwhile waits long
REMEMBERED = 200_000  # pages whose policy is remembered, for feedback that comes later
_SHOWN = (
    "SELECT sequence, impression, at, policy, explored, cluster, item_propensities FROM impressions "
    "WHERE sequence > ? AND sequence <= ? AND counted AND NOT deferred ORDER BY sequence"
)
_GIVEN = "SELECT shown, at, fresh FROM feedback WHERE sequence > ? AND sequence <= ? ORDER BY sequence"

_decode = msgspec.json.Decoder(list[int]).decode


class Traffic:
    """Counts since the service was first asked for them; of a long log only the end is gone through."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.since: int | None = None
        self.policies: dict[str, list[int]] = {}  # policy → pages, pages with a click
        self.impressions = self.feedback = self.clicks = 0
        self._minutes: OrderedDict[int, list[int]] = OrderedDict()
        self._window: deque[bool] = deque(maxlen=WINDOW)
        self.below = Below()
        self._open: OrderedDict[int, tuple[str, str | None, bytes]] = OrderedDict()  # pages without a click so far
        self._clusters: OrderedDict[str, None] = OrderedDict()
        self._busy = threading.Lock()

    def catch_up(self) -> None:
        """Read the events since the last time. It blocks: call it in a thread."""
        with self._busy:
            last = self.store.last()
            if self.since is None:
                self.since = max(0, last - REMEMBERED)
            while self.since < last:
                until = min(self.since + STEP, last)
                self._read(self.since, until)
                self.since = until

    def _read(self, since: int, until: int) -> None:
        database = self.store.database
        with database.reading() as connection:
            cursor = database.cursor(connection)
            shown = database.rows(cursor, _SHOWN, (since, until))
            given = database.rows(cursor, _GIVEN, (since, until))
        for sequence, impression, at, policy, explored, cluster, propensities in shown:
            self.impressions += 1
            self._minute(at)[0] += 1
            self.policies.setdefault(policy, [0, 0])[0] += 1
            self._window.append(bool(explored))
            first = cluster is None or cluster not in self._clusters
            if first:
                self.below.shown()
            if cluster is not None:
                self._clusters[cluster] = None
            self._open[sequence] = (policy, impression if first else None, bytes(propensities))
        for sequence, at, fresh in given:
            self.feedback += 1
            positions = _decode(fresh)
            self.clicks += len(positions)
            page = self._open.pop(sequence, None) if positions else None
            if page is not None:
                self.policies[page[0]][1] += 1
                self._minute(at)[1] += 1
                if page[1] is not None:
                    self.below.clicked(page[1], page[2], positions)
        for held in (self._open, self._clusters):
            while len(held) > REMEMBERED:
                held.popitem(last=False)

    def _minute(self, at: float) -> list[int]:
        minute = int(at // 60)
        found = self._minutes.setdefault(minute, [0, 0])
        while len(self._minutes) > MINUTES:
            self._minutes.popitem(last=False)
        return found

    def summary(self) -> dict[str, Any]:
        """Totals, and the last hour by minute."""
        now = int(time.time() // 60)
        rows = [
            {"at": m * 60, "impressions": self._minutes.get(m, [0, 0])[0], "clicked": self._minutes.get(m, [0, 0])[1]}
            for m in range(now - MINUTES + 1, now + 1)
        ]
        recent = self._minutes.get(now - 1, [0, 0])[0] + self._minutes.get(now, [0, 0])[0]
        seconds = 60 + time.time() % 60 if now - 1 in self._minutes else max(time.time() % 60, 1.0)
        return {
            "impressions": self.impressions, "feedback": self.feedback, "clicks": self.clicks,
            "per_second": recent / seconds, "minutes": rows,
        }  # fmt: skip

    def exploration(self) -> dict[str, Any]:
        """How many of the last pages were not the base page."""
        explored, pages = sum(self._window), len(self._window)
        return {"share": explored / pages if pages else None, "explored": explored, "impressions": pages}


def rate(shown: int, clicked: int, confidence: float) -> tuple[float | None, float | None]:
    """Bounds on the share of pages with a click, however often they are looked at.

    >>> lower, upper = rate(1000, 500, 0.95)
    >>> round(lower, 3), round(upper, 3)
    (0.445, 0.555)
    """
    if not shown:
        return None, None
    delta = (1 - confidence) / 2
    ends = []
    for hits in (clicked, shown - clicked):
        values, counts = zip(*((v, c) for v, c in ((0.0, shown - hits), (1.0, hits)) if c), strict=True)
        ends.append(lower_bound(Units.of(Histogram.of(list(values), list(counts))), 0.0, delta))
    return ends[0], 1.0 - ends[1]
