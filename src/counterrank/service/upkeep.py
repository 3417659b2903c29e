"""What a supervisor does for a store, when workers leave it time: folds, forgets, looks for alarms, retrains."""

from __future__ import annotations

import contextlib
import logging
import os
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial
from queue import SimpleQueue
from typing import Any, TypeVar

from counterrank.service.alarms import alarms
from counterrank.service.events import Away, PolicySetting
from counterrank.service.metrics import Metrics
from counterrank.service.retrain import Retraining
from counterrank.service.settings import Settings
from counterrank.service.store import Store
from counterrank.service.traffic import Traffic

T = TypeVar("T")
log = logging.getLogger("counterrank.service")
FOLD = 2.0  # seconds between folds of new events into the evidence
LOG = 1.0  # seconds between looks at SQLite's log
FORGET = 3600.0
READ = 1.0  # seconds between looks at what has gone through: ten little works hold up less than a large one
LOOK = 10.0  # seconds between looks for alarms
PATIENCE = 30.0  # seconds that it may take to end
LATE = 10.0  # seconds after which something that is due no longer waits for the others to leave time
NICE = 10  # how much more often workers get their turn, where a system cannot let a thread wait for idle cores


@dataclass
class Turn:
    """Something to do every so many seconds, and when it is due."""

    work: Callable[[], object]
    every: float
    due: float


class Prompt(threading.Thread):
    """Does what it is handed, one thing after the other. Nobody waits for it to end: a store may never answer."""

    def __init__(self) -> None:
        super().__init__(name="counterrank-prompt", daemon=True)
        self._handed: SimpleQueue[tuple[Future[Any], Callable[[], Any]] | None] = SimpleQueue()

    def run(self) -> None:
        while (handed := self._handed.get()) is not None:
            done, work = handed
            try:
                done.set_result(work())
            except BaseException as error:
                done.set_exception(error)

    def do(self, work: Callable[[], T]) -> T:
        """What the work gives, or raises, once it is done; where the thread does not run or asks, it is done here."""
        if not self.is_alive() or threading.current_thread() is self:
            return work()
        done: Future[T] = Future()
        self._handed.put((done, work))
        return done.result()

    def end(self) -> None:
        self._handed.put(None)


class Upkeep(threading.Thread):
    """A thread of the supervisor, until `stopping` is set. What it starts also gives way to workers.

    It runs where a core is idle: a page that came while it had a core would wait for milliseconds. What holds the lock
    of writers is done by another thread, which gives way to nobody: else a worker that waits for the lock would wait
    until all others leave this one time. So is what is late, for cores may never be idle.
    """

    def __init__(self, settings: Settings, store: Store, metrics: Metrics, stopping: threading.Event) -> None:
        super().__init__(name="counterrank-upkeep", daemon=True)
        self.settings, self.store, self.metrics, self.stopping = settings, store, metrics, stopping
        self.retraining = Retraining(settings, store, metrics)
        self.traffic = Traffic(store)
        self._prompt = Prompt()
        now = time.monotonic()
        self._turns = [Turn(self._checkpoint, LOG, now + LOG), Turn(self._fold, FOLD, now + FOLD)]
        self._turns += [Turn(self.traffic.catch_up, READ, now + READ), Turn(self.look, LOOK, now + LOOK)]
        self._turns += [Turn(self._forget, FORGET, now)] if settings.keep_days is not None else []

    def start(self) -> None:
        self._prompt.start()  # a thread has the priority of who begins it, and keeps it
        super().start()

    def run(self) -> None:
        give_way()
        while not self.stopping.wait(0.1):
            for turn in self._turns:
                late = time.monotonic() - turn.due
                if late >= 0 and not self.stopping.is_set():
                    self._quietly(turn.work if late < LATE else partial(self._prompt.do, turn.work))
                    turn.due = time.monotonic() + turn.every

    def _checkpoint(self) -> None:
        self._prompt.do(self.store.checkpoint)

    def _fold(self) -> None:
        self.store.fold(self._prompt.do)
        self.retraining.look()

    def _forget(self) -> None:
        self.store.forget(float(self.settings.keep_days or 0), promptly=self._prompt.do)

    def look(self) -> None:
        """Raise alarms, in the log and in metrics."""
        self.traffic.catch_up()
        setting = self.store.setting()
        if not setting.epoch:
            setting = PolicySetting(self.settings.policy, self.settings.exploration, self.settings.randomise)
        for each in alarms(setting, self.traffic):
            name = f"alarm_{each['name']}"
            if each["active"] and not self.metrics.total(name):
                log.error("alarm", extra={"fields": each})
            self.metrics.put(name, float(each["active"]))

    def _quietly(self, work: Callable[[], object]) -> None:
        """What is tried again later, if the store is away now."""
        try:
            work()
        except Away as error:
            log.warning("store away", extra={"fields": {"error": str(error)}})
        except Exception:
            log.exception("maintenance")

    def end(self) -> None:
        """Wait for what it does, and end a retraining that it began."""
        if self.is_alive():
            self.join(PATIENCE)
        self._prompt.end()
        self.retraining.stop()


def give_way() -> None:
    """Let this thread run where a core is idle, and processes that it starts less often than others, where the system
    can."""
    me = threading.get_native_id()
    with contextlib.suppress(OSError, AttributeError):
        os.setpriority(os.PRIO_PROCESS, me, os.getpriority(os.PRIO_PROCESS, 0) + NICE)
    with contextlib.suppress(OSError, AttributeError):
        os.sched_setscheduler(me, os.SCHED_IDLE | os.SCHED_RESET_ON_FORK, os.sched_param(0))
