"""Ends by a signal: what is temporary goes, one line says it, and the exit code is 128 and the signal's number.

A thread of its own waits for the signal, so that long work in compiled code does not keep it waiting; the main thread
is held still meanwhile. This is for the command only: a program that imports the package keeps its own ways.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
import time
from types import FrameType

from counterrank import temporary

SIGNALS = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
_watching = threading.Event()


def watch_command() -> None:
    """Watch from the first import on, if this process is the command `counterrank`."""
    called, words = os.path.basename(sys.argv[0]) if sys.argv else "", sys.orig_argv
    by_module = called == "-m" and "-m" in words[:-1] and words[words.index("-m") + 1] == "counterrank"
    if by_module or called in ("counterrank", "counterrank.exe"):
        watch()


def watch() -> None:
    """End on an interrupt, SIGTERM or SIGHUP from now on; signals that are ignored (as by nohup) stay so."""
    if _watching.is_set() or os.name != "posix" or threading.current_thread() is not threading.main_thread():
        return
    _watching.set()
    while (number := os.open(os.devnull, os.O_RDWR)) <= 2:  # no pipe of ours shall pass for stdin, stdout or stderr
        pass
    os.close(number)
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    for each in SIGNALS:
        if signal.getsignal(each) in (signal.SIG_DFL, signal.default_int_handler):
            signal.signal(each, _hold)
    signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    threading.Thread(target=_wait, args=(reading,), daemon=True, name="counterrank-signals").start()


def _wait(reading: int) -> None:
    while True:
        for number in os.read(reading, 16):
            if number in SIGNALS and signal.getsignal(number) is _hold:  # else someone else has taken it over
                _end(number)


def _hold(number: int, frame: FrameType | None) -> None:
    """The main thread waits here for its end; in a forked process, which has no thread to end it, it ends itself."""
    time.sleep(2)
    _end(number)


def _end(number: int) -> None:
    temporary.clear()
    time.sleep(0.005)  # a file that was just being made is there now
    temporary.clear()
    with contextlib.suppress(OSError):
        if os.isatty(2):
            os.write(2, b"\r\x1b[2K\x1b[?25h")  # a progress line hides the cursor
        os.write(2, b"counterrank: stopped\n")
    os._exit(128 + number)
