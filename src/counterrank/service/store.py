"""The store of a ranking service: what it acknowledges is on disk, once, and evidence from then on."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from counterrank.service import fold, setting
from counterrank.service.batch import page_of
from counterrank.service.database import Database
from counterrank.service.events import Change, Evidence, Given, Page, PolicySetting, Receipt, Shown
from counterrank.service.follow import changes, check_there, number
from counterrank.service.writer import BATCH, QUEUE, Writer


class Store:
    """Events in the order in which they were committed, and the evidence that they add up to.

    `show` and `give` belong to an event loop and share a transaction with all that waits at that moment. Everything
    else blocks: call it in a thread.
    """

    def __init__(self, database: Database, *, queue: int = QUEUE, batch: int = BATCH) -> None:
        self.database = database
        self._size = {"queue": queue, "batch": batch}
        self._writer: Writer | None = None
        self._listener: Callable[[Sequence[Change]], None] | None = None

    @classmethod
    def open(cls, url: str, *, create: bool = True, queue: int = QUEUE) -> Store:
        """The store at sqlite:///PATH or postgresql://…, brought to today's schema. `create`: make a file anew."""
        return cls(Database(url, create=create), queue=queue)

    @property
    def writer(self) -> Writer:
        """The thread that writes, started when it is first needed."""
        if self._writer is None:
            self._writer = Writer(self.database, **self._size)
            self._writer.listener = self._listener
        return self._writer

    def listen(self, listener: Callable[[Sequence[Change]], None]) -> None:
        """Have each batch's changes handed to this function, in the event loop, before callers are answered."""
        self._listener = listener
        self.writer.listener = listener

    async def show(self, shown: Shown) -> int:
        """Store an impression; its sequence, once it is on disk."""
        outcome = await self.writer.write(shown)
        if outcome.error is not None:
            raise outcome.error
        return int(outcome.result)

    async def give(self, given: Given) -> tuple[Receipt, Change | None]:
        """Store a feedback; its receipt, and what it changed, once it is on disk."""
        outcome = await self.writer.write(given)
        if outcome.error is not None:
            raise outcome.error
        return outcome.result, outcome.change

    def kept(self, key: str, epoch: int) -> Page | None:
        """The page that is kept under this key, if it was made under this setting or a later one."""
        text = (
            "SELECT items, propensity, item_propensities FROM kept "
            "JOIN impressions ON impressions.sequence = kept.shown WHERE key = ? AND kept.epoch >= ?"
        )
        with self.database.reading() as connection:
            row = connection.exec_driver_sql(self.database.statement(text), (key, epoch)).first()
        return None if row is None else page_of(*row)

    def replay(self, request: str) -> tuple[str, bytes] | None:
        """The digest and the answer of a request that was answered before."""
        text = self.database.statement("SELECT digest, answer FROM requests WHERE request = ?")
        with self.database.reading() as connection:
            row = connection.exec_driver_sql(text, (request,)).first()
        return None if row is None else (row[0], bytes(row[1]))

    def load(self) -> Evidence:
        """The evidence as it is folded; what came later is to be followed from its `as_of` on."""
        with self.database.reading() as connection:
            folded, generation = number(connection, "folded_to", "generation")
            rows = connection.exec_driver_sql("SELECT query, item, position, shown, clicked FROM evidence").fetchall()
        query, item, position, shown, clicked = zip(*rows, strict=True) if rows else ((),) * 5
        return Evidence(
            folded,
            generation,
            list(query),
            list(item),
            np.array(position, dtype=np.int32),
            np.array(shown, dtype=np.int64),
            np.array(clicked, dtype=np.int64),
        )

    def last(self) -> int:
        """The sequence of the last event."""
        with self.database.reading() as connection:
            return number(connection, "sequence")[0]

    def follow(self, since: int, limit: int = 10_000, generation: int | None = None) -> list[Change]:
        """What the next `limit` events after `since` changed, in order; Reload where they are not all there."""
        with self.database.reading() as connection:
            last = check_there(connection, since, generation)
            return changes(self.database, connection, since, min(last, since + limit))

    def others(self, since: int, limit: int = 10_000, generation: int | None = None) -> tuple[int, list[Change]]:
        """What other workers' events after `since` changed, and up to which event this and `listen` tell all."""
        with self.database.reading() as connection:
            until = min(check_there(connection, since, generation), since + limit)
            claims, answered = self.writer.claims()
            found, begin = [], since
            for first, last in claims:
                if first > until:
                    break
                if last > answered:  # ours, and not told yet
                    until = first - 1
                    break
                if first - 1 > begin:
                    found += changes(self.database, connection, begin, first - 1)
                begin = max(begin, last)
            if until > begin:
                found += changes(self.database, connection, begin, until)
        reached = max(until, begin)
        self.writer.done_with(reached)
        return reached, found

    def setting(self) -> PolicySetting:
        """The policy setting as it stands."""
        with self.database.reading() as connection:
            return setting.current(connection)

    def put_setting(self, changed: PolicySetting) -> PolicySetting:
        """The next policy setting, with its epoch."""
        return setting.put(self.database, changed)

    def fold(self) -> int:
        """Bring the evidence up to the last event; its sequence."""
        return fold.advance(self.database)

    def close(self) -> None:
        """Write what waits, and let go of the database."""
        if self._writer is not None:
            self._writer.close()
        self.database.close()
