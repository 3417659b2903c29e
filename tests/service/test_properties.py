"""Whatever comes in whatever order: evidence is what a plain fold says, after retention and erasing too."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given as drawn
from hypothesis import settings
from hypothesis import strategies as st
from msgspec.structs import replace

from counterrank.service import fold
from counterrank.service.events import Given, Shown
from counterrank.service.store import Store
from service.conftest import postgres_url
from service.service_worlds import Counts, evidence, given, plain_fold, shown, together, written

DAY = 86_400.0
USERS = [None, "u1", "u2"]


@st.composite
def histories(draw: st.DrawFn) -> list[Any]:
    """Pages, feedback on earlier ones, repeated events, folds, retention and erasing, in some order."""
    steps: list[Any] = []
    pages: list[Shown] = []
    replies: list[Given] = []
    for number in range(draw(st.integers(1, 25))):
        what = draw(st.sampled_from(["show"] * 5 + ["give"] * 5 + ["again", "fold", "forget", "user", "item"]))
        if what == "show" or not pages:
            items = draw(st.lists(st.sampled_from("abcd"), min_size=1, max_size=4, unique=True))
            pages.append(
                shown(
                    draw(st.sampled_from(["q", "r"])), items, at=DAY * draw(st.integers(0, 9)), impression=f"i{number}",
                    deferred=draw(st.booleans()), counted=draw(st.integers(0, 4)) > 0,
                    user_key=draw(st.sampled_from(USERS)),
                )
            )  # fmt: skip
            steps.append(pages[-1])
        elif what == "give":
            page = draw(st.sampled_from(pages))
            clicks = draw(st.lists(st.sampled_from(page.items), max_size=3))
            replies.append(given(page.impression, *clicks, event=f"e{number}"))
            steps.append(replies[-1])
        elif what == "again" and replies:
            steps.append(draw(st.sampled_from(replies)))
        else:
            choices = {
                "forget": st.integers(0, 9),
                "user": st.sampled_from(["u1", "u2"]),
                "item": st.sampled_from("ab"),
            }
            steps.append((what, draw(choices[what]) if what in choices else None))
    return steps


class Plain:
    """What should be in the store: lists, and counts of what was forgotten."""

    def __init__(self) -> None:
        self.pages: dict[str, Shown] = {}
        self.replies: dict[str, Given] = {}
        self.base: Counts = {}
        self.blank: dict[str, set[str]] = {}  # items that were taken off a page

    def write(self, operation: Shown | Given) -> bool:
        """Whether it can be written: its page is there, with what it clicks."""
        if isinstance(operation, Shown):
            self.pages[operation.impression] = operation
            return True
        name = operation.impression
        if operation.event in self.replies:
            return True
        if name not in self.pages or self.blank.get(name, set()) & set(operation.clicks):
            return False
        self.replies[operation.event] = operation
        return True

    def fold(self, pages: list[Shown]) -> Counts:
        """Counts of some pages, without what was taken off them."""
        counts: Counts = {}
        for page in pages:
            for cell, (seen, hits) in plain_fold([page], self.replies.values()).items():
                if cell[1] not in self.blank.get(page.impression, set()):
                    before = counts.get(cell, (0, 0))
                    counts[cell] = (before[0] + seen, before[1] + hits)
        return counts

    def total(self) -> Counts:
        return added(self.base, self.fold(list(self.pages.values())))

    def drop(self, gone: list[Shown]) -> None:
        names = {page.impression for page in gone}
        self.pages = {name: page for name, page in self.pages.items() if name not in names}
        self.replies = {event: reply for event, reply in self.replies.items() if reply.impression not in names}

    def change(self, what: str, value: Any) -> None:
        if what == "forget":
            old = [page for page in self.pages.values() if page.at < (10 - value) * DAY]
            self.base = added(self.base, self.fold(old))
            self.drop(old)
        elif what == "user":
            self.drop([page for page in self.pages.values() if page.user_key == value])
        elif what == "item":
            self.base = {cell: counts for cell, counts in self.base.items() if cell[1] != value}
            for name in self.pages:
                self.blank.setdefault(name, set()).add(value)


def added(one: Counts, other: Counts) -> Counts:
    cells = one.keys() | other.keys()
    sums = ((cell, *zip(one.get(cell, (0, 0)), other.get(cell, (0, 0)), strict=True)) for cell in cells)
    return {cell: (sum(seen), sum(hits)) for cell, seen, hits in sums}


def do(store: Store, what: str, value: Any) -> None:
    if what == "fold":
        store.fold()
    elif what == "forget":
        store.forget(value, now=10 * DAY)
    elif what == "user":
        store.erase(user_key=value)
    elif what == "item":
        store.erase(item=value)


def played(store: Store, history: list[Any]) -> None:
    """Each step on both; then evidence, and what followers see, are as the plain fold has them."""
    plain = Plain()
    for step in history:
        if isinstance(step, Shown | Given):
            known = plain.write(step)
            [result] = written(store, step)
            assert isinstance(result, Exception) != known
        else:
            do(store, *step)
            plain.change(*step)
    expected = {cell: counts for cell, counts in plain.total().items() if counts != (0, 0)}
    assert evidence(store) == expected
    assert store.verify().differences == 0
    assert store.verify().pairs == len({cell[:2] for cell in expected})


@settings(max_examples=15, deadline=None)
@drawn(histories())
def test_evidence_is_the_plain_fold(history: list[Any]) -> None:
    with tempfile.TemporaryDirectory() as folder, Store.open(str(Path(folder) / "s.db")) as store:
        played(store, history)


def test_evidence_of_many_cells_is_folded_a_few_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fold, "TOGETHER", 2)
    monkeypatch.setattr(fold, "CELLS", 3)

    @settings(max_examples=10, deadline=None)
    @drawn(histories())
    def tried(history: list[Any]) -> None:
        with tempfile.TemporaryDirectory() as folder, Store.open(str(Path(folder) / "s.db")) as store:
            played(store, history)

    tried()


@pytest.mark.slow
@pytest.mark.parametrize("together", [fold.TOGETHER, 2])
def test_many_histories(together: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fold, "TOGETHER", together)

    @settings(max_examples=300, deadline=None)
    @drawn(histories())
    def tried(history: list[Any]) -> None:
        with tempfile.TemporaryDirectory() as folder, Store.open(str(Path(folder) / "s.db")) as store:
            played(store, history)

    tried()


def test_histories_on_postgresql(postgres: Any) -> None:
    @settings(max_examples=4, deadline=None)
    @drawn(histories())
    def tried(history: list[Any]) -> None:
        with Store.open(postgres_url(postgres)) as store:
            played(store, history)

    tried()


@settings(max_examples=10, deadline=None)
@drawn(histories(), st.integers(0, 9))
def test_followers_end_where_a_new_one_begins(history: list[Any], folded: int) -> None:
    """Loaded at any moment and followed from there: the same counts as everybody else's."""
    events = [step for step in history if isinstance(step, Shown | Given)]
    with tempfile.TemporaryDirectory() as folder, Store.open(str(Path(folder) / "s.db")) as store:
        written(store, *events[:folded])
        store.fold()
        loaded = store.load()
        together(store, [replace(step) for step in events[folded:]])
        rows = zip(
            loaded.query, loaded.item, loaded.position.tolist(), loaded.shown.tolist(), loaded.clicked.tolist(),
            strict=True,
        )  # fmt: skip
        cells: Counts = {(query, item, position): (seen, hits) for query, item, position, seen, hits in rows}
        for change in store.follow(loaded.as_of):
            for item, position, seen, hits in zip(
                change.items, change.positions, change.shown, change.clicked, strict=True
            ):
                before = cells.get((change.query, item, position), (0, 0))
                cells[change.query, item, position] = (before[0] + seen, before[1] + hits)
        assert cells == evidence(store)
