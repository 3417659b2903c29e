"""Impressions to fit to and impressions to judge by: two parts of a log, or two logs, over the same pairs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from counterrank.click.counts import ClickCounts
from counterrank.engine import Engine
from counterrank.errors import InputError, Unanswerable
from counterrank.ids import Codes
from counterrank.log import Log, Reading
from counterrank.records import dataclass
from counterrank.setting.click_counts import read_clicks
from counterrank.statistics.draws import dealt
from counterrank.statistics.pairs import Pairs, united
from counterrank.statistics.patterns import Patterns
from counterrank.words import counted


@dataclass(frozen=True)
class Halves:
    """What a model is fitted to, and what it is judged by."""

    train: ClickCounts
    test: Patterns
    log: ClickCounts  # the log that models are fitted to, with what was held out of it; without patterns
    told: str  # how they were parted
    reading: Reading  # of one log, or of both
    one_log: bool = True  # both are parts of one log

    @property
    def pairs(self) -> Pairs:
        return self.train.pairs

    def whole(self) -> ClickCounts:
        """The log that models are fitted to with its patterns, which are put together anew."""
        if not self.one_log:
            return self.train
        return replace(self.log, patterns=self.train.need_patterns("a whole log") + self.test)


def part(log: Log, test: Log | None, share: float, by: str, top: int | None, engine: Engine) -> Halves:
    """Two logs, or one log parted by impression or by day."""
    if test is not None:
        one, reading = read_clicks(log, engine=engine, top=top, patterns=True)
        shared = log.bad_rows is not None and log.bad_rows == test.bad_rows
        other, also = read_clicks(replace(test, joins=shared), engine=engine, top=top, patterns=True)
        return _of_logs(one, other, test.name, reading + also)
    if not 0 < share < 1:
        raise InputError(f"`holdout` is {share:g}: give the share to judge by, between 0 and 1, such as 0.2")
    if by == "day":
        return _by_day(log, share, top, engine)
    if by != "impression":
        raise InputError(f"`split` is {by!r}: give impression or day")
    counts, reading = read_clicks(log, engine=engine, top=top, patterns=True)
    assert counts.patterns is not None  # noqa: S101 - asked for
    out = dealt(counts.pairs, counts.patterns, [share, 1 - share])[0]
    return _halves(counts, out, f"{share:.0%} of the impressions, drawn by hash", reading)


def _halves(counts: ClickCounts, out: Codes, told: str, reading: Reading) -> Halves:
    patterns = counts.need_patterns("a part of a log")
    train, test = patterns.taken(patterns.impressions - out), patterns.taken(out)
    if not (train.total and test.total):
        raise Unanswerable(
            f"of {counted(patterns.total, 'impression')}, {test.total:,} were held out ({told}): give a longer log, "
            "or another share"
        )
    return Halves(ClickCounts.of(counts.pairs, train), test, replace(counts, patterns=None), told, reading)


def _by_day(log: Log, share: float, top: int | None, engine: Engine) -> Halves:
    """The last days, as many as hold the share."""
    counts, reading = read_clicks(log, engine=engine, top=top, patterns=True, by_day=True)
    patterns = counts.need_patterns("a split by days")
    found, n = np.unique(patterns.day, return_inverse=True)
    if len(found) < 2:
        raise Unanswerable(
            f"{log.name}: one day only: the last days cannot be held out; hold out a share of the impressions"
        )
    of_day = np.bincount(n, patterns.impressions)
    first = int(np.argmax(np.cumsum(of_day[::-1]) >= share * of_day.sum()))
    last = min(first + 1, len(found) - 1)
    out = np.where(patterns.day >= found[-last], patterns.impressions, 0)
    told = f"the last {last} of {len(found)} days" if last > 1 else f"the last of {len(found)} days"
    return _halves(counts, out, told, reading)


def _of_logs(one: ClickCounts, other: ClickCounts, name: str, reading: Reading) -> Halves:
    pairs, rows, queries = united([one.pairs, other.pairs])
    assert one.patterns is not None and other.patterns is not None  # noqa: S101, PT018 - asked for
    moved = [each.moved(rows[i], queries[i], pairs.positions) for i, each in enumerate((one.patterns, other.patterns))]
    train = ClickCounts.of(pairs, moved[0])
    return Halves(train, moved[1], replace(train, patterns=None), name, reading, one_log=False)
