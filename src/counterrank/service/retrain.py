"""Retraining of the prior, in a process of its own: a version that worked serves at once, one that failed never."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from counterrank.errors import InputError
from counterrank.policy.directory import write_directory
from counterrank.regress import LinearPrior
from counterrank.regress.prior import Seen, without_features
from counterrank.service.follow import number
from counterrank.service.metrics import Metrics
from counterrank.service.prior import Prior
from counterrank.service.scoring import CLICKS, EXPOSURE, SHOWN, UNIT, WEIGHTED
from counterrank.service.settings import Settings
from counterrank.service.state import State
from counterrank.service.store import Store

log = logging.getLogger("counterrank.service")
LIMIT = 1800.0  # seconds that a retraining may take


class Retraining:
    """When to retrain: every n feedbacks, or every so many hours."""

    def __init__(self, settings: Settings, store: Store, metrics: Metrics) -> None:
        self.settings, self.store, self.metrics = settings, store, metrics
        self.process: subprocess.Popen[str] | None = None
        self.begun = 0.0
        self.at = time.monotonic()
        self.count: int | None = None
        self._counted: tuple[int, int] | None = None  # up to which event feedback is counted, and how much it is

    def look(self) -> None:
        """Begin one if it is time, and see what became of the last."""
        if self.process is not None:
            self._finish()
            return
        feedback = self._feedback()
        if self.count is None:
            trained = [int(m.notes.get("feedback", 0)) for m in self.store.models()]
            self.count = max(trained, default=0)
        every, hours = self.settings.retrain_every, self.settings.retrain_hours
        due = (every > 0 and feedback - self.count >= every) or (
            hours is not None and feedback > self.count and time.monotonic() - self.at >= hours * 3600
        )
        if due:
            self.count, self.at = feedback, time.monotonic()
            self.begin()

    def _feedback(self) -> int:
        """How much feedback ever came: what was there is counted once, then only what is new."""
        last = self.store.last()
        if self._counted is None:
            self._counted = (last, feedback_count(self.store, until=last))
        since, total = self._counted
        self._counted = (last, total + feedback_count(self.store, since, last))
        return self._counted[1]

    def begin(self) -> None:
        job = {name: getattr(self.settings, name) for name in ("store", "examination", "evidence")}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "counterrank.service.retrain"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            text=True, env={**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}, process_group=0,
        )  # fmt: skip
        self.begun = time.monotonic()
        self.metrics.add("retraining", 1.0)
        assert self.process.stdin is not None  # noqa: S101
        self.process.stdin.write(json.dumps(job))
        self.process.stdin.close()

    def _finish(self) -> None:
        assert self.process is not None  # noqa: S101
        code = self.process.poll()
        if code is None and time.monotonic() - self.begun < LIMIT:
            return
        if code is None:
            self.process.kill()
            self.process.wait()
        said = self.process.stdout.read() if self.process.stdout is not None else ""
        self.process = None
        self.metrics.add("retraining", -1.0)
        self.metrics.add("retrained" if code == 0 else "retrain_failures")
        log.log(
            logging.INFO if code == 0 else logging.ERROR,
            "retrained" if code == 0 else "retraining failed",
            extra={"fields": {"code": code, "said": said.strip()[:300]}},
        )

    def stop(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()


def feedback_count(store: Store, since: int | None = None, until: int | None = None) -> int:
    """How much feedback came after an event, up to another; from the first on, what is folded away counts too."""
    text = store.database.statement("SELECT COUNT(*) FROM feedback WHERE sequence > ? AND sequence <= ?")
    with store.database.reading() as connection:
        span = (since or 0, (1 << 62) if until is None else until)
        found = int(connection.exec_driver_sql(text, span).scalar() or 0)
        return found if since is not None else found + number(connection, "base_feedback")[0]


def train(store: Store, examination: str, evidence: str) -> dict[str, object]:
    """Fit the prior to all evidence, as the next version, which serves at once."""
    store.fold()
    settings = Settings(examination=examination, evidence=evidence)
    state = State(settings.curve())
    state.put(store.features_since(0)[1])
    state.load(store.load())
    counts = state.counts[1 : len(state)]
    shown = counts[:, SHOWN] > 0
    columns = (CLICKS, EXPOSURE) if evidence == "exposure" else (WEIGHTED, SHOWN)
    units = {CLICKS: 1.0, SHOWN: 1.0, EXPOSURE: UNIT, WEIGHTED: UNIT}
    clicks, looks = (counts[shown, column] / units[column] for column in columns)
    source = state.source[1 : len(state)][shown]
    names = list(state.names)
    x = np.full((len(source), len(names)), np.nan)
    if names:
        x[source >= 0] = state.features[source[source >= 0]][:, : len(names)]
    seen = Seen(x, np.asarray(clicks, dtype=np.float64), np.asarray(looks, dtype=np.float64))
    if not len(clicks):
        raise InputError("there is no evidence yet: nothing to train on")
    bare = Seen(x[source < 0], seen.clicks[source < 0], seen.looks[source < 0])
    plain = without_features(bare if len(bare.x) else seen)
    model = None
    if len(seen.shown().x):
        model = LinearPrior()
        model.fit(seen)
    prior = Prior(None, plain, names if model is not None else [], model)
    _check(prior, x, names)
    notes = {
        "pairs": len(clicks), "with_features": int((source >= 0).sum()), "features": len(names), "plain": list(plain),
        "feedback": feedback_count(store), "as_of": store.last(),
    }  # fmt: skip
    added = store.add_model(prior.files(), notes)
    return {"version": added.version, **notes}


def _check(prior: Prior, x: object, names: list[str]) -> None:
    """A prior that gives anything but positive numbers shall not serve."""
    beliefs = prior.beliefs(np.asarray(x), names)
    if not (np.isfinite(beliefs).all() and (beliefs > 0).all()):
        raise InputError("the prior came out without a positive value for some item")
    Prior.of_files(prior.files())


def rollback(store: Store, version: int | None = None) -> int:
    """Let an earlier version serve; none: the last whole one before the one that serves. A damaged one never does."""
    if version is not None:
        model_of(store, version)
        return store.activate_model(version).version
    models = store.models()
    serving = [m.version for m in models if m.active]
    for earlier in sorted((m.version for m in models if serving and m.version < serving[0]), reverse=True):
        with contextlib.suppress(InputError):
            return rollback(store, earlier)
    raise InputError("there is no earlier model to go back to")


def model_of(store: Store, version: int | None = None) -> tuple[int, Prior]:
    """A version and its prior, found whole; none: the one that serves."""
    found = store.model(version)
    if found is None and version is None:
        raise InputError("no model serves yet: there is one once a retraining has been done")
    if found is None:
        known = ", ".join(str(m.version) for m in store.models()) or "none"
        raise InputError(f"there is no model {version} in the store: choose from {known}")
    return found.version, Prior.of_files(found.files, str(found.version))


def save_model(store: Store, path: str | Path, version: int | None = None) -> int:
    """Write a version (none: the one that serves) as a policy directory; which it was."""
    found, prior = model_of(store, version)
    write_directory(prior.stored(), path)
    return found


def main() -> None:
    """Read a job from stdin, train, and print what came of it."""
    job = json.load(sys.stdin)
    store = Store.open(job["store"], create=False)
    try:
        print(json.dumps(train(store, job["examination"], job["evidence"])))
    except InputError as error:
        print(error)
        sys.exit(2)
    finally:
        store.close()


if __name__ == "__main__":
    main()
