"""One pass over the log of a setting; a short log is counted once for all that is asked of it."""

from __future__ import annotations

from counterrank.engine import Engine, open_engine
from counterrank.engine.plan import Pass, Plan
from counterrank.errors import NoneFound
from counterrank.late import soon
from counterrank.log import Log
from counterrank.log.version import version_of
from counterrank.setting.counted import counted_before, remember
from counterrank.setting.setting import Setting

FOLLOW = "counterrank.click.curve", "numpy.random"  # what is made of counts needs them, and counting does not


def count(setting: Setting, plan: Plan, engine: str | Engine) -> Pass:
    """What an engine counts; where the log has none of the queries that are judged, it is said whose they are."""
    whose = "the target has" if len(setting.judged) < 2 else "target and baseline both have"
    return count_log(setting.log, plan, engine, whose)


def count_log(log: Log, plan: Plan, engine: str | Engine, whose: str) -> Pass:
    """The same of a log without a setting."""
    opened = open_engine(engine)
    if (known := counted_before(log, plan, opened)) is not None:
        return known
    version = version_of(log.parts)
    soon(*FOLLOW)
    try:
        run = opened.count(log, plan)
    except NoneFound:
        raise NoneFound(
            f"{log.name}: {whose} rankings for none of the log's queries: are their ids the same?"
        ) from None
    remember(log, plan, run, version)
    return run
