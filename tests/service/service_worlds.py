"""Pages and feedback for tests, and the fold of them in plain Python, by rules of its own."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Coroutine, Iterable, Sequence
from typing import Any

from counterrank.service.events import Given, Shown, new_impression
from counterrank.service.store import Store

NOON = 1_700_000_000.0
Counts = dict[tuple[str, str, int], tuple[int, int]]


def shown(query: str = "shoes", items: Sequence[str] = ("a", "b", "c"), **other: Any) -> Shown:
    """An impression."""
    values: dict[str, Any] = {
        "impression": new_impression(), "at": NOON, "query": query, "items": tuple(items), "propensity": 0.5,
        "item_propensities": tuple(0.1 * (i + 1) for i in range(len(items))), "policy": "ebrank", "model": None,
        "cluster": None, "explored": False,
    }  # fmt: skip
    return Shown(**{**values, **other})


def given(impression: str, *clicks: str, event: str | None = None, **other: Any) -> Given:
    """A feedback."""
    digest = hashlib.sha256(repr((impression, clicks, other.get("reward"))).encode()).hexdigest()
    values: dict[str, Any] = {"reward": None, "at": NOON + 10, "digest": digest}
    return Given(event=event or new_impression(), impression=impression, clicks=clicks, **{**values, **other})


def run(work: Coroutine[Any, Any, Any]) -> Any:
    """What a coroutine gives."""
    return asyncio.run(work)


def written(store: Store, *operations: Shown | Given) -> list[Any]:
    """Operations one after another; what each gave, or the exception it raised."""

    async def all_of_them() -> list[Any]:
        results: list[Any] = []
        for operation in operations:
            try:
                results.append(
                    await store.show(operation) if isinstance(operation, Shown) else await store.give(operation)
                )
            except Exception as error:
                results.append(error)
        return results

    return list(run(all_of_them()))


def together(store: Store, operations: Iterable[Shown | Given]) -> list[Any]:
    """The same, all at once."""

    async def all_of_them() -> list[Any]:
        work = [store.show(each) if isinstance(each, Shown) else store.give(each) for each in operations]
        return await asyncio.gather(*work, return_exceptions=True)

    return list(run(all_of_them()))


def plain_fold(shows: Iterable[Shown], gives: Iterable[Given]) -> Counts:
    """Evidence from scratch: a set of clicked items per impression, and pages that count."""
    clicked: dict[str, set[str]] = {}
    for feedback in gives:
        clicked.setdefault(feedback.impression, set()).update(feedback.clicks)
    counts: Counts = {}
    for page in shows:
        if not page.counted or (page.deferred and page.impression not in clicked):
            continue
        for index, item in enumerate(page.items):
            cell = (page.query, item, index + 1)
            seen, hits = counts.get(cell, (0, 0))
            counts[cell] = (seen + 1, hits + (item in clicked.get(page.impression, ())))
    return counts


def evidence(store: Store) -> Counts:
    """The evidence of a store, folded to its last event."""
    store.fold()
    found = store.load()
    rows = zip(
        found.query, found.item, found.position.tolist(), found.shown.tolist(), found.clicked.tolist(), strict=True
    )
    return {(query, item, position): (seen, hits) for query, item, position, seen, hits in rows}
