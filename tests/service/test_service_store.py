"""What a store takes, refuses and gives back, on both databases."""

from __future__ import annotations

import asyncio

import pytest
from msgspec.structs import replace

from counterrank.errors import InputError
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
from counterrank.service.store import Store
from service.service_worlds import NOON, evidence, given, plain_fold, run, shown, together, written


def test_an_impression_and_clicks_become_evidence(store: Store) -> None:
    page = shown()
    first, (receipt, change) = written(store, page, given(page.impression, "c", "a"))
    assert first == 1
    assert receipt == Receipt(duplicate=False, late=False, counted=2, sequence=2)
    assert change == Change(2, "shoes", ("a", "c"), (1, 3), (0, 0), (1, 1))
    assert evidence(store) == {("shoes", "a", 1): (1, 1), ("shoes", "b", 2): (1, 0), ("shoes", "c", 3): (1, 1)}
    assert store.verify().to_dict() == {
        "impressions": 1, "feedback": 1, "pairs": 3, "differences": 0, "forgotten": 0
    }  # fmt: skip


def test_a_click_counts_once_per_impression_and_item(store: Store) -> None:
    page = shown()
    results = written(
        store, page, given(page.impression, "a"), given(page.impression, "a", "b"), given(page.impression, "b", "b")
    )
    assert [receipt.counted for receipt, _ in results[1:]] == [1, 1, 0]
    assert evidence(store)["shoes", "a", 1] == (1, 1)
    assert evidence(store)["shoes", "b", 2] == (1, 1)


def test_the_same_event_is_a_duplicate_and_with_another_body_a_conflict(store: Store) -> None:
    page = shown()
    once = given(page.impression, "a", event="e")
    other = replace(once, clicks=("b",), digest="other")
    _, (first, _), (second, change), third = written(store, page, once, once, other)
    assert (second.duplicate, second.counted, second.sequence, change) == (True, 1, first.sequence, None)
    assert isinstance(third, Conflict)
    assert store.last() == 2
    assert evidence(store) == plain_fold([page], [once])


def test_duplicates_in_one_batch(store: Store) -> None:
    page, other = shown(), shown()
    written(store, page)
    once = given(page.impression, "a", event="e")
    results = together(store, [once, once, replace(once, digest="other"), given(page.impression, "a"), other])
    receipts = [result[0] for result in results if isinstance(result, tuple)]
    assert sorted(r.counted for r in receipts if not r.duplicate) == [0, 1]
    assert sum(r.duplicate for r in receipts) == 1
    assert [type(r) for r in results].count(Conflict) == 1
    assert evidence(store)["shoes", "a", 1] == (2, 1)


def test_unknown_impressions_and_items_fail_alone(store: Store) -> None:
    page = shown()
    written(store, page)
    good = given(page.impression, "b")
    results = together(store, [given("nobody", "a"), given(page.impression, "z", "a"), good])
    assert isinstance(results[0], UnknownImpression)
    assert isinstance(results[1], NotOnPage)
    assert results[1].item == "z"
    assert results[2][0].counted == 1
    assert evidence(store) == plain_fold([page], [good])


def test_late_feedback_counts_and_is_marked(store: Store) -> None:
    page = shown()
    _, (receipt, _) = written(store, page, given(page.impression, "a", at=NOON + 86_401))
    assert (receipt.late, receipt.counted) == (True, 1)


def test_a_deferred_impression_counts_once_a_feedback_names_it(store: Store) -> None:
    page, never = shown(deferred=True), shown(deferred=True)
    written(store, page, never)
    assert evidence(store) == {}
    [(receipt, change), (second, again)] = written(store, given(page.impression), given(page.impression, "b"))
    assert (receipt.counted, second.counted) == (0, 1)
    assert (change.items, change.shown, change.clicked) == (("a", "b", "c"), (1, 1, 1), (0, 0, 0))
    assert (again.items, again.shown, again.clicked) == (("b",), (0,), (1,))
    assert evidence(store) == {("shoes", "a", 1): (1, 0), ("shoes", "b", 2): (1, 1), ("shoes", "c", 3): (1, 0)}
    assert store.verify().differences == 0


def test_what_is_not_counted_is_never_evidence(store: Store) -> None:
    page, waiting = shown(counted=False), shown(counted=False, deferred=True)
    [_, _, (receipt, change), (other, _)] = written(
        store, page, waiting, given(page.impression, "a"), given(waiting.impression, "a")
    )
    assert (receipt.counted, other.counted, change) == (0, 0, None)
    assert evidence(store) == {}
    assert store.follow(0) == []
    assert store.verify().differences == 0


def test_the_same_request_is_answered_again_and_counts_nothing(store: Store) -> None:
    page = shown(request="r", digest="d", answer=b'{"page": 1}')
    _, again, other = written(
        store, page, shown(request="r", digest="d", answer=b"new"), shown(request="r", digest="e", answer=b"new")
    )
    assert isinstance(again, Replay)
    assert again.answer == b'{"page": 1}'
    assert isinstance(other, Conflict)
    assert store.replay("r") == ("d", b'{"page": 1}')
    assert store.replay("unknown") is None
    assert store.last() == 1
    both = together(store, [shown(request="s", digest="d", answer=b"1"), shown(request="s", digest="d", answer=b"2")])
    assert sorted(type(result).__name__ for result in both) == ["Replay", "int"]


def test_a_kept_page_stays_until_the_policy_changes(store: Store) -> None:
    first = shown(kept="k")
    assert written(store, first) == [1]
    [other] = written(store, shown(items=("c", "b", "a"), kept="k"))
    assert isinstance(other, Superseded)
    assert other.items == first.items
    assert other.page == store.kept("k", 0) == Page(first.items, first.propensity, first.item_propensities)
    assert written(store, shown(kept="k")) == [2]
    changed = store.put_setting(PolicySetting("ebrank", 0.0, 0.0))
    assert changed.epoch == 1
    assert store.kept("k", changed.epoch) is None
    assert written(store, shown(items=("c", "b", "a"), kept="k", epoch=1)) == [3]
    page = store.kept("k", 1)
    assert page is not None
    assert page.items == ("c", "b", "a")


def test_pages_made_before_the_policy_changed_are_refused(store: Store) -> None:
    assert store.setting() == PolicySetting("", 0.0, 0.0, 0)
    put = store.put_setting(PolicySetting("logging", 0.0, 0.0))
    assert store.setting() == put
    [error] = written(store, shown(epoch=0))
    assert isinstance(error, Outdated)
    assert error.setting == put
    assert written(store, shown(epoch=1)) == [1]


def test_what_no_database_holds_is_refused_alone(store: Store) -> None:
    good, twice = shown(), shown()
    results = together(
        store,
        [
            shown(query="a\0b"),
            good,
            shown(items=("\0",)),
            twice,
            twice,
            shown(query="\ud800"),
            shown(request="x" * 513),
        ],
    )
    assert [type(result) for result in results].count(Unstorable) == 5
    assert store.last() == 2
    assert evidence(store) == plain_fold([good, twice], [])


def test_long_texts_and_all_signs(store: Store) -> None:
    query = "🦊" * 1024
    page = shown(query=query, items=("é" * 3000, "'; DROP TABLE meta; --", '"\\', "%s ? :x", " "))
    written(store, page, given(page.impression, *page.items))
    assert evidence(store) == {(query, item, i + 1): (1, 1) for i, item in enumerate(page.items)}
    assert store.verify().differences == 0


def test_a_full_queue_is_away_at_once(url: str) -> None:
    store = Store.open(url, queue=3)

    async def flood() -> list[object]:
        with store.writer._claims._lock:  # the thread cannot end a batch meanwhile
            work = [asyncio.ensure_future(store.show(shown())) for _ in range(2000)]
            await asyncio.sleep(0.05)
        return await asyncio.gather(*work, return_exceptions=True)

    results = run(flood())
    stored = [result for result in results if isinstance(result, int)]
    assert len(stored) + sum(isinstance(result, Away) for result in results) == 2000
    assert 0 < len(stored) < 20
    assert store.last() == len(stored)
    store.close()


def test_followers_see_what_others_did_and_listeners_their_own(url: str) -> None:
    one, other = Store.open(url), Store.open(url)
    heard: list[Change] = []
    one.listen(heard.extend)
    pages = [shown(query=f"q{i}") for i in range(6)]
    written(one, pages[0], pages[1])
    written(other, pages[2])
    written(one, pages[3], given(pages[2].impression, "a"))
    written(other, pages[4], pages[5])
    reached, found = one.others(0)
    assert reached == 7
    assert [change.query for change in found] == ["q2", "q4", "q5"]
    assert [change.query for change in heard] == ["q0", "q1", "q3", "q2"]
    assert [change.sequence for change in sorted([*heard, *found], key=lambda c: c.sequence)] == list(range(1, 8))
    assert [change.sequence for change in one.follow(0)] == list(range(1, 8))
    assert [change.sequence for change in one.follow(2, limit=3)] == [3, 4, 5]
    assert one.others(7) == (7, [])
    one.close()
    other.close()


def test_evidence_is_loaded_and_then_followed(store: Store) -> None:
    pages = [shown(query="q", items=(str(i),)) for i in range(30)]
    written(store, *pages[:20])
    store.fold()
    written(store, *pages[20:])
    loaded = store.load()
    assert (loaded.as_of, len(loaded.query)) == (20, 20)
    assert [change.items for change in store.follow(loaded.as_of)] == [page.items for page in pages[20:]]


def test_features_are_versioned_and_those_of_the_pair_win(store: Store) -> None:
    assert store.features_since(0) == (0, [])
    assert store.put_items([("a", None, {"price": 1.0, "age": 2.0}), ("a", "q", {"price": 3.0})]) == 2
    version, found = store.features_since(0)
    assert sorted(found, key=str) == [("a", "q", {"price": 3.0}), ("a", None, {"price": 1.0, "age": 2.0})]
    assert store.item("a", "q") == {"price": 3.0, "age": 2.0}
    assert store.item("a") == store.item("a", "other") == {"price": 1.0, "age": 2.0}
    assert store.item("b") is None
    store.put_items([("a", None, {"price": 0.1})])
    assert store.features_since(version)[1] == [("a", None, {"price": 0.1})]
    assert store.item("a") == {"price": 0.1}


def test_models_have_versions_and_a_way_back(store: Store) -> None:
    assert store.model() is None
    first = store.add_model({"prior.json": b"\0{}"}, {"auc": 0.5})
    second = store.add_model({"prior.json": b"[]"}, activate=False)
    assert (first.version, second.version) == (1, 2)
    assert store.model() == first
    assert store.activate_model(2).files == {"prior.json": b"[]"}
    assert [(m.version, m.active) for m in store.models()] == [(1, False), (2, True)]
    assert store.numbers()["model"] == 2
    with pytest.raises(InputError, match="choose from 1, 2"):
        store.activate_model(7)
    for _ in range(3):
        store.add_model({}, activate=False, keep=2)
    assert [m.version for m in store.models()] == [2, 4, 5]


def test_a_store_that_cannot_be_opened_is_told_in_one_line(tmp_path: object) -> None:
    for url, what in {
        "mysql://x/y": "sqlite:///PATH or postgresql",
        "sqlite:///:memory:": "a store is a file",
        f"sqlite:///{tmp_path}": "that is a folder",
        f"sqlite:///{tmp_path}/none/x.db": "cannot be opened",
        "postgresql://u:secret@127.0.0.1:1/x": "cannot be opened",
        "postgresql://[": "cannot be opened",
        "://": "sqlite:///PATH or postgresql",
    }.items():
        with pytest.raises(InputError, match=what) as error:
            Store.open(url)
        assert "\n" not in str(error.value)
        assert "secret" not in str(error.value)
    with pytest.raises(InputError, match="no such store"):
        Store.open(f"sqlite:///{tmp_path}/none.db", create=False)


def test_two_writers_count_each_click_and_each_event_once(url: str) -> None:
    one, other = Store.open(url), Store.open(url)
    pages = [shown(query=f"q{i % 3}") for i in range(20)]

    async def both() -> list[tuple[Receipt, Change | None]]:
        await asyncio.gather(*((one, other)[i % 2].show(page) for i, page in enumerate(pages)))
        clicks = [given(page.impression, "a", event=f"e{i}") for i, page in enumerate(pages)]
        again = [given(page.impression, "a", "b") for page in pages]
        work = [store.give(click) for click in clicks for store in (one, other)]
        return await asyncio.gather(*work, *(other.give(click) for click in again))

    results = run(both())
    receipts = [receipt for receipt, _ in results]
    assert sum(receipt.duplicate for receipt in receipts) == 20
    assert sum(receipt.counted for receipt in receipts if not receipt.duplicate) == 40
    assert sum(sum(change.clicked) for _, change in results if change is not None) == 40
    assert sorted({receipt.sequence for receipt in receipts}) == list(range(21, 61))
    gives = [given(page.impression, "a", "b") for page in pages]
    assert evidence(one) == plain_fold(pages, gives)
    assert one.verify().differences == 0
    one.close()
    other.close()


def test_what_others_clicked_meanwhile_counts_once(url: str) -> None:
    """A writer remembers its own pages; others give feedback on them, and it writes other things in between."""
    page = shown(items=("a", "b"))
    with Store.open(url) as one, Store.open(url) as other:
        written(one, page)
        assert written(other, given(page.impression, "a"))[0][0].counted == 1
        written(one, shown())
        assert written(one, given(page.impression, "a", "b"))[0][0].counted == 1
        assert written(one, given(page.impression, "b"))[0][0].counted == 0
        assert one.verify().differences == 0


def test_an_event_that_came_before_is_met_among_others(store: Store) -> None:
    """One that is there already fails the insert of all: the batch is written all the same, each event once."""
    page = shown(items=("a", "b", "c"))
    first = given(page.impression, "a", event="first")
    written(store, page, first)
    others = [given(page.impression, "b", event=f"e{n}") for n in range(5)]
    results = together(store, [*others, first, shown(), replace(first, digest="other")])
    assert [each[0].counted for each in results[:5]] == [1, 0, 0, 0, 0]
    assert (results[5][0].duplicate, results[5][0].counted) == (True, 1)
    assert isinstance(results[6], int)
    assert isinstance(results[7], Conflict)
    assert (store.verify().feedback, store.verify().differences) == (6, 0)


def test_what_was_erased_or_forgotten_is_not_remembered(store: Store) -> None:
    pages = [shown(user_key=f"u{n}") for n in range(3)]
    written(store, *pages)
    store.erase(user_key="u0")
    store.erase(item="b")
    results = written(store, *(given(page.impression, "a") for page in pages), given(pages[1].impression, "b"))
    assert [type(each) for each in results] == [UnknownImpression, tuple, tuple, NotOnPage]
    store.forget(0)
    assert isinstance(written(store, given(pages[1].impression, "c"))[0], UnknownImpression)
    assert store.verify().differences == 0
