"""Two threads that share work: everything is done once, in its order, and nobody waits for ever."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
import pytest

from counterrank import crew as module
from counterrank.crew import AHEAD, WORTH, Crew


def lots(sizes: list[int], made: list[str] | None = None, wrong: int = -1) -> Iterator[Callable[[], Iterator[int]]]:
    """Lot i holds 1000·i and what follows; the wrong one ends with an error."""

    def lot(number: int, size: int) -> Iterator[int]:
        if made is not None:
            made.append(threading.current_thread().name)
        yield from range(1000 * number, 1000 * number + size)
        if number == wrong:
            raise ValueError(number)

    for number, size in enumerate(sizes):
        yield partial(lot, number, size)


@pytest.mark.parametrize("alone", [False, True])
def test_things_come_in_their_order_and_errors_in_their_turn(alone: bool) -> None:
    sizes = [3, 0, 1, 5, 0, 0, 2, 7, 1]
    wanted = [1000 * number + i for number, size in enumerate(sizes) for i in range(size)]
    with Crew(alone=alone) as crew:
        assert list(crew.supplied(lots(sizes))) == wanted
        assert list(crew.supplied(iter([]))) == []
        came: list[int] = []
        with pytest.raises(ValueError, match="5"):
            came.extend(crew.supplied(lots([3, 0, 1, 5, 0, 2, 2], wrong=5)))
        assert came == [*wanted[:9], 5000, 5001]
        assert list(crew.supplied(lots(sizes))) == wanted


def test_an_error_of_the_source_comes_after_what_was_before_it() -> None:
    def source() -> Iterator[Callable[[], Iterator[int]]]:
        yield from lots([2, 2])
        raise OSError("gone")

    came: list[int] = []
    with Crew() as crew, pytest.raises(OSError, match="gone"):
        came.extend(crew.supplied(source()))
    assert came == [0, 1, 1000, 1001]


def test_no_more_is_made_ahead_than_may_be() -> None:
    made: list[str] = []
    with Crew() as crew:
        things = crew.supplied(lots([1] * 30, made))
        for taken in range(1, 11):
            next(things)
            time.sleep(0.02)
            assert taken <= len(made) <= taken + AHEAD
        things.close()
        time.sleep(0.02)
        assert len(made) < 30


def test_the_source_is_asked_by_one_at_a_time() -> None:
    asking = threading.Lock()

    def source() -> Iterator[Callable[[], Iterator[int]]]:
        for number in range(200):
            assert asking.acquire(blocking=False)
            time.sleep(0.0002)
            asking.release()
            yield lambda number=number: iter([number])  # type: ignore[misc]

    with Crew() as crew:
        assert list(crew.supplied(source())) == list(range(200))


def test_a_job_is_done_once_by_whoever_is_free() -> None:
    done: list[tuple[int, str]] = []

    def job(number: int) -> int:
        time.sleep(0.001)
        done.append((number, threading.current_thread().name))
        return number

    with Crew() as crew:
        jobs = [crew.submit(partial(job, number)) for number in range(40)]
        assert [crew.result(each) for each in jobs] == list(range(40))
    assert sorted(number for number, _ in done) == list(range(40))
    assert len({name for _, name in done}) == 2


def test_a_job_that_fails_tells_whoever_asks() -> None:
    def fails() -> None:
        raise ValueError("no")

    with Crew() as crew:
        for _ in range(3):
            with pytest.raises(ValueError, match="no"):
                crew.result(crew.submit(fails))
        assert crew.result(crew.submit(lambda: 1)) == 1


def test_both_threads_make_lots_while_jobs_wait_their_turn() -> None:
    """As an engine does it: what comes is counted in jobs, each of which is awaited before the next is handed in."""
    total = [0]

    def count(thing: int) -> None:
        time.sleep(0.0005)
        total[0] += thing

    with Crew() as crew:
        job = None
        for thing in crew.supplied(lots([5] * 40)):
            if job is not None:
                crew.result(job)
            job = crew.submit(partial(count, thing))
        assert job is not None
        crew.result(job)
    assert total[0] == sum(1000 * number + i for number in range(40) for i in range(5))


@pytest.mark.parametrize("alone", [False, True])
@pytest.mark.parametrize("size", [0, 1, WORTH - 1, WORTH, 10 * WORTH + 1])
def test_halves_are_the_whole(alone: bool, size: int) -> None:
    out = np.zeros(size + 7, dtype=np.int64)

    def run(first: int, last: int) -> int:
        out[first:last] += 1
        return last - first

    with Crew(alone=alone) as crew:
        parts = crew.halves(run, 7, size + 7)
    assert sum(parts) == size
    assert len(parts) == (1 if alone or size < WORTH else 2)
    assert (out[7:] == 1).all()
    assert (out[:7] == 0).all()


def test_the_second_thread_ends_and_comes_again() -> None:
    before = threading.active_count()
    crew = Crew()
    for _ in range(3):
        with crew:
            things = crew.supplied(lots([100] * 10))
            assert next(things) == 0
            assert threading.active_count() == before + 1
        things.close()
        assert threading.active_count() == before


def test_a_lot_that_nobody_needs_any_more_keeps_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PATIENCE", 0.05)
    go_on = threading.Event()

    def source() -> Iterator[Callable[[], Iterator[int]]]:
        yield lambda: iter([1])
        go_on.wait(10)
        yield lambda: iter([2])

    start = time.monotonic()
    with Crew() as crew:
        things = crew.supplied(source())
        assert next(things) == 1
        time.sleep(0.05)
        things.close()
    assert time.monotonic() - start < 5
    go_on.set()


def test_alone_there_is_no_second_thread() -> None:
    before, made = threading.active_count(), list[str]()
    with Crew(alone=True) as crew:
        for _ in crew.supplied(lots([2] * 5, made)):
            assert crew.result(crew.submit(lambda: 3)) == 3
            assert threading.active_count() == before
    assert set(made) == {threading.current_thread().name}


def test_where_no_thread_can_start_this_one_does_all(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuses(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuses)
    with Crew() as crew:
        assert list(crew.supplied(lots([2, 1]))) == [0, 1, 1000]
        assert crew.result(crew.submit(lambda: 1)) == 1
        assert sum(crew.halves(lambda first, last: last - first, 0, 4 * WORTH)) == 4 * WORTH
