"""What an operator relies on, and what somebody with the database must not learn."""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
import threading
import time
from pathlib import Path

import msgspec
import pytest
from sqlalchemy import Connection

import counterrank as cr
from counterrank.service import database as databases
from counterrank.service.claims import Board, Claims
from counterrank.service.events import Away
from counterrank.service.metrics import Metrics
from counterrank.service.retrain import Retraining, feedback_count
from counterrank.service.server import Server
from counterrank.service.settings import Settings
from counterrank.service.shared import Shared
from counterrank.service.store import Store
from counterrank.service.upkeep import LATE, NICE, Prompt, Upkeep
from service.service_worlds import NOON, given, shown, together, written
from service.serving import worker


def test_a_user_cannot_be_guessed_from_what_is_stored_of_a_body(tmp_path: Path) -> None:
    with worker(tmp_path) as served:
        body = {"query": "q", "items": ["a", "b"], "user": "anna", "request": "r1"}
        assert served.call("POST", "/rank", body).status == 200
        again = served.call("POST", "/rank", dict(reversed(body.items())))
        assert again.status == 200  # equal as JSON: the same digest
        assert served.call("POST", "/rank", body | {"user": "bert"}).status == 409
        with served.service.store.database.reading() as connection:
            digests = connection.exec_driver_sql("SELECT digest FROM requests").scalars().all()
    plain = {
        hashlib.sha256(text).hexdigest()
        for text in (msgspec.json.encode(body, order="sorted"), json.dumps(body).encode(), b"anna")
    }
    assert len(digests) == 1
    assert not plain & set(digests)


def test_every_worker_reads_a_policy_directory_anew_when_it_is_put_again(tmp_path: Path) -> None:
    folder = tmp_path / "policies"
    folder.mkdir()
    cr.read_policy({"q": ["b", "a"]}).save(folder / "mine")
    options = {"store": f"sqlite:///{tmp_path}/store.db", "policies": str(folder), "randomise": 0.0}
    with worker(tmp_path, **options) as one, worker(tmp_path, number=1, **options) as two:
        for order in (["b", "a", "c"], ["c", "a", "b"]):
            cr.read_policy({"q": order}).save(folder / "mine")
            assert one.call("PUT", "/policy", {"name": "mine"}).status == 200
            for served in (one, two):
                assert [each["item"] for each in served.rank("q", ["a", "b", "c"])["ranking"]] == order


def test_features_are_so_many_and_no_more(tmp_path: Path) -> None:
    with worker(tmp_path) as served:
        many = {f"f{i}": 1.0 for i in range(4096)}
        assert served.call("PUT", "/items", {"items": [{"id": "a", "features": many}]}).status == 200
        assert served.call("PUT", "/items", {"items": [{"id": "b", "features": {"f1": 2.0}}]}).status == 200
        reply = served.call("PUT", "/items", {"items": [{"id": "c", "features": {"another": 2.0}}]})
        assert (reply.status, reply.json["error"]["field"]) == (422, "items")
        assert served.call("GET", "/items/c").status == 404


def test_looking_at_the_live_page_is_no_page_of_the_apprentice(tmp_path: Path) -> None:
    with worker(tmp_path, policy="logging") as served:
        served.rank("q")
        for _ in range(3):
            assert served.call("GET", "/live.json?query=q").status == 200
        assert served.call("GET", "/live.json").json["apprentice"]["pages"] == 1


def test_feedback_is_counted_on_where_old_events_are_forgotten(tmp_path: Path) -> None:
    with Store.open(str(tmp_path / "store.db")) as store:
        retraining = Retraining(Settings(retrain_every=4), store, Metrics(Shared(tmp_path / "shared")))
        begun: list[int] = []
        retraining.begin = lambda: begun.append(1)  # type: ignore[method-assign]
        old = [shown(at=NOON - 10 * 86_400) for _ in range(3)]
        written(store, *old, *(given(page.impression, "a") for page in old))
        retraining.look()
        store.forget(1, now=NOON)
        assert feedback_count(store) == retraining._feedback() == 3
        new = [shown(), shown()]
        written(store, *new, *(given(page.impression, "a") for page in new))
        retraining.look()
        assert begun == [1]  # five came, though three are gone
        assert feedback_count(store) == 5


def test_features_that_are_put_while_a_worker_loads_anew_are_not_lost(tmp_path: Path) -> None:
    with worker(tmp_path) as served:
        service = served.service
        fresh = service._fresh

        def slowly() -> object:
            found = fresh()
            assert served.call("PUT", "/items", {"items": [{"id": "a", "features": {"x": 2.0}}]}).status == 200
            return found

        service._fresh = slowly
        served.run(service._reload())
        served.run(service.follow_items())
        assert service.state.features_of("q", "a") == {"x": 2.0}


def test_the_log_of_sqlite_begins_anew_while_others_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(databases, "FRAMES", 50)
    path = tmp_path / "store.db"
    stop = threading.Event()
    with Store.open(str(path)) as store, Store.open(str(path)) as other:

        def keep() -> None:
            while not stop.is_set():
                other.checkpoint()
                time.sleep(0.002)

        thread = threading.Thread(target=keep)
        thread.start()
        pages = [shown() for _ in range(400)]
        for begin in range(0, 400, 4):
            together(store, pages[begin : begin + 4])
        stop.set()
        thread.join()
        size = os.path.getsize(f"{path}-wal")
        assert store.verify().to_dict() == {
            "impressions": 400, "feedback": 0, "pairs": 3, "differences": 0, "forgotten": 0,
        }  # fmt: skip
    assert size < 4_000_000  # of about 100 commits with 10 pages each, which would be as much without


def test_whose_events_are_there() -> None:
    claims, board = Claims(), Board()

    def mine(since: int, until: int) -> int | None:
        return claims.mine(since, until, board.open)

    assert (mine(0, 0), mine(0, 1)) == (0, None)
    claims.answer([(1, 3), (4, 6)])
    assert (mine(0, 6), mine(2, 6), mine(6, 6), mine(0, 2)) == (6, 6, 6, 3)
    assert mine(6, 8) is None  # somebody else wrote
    board.claim(9, 10)
    assert mine(8, 10) == 8  # ours, but not told yet
    assert mine(6, 10) is None
    claims.answer([(9, 10)], lambda: board.told(1))
    assert mine(8, 10) == 10
    assert mine(6, 10) is None
    claims.done_with(10)
    assert mine(10, 10) == 10


def test_upkeep_gives_way_and_ends(tmp_path: Path) -> None:
    stopping = threading.Event()
    with Store.open(str(tmp_path / "store.db")) as store:
        upkeep = Upkeep(Settings(), store, Metrics(Shared(tmp_path / "shared")), stopping)
        found: list[int] = []
        idle: list[bool] = []
        done = threading.Event()

        def work() -> None:
            found.append(os.getpriority(os.PRIO_PROCESS, 0))
            if hasattr(os, "SCHED_IDLE"):
                idle.append(bool(os.sched_getscheduler(0) & os.SCHED_IDLE))
            done.set()
            raise OSError("which is told, and tried again later")

        upkeep._turns[0].work, upkeep._turns[0].due = work, time.monotonic()
        before = os.getpriority(os.PRIO_PROCESS, 0)
        upkeep.start()
        assert done.wait(10)
        stopping.set()
        upkeep.end()
        assert not upkeep.is_alive()
    assert found[0] == min(before + NICE, 19)
    assert all(idle[:1])
    assert os.getpriority(os.PRIO_PROCESS, 0) == before


def test_what_is_late_no_longer_gives_way(tmp_path: Path) -> None:
    stopping, done = threading.Event(), threading.Event()
    with Store.open(str(tmp_path / "store.db")) as store:
        upkeep = Upkeep(Settings(), store, Metrics(Shared(tmp_path / "shared")), stopping)
        by: list[threading.Thread] = []

        def work() -> None:
            upkeep._prompt.do(lambda: by.append(threading.current_thread()))  # by the thread that is at work already
            by.append(threading.current_thread())
            done.set()

        upkeep._turns[0].work, upkeep._turns[0].due = work, time.monotonic() - 2 * LATE
        upkeep.start()
        assert done.wait(10)
        stopping.set()
        upkeep.end()
    assert by[:2] == [upkeep._prompt, upkeep._prompt]


@pytest.mark.skipif(not hasattr(os, "getsid"), reason="sessions are those of POSIX")
def test_workers_are_of_the_supervisors_session_but_not_of_its_group(tmp_path: Path) -> None:
    server = Server(Settings(store=str(tmp_path / "store.db"), port=0), verbose=False)
    try:
        server.start()
        worker = server.children[0].process.pid
        assert os.getsid(worker) == os.getsid(0)
        assert os.getpgid(worker) != os.getpgid(0)
    finally:
        server.stop()


def test_what_is_done_promptly_is_done_by_another_thread_and_never_keeps_a_process() -> None:
    prompt = Prompt()
    assert prompt.do(threading.get_ident) == threading.get_ident()  # before it begins
    prompt.start()
    assert prompt.daemon
    assert prompt.do(threading.get_ident) == prompt.ident
    with pytest.raises(Away, match="gone"):
        prompt.do(_gone)
    assert prompt.do(lambda: 7) == 7  # what was raised did not end it
    prompt.end()
    prompt.join(5)
    assert prompt.do(lambda: 8) == 8


def test_a_connection_that_is_lost_while_it_reads_is_a_store_that_is_away(tmp_path: Path) -> None:
    """SQLAlchemy then refuses to roll back, which must not hide why."""
    with Store.open(str(tmp_path / "store.db")) as store:
        with pytest.raises(Away, match="is lost"), store.database.reading() as connection:
            _lose(connection, sqlite3.OperationalError("the connection is lost"))
        with pytest.raises(Away), store.database.reading() as connection:
            _lose(connection)
        assert store.last() == 0


def _lose(connection: Connection, error: Exception | None = None) -> None:
    connection.invalidate()
    if error is not None:
        raise error
    connection.exec_driver_sql("SELECT 1")


def _gone() -> None:
    raise Away("gone")
