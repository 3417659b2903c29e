"""Two threads that share what there is to do.

They are no more than two: where threads outnumber cores, one often waits behind another although a core is idle, since
the system moves threads between cores seldom. So nobody has a task of their own. Whoever is free takes the next thing
that can be done: a job that somebody waits for, or else things that will be needed soon.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterator
from threading import Condition, Thread, current_thread
from types import TracebackType
from typing import Any, Generic, TypeVar

A = TypeVar("A")
AHEAD = 4  # lots of things that are made before anybody asks for them
FEW = 1  # lots that are enough for one who waits for a job that the other has begun, and soon has done
MORE = 2  # the same for one who waits for a lot: that one, and one made beside it
WORTH = 1 << 13  # rows from which a second thread is worth telling
PATIENCE = 5.0  # seconds to wait for what nobody needs any more


class Job(Generic[A]):
    """Something that is done once, by either thread."""

    def __init__(self, run: Callable[[], A]) -> None:
        self._run = run
        self.done = False
        self._value: A | None = None
        self._error: BaseException | None = None

    def do(self) -> None:
        try:
            self._value = self._run()
        except BaseException as error:  # raised to whoever asks for the result
            self._error = error
        self.done = True

    @property
    def value(self) -> A:
        if self._error is not None:
            raise self._error
        return self._value  # type: ignore[return-value]


class _Supply:
    """Lots of things in their order, made by whoever has nothing else to do; the source is asked for one at a time."""

    def __init__(self, source: Iterator[Callable[[], Iterator[Any]]], ahead: int) -> None:
        self.source, self.ahead = source, ahead
        self.begun = self.taken = 0
        self.asking = self.ended = False
        self.ready: dict[int, tuple[list[Any], BaseException | None]] = {}  # a lot, and what went wrong after it

    def open(self, most: int) -> bool:
        """Whether the next lot may be begun, where so many are enough."""
        return not self.asking and not self.ended and self.begun - self.taken < min(most, self.ahead)


class Crew:
    """This thread and a second one, which is there from the first thing that it could do until `close`.

    `alone`: without a second thread, since other cores are not ours.

    >>> with Crew() as crew:
    ...     list(crew.supplied(iter([lambda: iter("ab"), lambda: iter("c")]))), crew.result(crew.submit(lambda: 1))
    (['a', 'b', 'c'], 1)
    """

    def __init__(self, *, alone: bool = False) -> None:
        self.alone = alone
        self._changed = Condition()
        self._jobs: deque[Job[Any]] = deque()
        self._supplies: list[_Supply] = []
        self._second: Thread | None = None

    def __enter__(self) -> Crew:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """End the second thread; another comes when there is more to do."""
        with self._changed:
            second, self._second = self._second, None
            self._jobs.clear()
            self._changed.notify_all()
        if second is not None:
            second.join(PATIENCE)

    def submit(self, run: Callable[[], A]) -> Job[A]:
        """A job that either thread may do from now on, beside all others."""
        job = Job(run)
        with self._changed:
            self._jobs.append(job)
            self._changed.notify_all()
        self._call_second()
        return job

    def result(self, job: Job[A]) -> A:
        """What a job gives; until then this thread does whatever else there is."""
        self._work(lambda: job.done, FEW)
        return job.value

    def halves(self, run: Callable[[int, int], A], first: int, last: int, middle: int | None = None) -> list[A]:
        """What run(first, last) gives, or, where there are enough rows for it, run on both halves side by side."""
        if self.alone or last - first < WORTH:
            return [run(first, last)]
        middle = (first + last) // 2 if middle is None else middle
        other = self.submit(lambda: run(middle, last))
        return [run(first, middle), self.result(other)]

    def supplied(self, source: Iterator[Callable[[], Iterator[A]]]) -> Generator[A]:
        """The things of one lot after the other: the source gives what makes a lot, in whichever thread."""
        supply = _Supply(source, 1 if self.alone else AHEAD)
        with self._changed:
            self._supplies.append(supply)
            self._changed.notify_all()
        self._call_second()
        try:
            while True:
                number = supply.taken
                self._work(lambda: number in supply.ready or (supply.ended and number >= supply.begun), MORE)  # noqa: B023
                if number not in supply.ready:
                    return
                things, error = supply.ready.pop(number)
                with self._changed:
                    supply.taken += 1
                    self._changed.notify_all()
                yield from things
                if error is not None:
                    raise error
        finally:
            with self._changed:
                self._supplies.remove(supply)
                self._changed.wait_for(lambda: not supply.asking, PATIENCE)
            if hasattr(source, "close") and not supply.asking:
                source.close()

    def _call_second(self) -> None:
        if self._second is None and not self.alone:
            self._second = Thread(target=self._serve, daemon=True, name="counterrank-second")
            try:
                self._second.start()
            except RuntimeError:  # the system has no room for more
                self._second, self.alone = None, True

    def _serve(self) -> None:
        me = current_thread()
        self._work(lambda: self._second is not me)

    def _work(self, until: Callable[[], bool], most: int = AHEAD) -> None:
        """Do what there is to do until then; lots only while there are not so many."""
        while True:
            task = None
            with self._changed:
                while not until():
                    if (task := self._next(most)) is not None:
                        break
                    self._changed.wait()
            if task is None:
                return
            task()
            with self._changed:
                self._changed.notify_all()

    def _next(self, most: int) -> Callable[[], None] | None:
        """What this thread shall do now, which nobody else will do then."""
        if self._jobs:
            return self._jobs.popleft().do
        for supply in self._supplies:
            if supply.open(most):
                supply.asking = True
                return lambda: self._made(supply)
        return None

    def _made(self, supply: _Supply) -> None:
        """Make the next lot of a supply."""
        make, error = None, None
        try:
            make = next(supply.source, None)
        except BaseException as met:  # raised where the lot would have come
            error = met
        with self._changed:
            number, supply.asking = supply.begun, False
            supply.ended = make is None
            if make is not None or error is not None:
                supply.begun += 1
            self._changed.notify_all()
        if make is not None:
            supply.ready[number] = _whole(make)
        elif error is not None:
            supply.ready[number] = [], error


def _whole(make: Callable[[], Iterator[A]]) -> tuple[list[A], BaseException | None]:
    """A whole lot, and the error that it ends with."""
    things: list[A] = []
    try:
        for thing in make():
            things.append(thing)
    except BaseException as error:  # raised when those before it were taken
        return things, error
    return things, None
