"""The store of a ranking service: what it acknowledges is on disk, once, and evidence from then on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from counterrank.service import catalogue, fold, priors, setting
from counterrank.service.apart import Apart
from counterrank.service.backup import backup, restore
from counterrank.service.batch import page_of
from counterrank.service.catalogue import Features
from counterrank.service.database import Database
from counterrank.service.erase import Erased, erase_item, erase_user
from counterrank.service.events import Change, Evidence, Given, Model, Page, PolicySetting, Receipt, Shown
from counterrank.service.export import Changing, Choice, Exported, export
from counterrank.service.fold import Promptly, at_once
from counterrank.service.follow import changes, check_there, number
from counterrank.service.retention import Forgotten, forget
from counterrank.service.schema import NUMBERS
from counterrank.service.verify import Verified, verify
from counterrank.service.writer import BATCH, QUEUE, Writer

if TYPE_CHECKING:
    from counterrank.engine import Engine
    from counterrank.service.imported import Imported


class Store:
    """Events in the order in which they were committed, and the evidence that they add up to.

    `show` and `give` belong to an event loop and share a transaction with all that waits at that moment. Everything
    else blocks: call it in a thread.
    """

    def __init__(
        self, database: Database, *, queue: int = QUEUE, batch: int = BATCH, writer: Apart | None = None
    ) -> None:
        self.database = database
        self._size = {"queue": queue, "batch": batch}
        self._writer: Writer | Apart | None = writer
        self._listener: Callable[[Sequence[Change]], None] | None = None

    @classmethod
    def open(cls, url: str, *, create: bool = True, queue: int = QUEUE, writer: Apart | None = None) -> Store:
        """The store at sqlite:///PATH or postgresql://…, brought to today's schema. `create`: make a file anew.

        `writer`: the process that writes to it; without one, a thread does.
        """
        return cls(Database(url, create=create), queue=queue, writer=writer)

    @property
    def writer(self) -> Writer | Apart:
        """Who writes: a process that was given, or a thread, started when it is first needed."""
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
            as_of=folded,
            generation=generation,
            query=list(query),
            item=list(item),
            position=np.array(position, dtype=np.int32),
            shown=np.array(shown, dtype=np.int64),
            clicked=np.array(clicked, dtype=np.int64),
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

    def fold(self, promptly: Promptly = at_once) -> int:
        """Bring the evidence up to the last event; its sequence. `promptly` runs each transaction."""
        return fold.advance(self.database, promptly)

    def checkpoint(self) -> None:
        """Let SQLite's log begin anew, while others write."""
        self.database.checkpoint()

    def verify(self) -> Verified:
        """Fold all events anew and compare with the evidence, pair by pair."""
        return verify(self.database)

    def put_items(self, items: Sequence[Features]) -> int:
        """Store features of (item, query or None for all); how many items they are of."""
        return catalogue.put(self.database, items)

    def item(self, item: str, query: str | None = None) -> dict[str, float] | None:
        """An item's features; those of (query, item) win."""
        return catalogue.get(self.database, item, query)

    def features_since(self, version: int) -> tuple[int, list[Features]]:
        """Features that were put after a version, and the version they lead to."""
        return catalogue.since(self.database, version)

    def models(self) -> list[Model]:
        """All versions of the prior's model, oldest first, without their files' content."""
        return priors.every(self.database)

    def model(self, version: int | None = None) -> Model | None:
        """A version with its files; None: the one that serves, if any does."""
        return priors.get(self.database, version)

    def add_model(
        self, files: dict[str, bytes], notes: dict[str, Any] | None = None, *, activate: bool = True, keep: int = 10
    ) -> Model:
        """A new version of the prior's model; beside the one that serves, the newest `keep` stay."""
        return priors.add(self.database, files, notes or {}, activate, keep)

    def activate_model(self, version: int) -> Model:
        """Let this version serve."""
        return priors.activate(self.database, version)

    def glance(self) -> dict[str, int] | None:
        """The same without a thread to wait in, where that is possible."""
        return self.database.glance()

    def mine(self, since: int, until: int) -> int | None:
        """Up to which event all after `since` are this worker's own and told; None where others' are among them."""
        reached = self.writer.mine(since, until)
        if reached is not None:
            self.writer.done_with(reached)
        return reached

    def numbers(self) -> dict[str, int]:
        """All numbers of the store at one moment, by one small read: sequence, epoch, items_version, model, …"""
        with self.database.reading() as connection:
            return dict(zip(NUMBERS, number(connection, *NUMBERS), strict=True))

    def forget(self, keep_days: float, now: float | None = None, promptly: Promptly = at_once) -> Forgotten:
        """Fold events older than this into the checkpoint. `promptly` runs each transaction."""
        return forget(self.database, keep_days, now, promptly)

    def erase(self, *, user_key: str | None = None, clusters: Sequence[str] = (), item: str | None = None) -> Erased:
        """Erase the traces of a user or of an item."""
        if item is not None:
            return erase_item(self.database, item)
        return erase_user(self.database, user_key, clusters)

    def backup(self, path: str | Path) -> int:
        """Write the store to a file while it runs; the last event in it."""
        return backup(self.database, path)

    def restore(self, path: str | Path) -> int:
        """Fill this store, which is empty, from a backup; the last event in it."""
        return restore(path, self.database)

    def export(self, path: str | Path, choice: Choice | None = None, change: Changing | None = None) -> Exported:
        """Write the log of what was shown and clicked; `change`, where given, makes another row of each, or none."""
        return export(self.database, Path(path), choice or Choice(), change)

    def import_log(self, log: Any, *, engine: str | Engine = "duckdb", again: bool = False) -> Imported:
        """Begin with the evidence of a log."""
        from counterrank.service.imported import add_evidence, count_log  # they need an engine; nothing else does

        found = count_log(log, engine=engine)
        add_evidence(self.database, found, again=again)
        return found

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Write what waits, and let go of the database."""
        if self._writer is not None:
            self._writer.close()
        self.database.close()
