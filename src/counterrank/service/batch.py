"""Many impressions and feedbacks in one transaction: each is written or refused by itself, none because of another."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec
from sqlalchemy import Connection

from counterrank.service.database import BadData, Database, Pen, listed
from counterrank.service.events import (
    Change,
    Conflict,
    Given,
    NotOnPage,
    Outdated,
    Page,
    Receipt,
    Replay,
    Shown,
    Superseded,
    UnknownImpression,
    Unstorable,
)
from counterrank.service.recent import Known, Recent
from counterrank.service.setting import current

LONGEST = 512  # characters of an id
LATE = 24 * 3600.0  # seconds after which a feedback is late
_IMPRESSION = (
    "INSERT INTO impressions (sequence, impression, at, query, items, propensity, item_propensities, policy, model, "
    "cluster, user_key, explored, deferred, counted, epoch, received) "
    "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
_FEEDBACK = (
    "INSERT INTO feedback (sequence, event, shown, clicks, fresh, opens, reward, at, late, digest) "
    "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
_REQUEST = "INSERT INTO requests (request, digest, answer, shown) VALUES (?, ?, ?, ?)"
_KEPT = (
    "INSERT INTO kept (key, epoch, shown) VALUES (?, ?, ?) "
    "ON CONFLICT (key) DO UPDATE SET epoch = excluded.epoch, shown = excluded.shown"
)
_encode, _decode = msgspec.json.Encoder().encode, msgspec.json.Decoder().decode


class Outcome(msgspec.Struct):
    """What became of one operation: a result, or the exception that its caller gets.

    `change`: of a feedback; what an impression changes, `change_of` tells.
    """

    result: Any = None
    error: Exception | None = None
    change: Change | None = None


def apply(
    database: Database,
    operations: Sequence[Shown | Given],
    claim: Callable[[int, int], None] = lambda first, last: None,
    recent: Recent | None = None,
    pen: Pen | None = None,
) -> list[Outcome]:
    """Write operations in one transaction. Outcomes are true once this returned: the commit is behind it.

    `claim` is told the first and last sequence before they are committed. `recent`, `pen`: what this writer remembers,
    and writes with.
    """
    recent = Recent() if recent is None else recent
    for careful in (False, True):
        try:
            return _applied(database, operations, claim, recent, careful=careful, pen=pen)
        except (BadData, UnicodeEncodeError, OverflowError) as error:
            if careful and len(operations) == 1:
                return [Outcome(error=Unstorable(str(error)))]
    return [
        apply(database, [operation], claim, recent, pen)[0] for operation in operations
    ]  # one is bad: each by itself


def _applied(
    database: Database,
    operations: Sequence[Shown | Given],
    claim: Callable[[int, int], None],
    recent: Recent,
    *,
    careful: bool,
    pen: Pen | None,
) -> list[Outcome]:
    try:
        with database.writing(pen) as connection:
            batch = Batch(database, connection, recent, careful)
            before = batch.sequence
            outcomes = batch.run(operations)
            if batch.sequence > before:
                claim(before + 1, batch.sequence)
    except BaseException:
        recent.clear()
        raise
    recent.end(batch.sequence)
    return outcomes


class Batch:
    """One transaction of a writer, from the last sequence on.

    `careful`: look for each event first. Otherwise one that is there already is met by its insert, which fails.
    """

    def __init__(self, database: Database, connection: Connection, recent: Recent, careful: bool) -> None:
        self.database, self.connection, self.recent, self.careful = database, connection, recent, careful
        self.cursor = database.cursor(connection)
        numbers = dict(database.rows(self.cursor, "SELECT name, value FROM meta"))
        self.sequence, self.epoch = numbers["sequence"], numbers["epoch"]
        recent.begin(numbers)

    def run(self, operations: Sequence[Shown | Given]) -> list[Outcome]:
        """Impressions first, then feedback, which may name them; outcomes in the order of operations."""
        before = self.sequence
        outcomes = [Outcome() for _ in operations]
        shows = [(o, out) for o, out in zip(operations, outcomes, strict=True) if isinstance(o, Shown)]
        gives = [(o, out) for o, out in zip(operations, outcomes, strict=True) if isinstance(o, Given)]
        if shows:
            self._show(shows)
        if gives:
            self._give(gives)
        if self.sequence > before:
            self._write("UPDATE meta SET value = ? WHERE name = 'sequence'", [(self.sequence,)])
        return outcomes

    def _write(self, text: str, rows: list[tuple[Any, ...]]) -> None:
        self.database.write(self.cursor, text, rows)

    def _named(self, text: str, column: str, values: Sequence[Any]) -> Sequence[Any]:
        """Rows of a table in which a column has one of these values."""
        if not values:
            return []
        where = f"{text} WHERE {self.database.among(column)}"
        return self.database.rows(self.cursor, where, listed(self.database, values))

    def _show(self, shows: list[tuple[Shown, Outcome]]) -> None:
        answered = self._answered([shown.request for shown, _ in shows if shown.request is not None])
        pages = self._pages([shown.kept for shown, _ in shows if shown.kept is not None])
        rows, requests, keys = [], [], []
        for shown, outcome in shows:
            page = json_text(shown.items)
            outcome.error = self._refused(shown, answered, pages) or _unstorable(shown, page)
            if outcome.error is not None:
                continue
            self.sequence += 1
            sequence = outcome.result = self.sequence
            rows.append(_row(sequence, shown, page))
            self.recent.put(shown.impression, _known(shown, sequence, page))
            if shown.request is not None:
                answered[shown.request] = (shown.digest or "", shown.answer or b"")
                requests.append((shown.request, *answered[shown.request], sequence))
            if shown.kept is not None and shown.kept not in pages:
                pages[shown.kept] = Page(shown.items, shown.propensity, shown.item_propensities)
                keys.append((shown.kept, shown.epoch, sequence))
        self._write(_IMPRESSION, rows)
        self._write(_REQUEST, requests)
        self._write(_KEPT, keys)

    def _refused(
        self, shown: Shown, answered: dict[str, tuple[str, bytes]], pages: dict[str, Page]
    ) -> Exception | None:
        """Why an impression is not written, if it is not."""
        if shown.request is not None and shown.request in answered:
            digest, answer = answered[shown.request]
            return Replay(answer) if digest == (shown.digest or "") else Conflict(shown.request)
        if shown.epoch < self.epoch:
            return Outdated(current(self.connection))
        if shown.kept is not None and shown.kept in pages:
            page = pages[shown.kept]
            if page != Page(shown.items, shown.propensity, shown.item_propensities):
                return Superseded(page)
        return None

    def _answered(self, names: list[str]) -> dict[str, tuple[str, bytes]]:
        found = self._named("SELECT request, digest, answer FROM requests", "request", names)
        return {request: (digest, bytes(answer)) for request, digest, answer in found}

    def _pages(self, keys: list[str]) -> dict[str, Page]:
        """Pages that are kept under these keys since the policy was last changed."""
        found = self._named(
            "SELECT key, kept.epoch, items, propensity, item_propensities "
            "FROM kept JOIN impressions ON impressions.sequence = kept.shown",
            "key",
            keys,
        )
        return {key: page_of(*page) for key, epoch, *page in found if epoch >= self.epoch}

    def _give(self, gives: list[tuple[Given, Outcome]]) -> None:
        known = self._known([given.impression for given, _ in gives])
        pages = {name: each.items for name, each in known.items()}
        asked = [given.event for given, _ in gives if self.careful or _wrong(given, pages) is not None]
        seen = self._seen(asked)
        rows = []
        for given, outcome in gives:
            if (before := seen.get(given.event)) is not None:
                digest, receipt = before
                outcome.result = receipt if digest == given.digest else None
                outcome.error = None if digest == given.digest else Conflict(given.event)
                continue
            outcome.error = _wrong(given, pages)
            if outcome.error is not None:
                continue
            self.sequence += 1
            row, change, receipt = _counted(self.sequence, given, known[given.impression], pages[given.impression])
            rows.append(row)
            outcome.change, outcome.result = change, receipt
            seen[given.event] = (given.digest, Receipt(True, receipt.late, receipt.counted, receipt.sequence))
        self._write(_FEEDBACK, rows)

    def _seen(self, events: list[str]) -> dict[str, tuple[str, Receipt]]:
        found = self._named("SELECT event, digest, late, fresh, sequence FROM feedback", "event", events)
        return {
            event: (digest, Receipt(True, bool(late), len(_decode(fresh)), sequence))
            for event, digest, late, fresh, sequence in found
        }

    def _known(self, names: list[str]) -> dict[str, Known]:
        """Impressions by name, with what was clicked on them before."""
        known = {name: found for name in names if (found := self.recent.get(name)) is not None}
        missing = [name for name in names if name not in known]
        rows = self._named(
            "SELECT impression, sequence, query, items, at, counted, deferred FROM impressions", "impression", missing
        )
        for name, sequence, query, items, at, counted, deferred in rows:
            known[name] = Known(
                sequence=sequence,
                query=query,
                page=items,
                at=at,
                counted=bool(counted),
                waiting=bool(deferred),
            )
        by_sequence = {each.sequence: each for each in known.values() if each.checked < self.recent.others}
        for shown, clicks in self._named("SELECT shown, clicks FROM feedback", "shown", list(by_sequence)):
            by_sequence[shown].waiting = False
            by_sequence[shown].click(_decode(clicks))
        for each in by_sequence.values():
            each.checked = self.recent.others
        return known


def _known(shown: Shown, sequence: int, page: str) -> Known:
    return Known(
        sequence=sequence, query=shown.query, page=page, at=shown.at, counted=shown.counted,
        waiting=shown.deferred, checked=sequence,
    )  # fmt: skip


def _row(sequence: int, shown: Shown, page: str) -> tuple[Any, ...]:
    return (
        sequence, shown.impression, shown.at, shown.query, page, shown.propensity,
        pack(shown.item_propensities), shown.policy, shown.model, shown.cluster, shown.user_key, shown.explored,
        shown.deferred, shown.counted, shown.epoch, None if shown.received is None else json_text(shown.received),
    )  # fmt: skip


def json_text(value: Any) -> str:
    """JSON as it is stored."""
    return _encode(value).decode()


def _unstorable(shown: Shown, page: str) -> Unstorable | None:
    """PostgreSQL holds no zero characters, and no long text in an index: neither does a store."""
    if "\0" in shown.query or ("\\u0000" in page and any("\0" in item for item in shown.items)):
        return Unstorable("a text with a zero character")
    if len(shown.impression) > LONGEST or len(shown.request or "") > LONGEST or len(shown.kept or "") > LONGEST:
        return Unstorable(f"an id of more than {LONGEST} characters")
    return None


def _wrong(given: Given, pages: Mapping[str, Sequence[str | None]]) -> Exception | None:
    if len(given.event) > LONGEST or "\0" in given.event:
        return Unstorable(f"an event of more than {LONGEST} characters, or with a zero character")
    if given.impression not in pages:
        return UnknownImpression(given.impression)
    items = pages[given.impression]
    return next((NotOnPage(item) for item in given.clicks if item not in items), None)


def _counted(
    sequence: int, given: Given, impression: Known, items: Sequence[str | None]
) -> tuple[tuple[Any, ...], Change | None, Receipt]:
    """A feedback's row, what it adds to the evidence, and its receipt."""
    clicks = sorted({items.index(item) + 1 for item in given.clicks})
    new = impression.click(clicks)
    fresh = new if impression.counted else []
    opens = impression.waiting and impression.counted
    impression.waiting = False
    late = given.at - impression.at > LATE
    row = (
        sequence, given.event, impression.sequence, json_text(clicks), json_text(fresh), opens, given.reward, given.at,
        late, given.digest,
    )  # fmt: skip
    change = feedback_change(sequence, impression.query, items, fresh, opens)
    return row, change, Receipt(False, late, len(fresh), sequence)


def feedback_change(
    sequence: int, query: str, items: Sequence[str | None], fresh: Sequence[int], opens: bool
) -> Change | None:
    """What a feedback adds to the evidence: its fresh clicks, and the page where it was deferred until now.

    Items whose traces were erased are none: they are left out.
    """
    positions = [p for p in (range(1, len(items) + 1) if opens else fresh) if items[p - 1] is not None]
    if not positions:
        return None
    return Change(
        sequence,
        query,
        tuple(items[p - 1] or "" for p in positions),
        tuple(positions),
        (int(opens),) * len(positions),
        tuple(int(p in fresh) for p in positions),
    )


def pack(numbers: Sequence[float]) -> bytes:
    """Numbers as eight bytes each, exactly."""
    return struct.pack(f"<{len(numbers)}d", *numbers)


def unpack(content: bytes) -> tuple[float, ...]:
    """What `pack` made.

    >>> unpack(pack([0.1, 1.0]))
    (0.1, 1.0)
    """
    return struct.unpack(f"<{len(content) // 8}d", content)


def page_of(items: str, propensity: float, item_propensities: bytes) -> Page:
    """A page from its columns."""
    return Page(tuple(_decode(items)), propensity, unpack(item_propensities))
