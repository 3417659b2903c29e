"""The service as it runs, with workers that are killed."""

from __future__ import annotations

import http.client
import json
import random
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from counterrank.service.store import Store
from service.conftest import control, postgres_url
from service.processes import Served, command, until


def load(served: Served, stop: threading.Event, done: dict[str, Any], number: int) -> None:
    """One caller, who notes what was acknowledged; what is cut off it tries again, by the same request and event."""
    line, turn = served.line(), 0
    while not stop.is_set():
        turn += 1
        body = {"query": f"q{turn % 3}", "items": list("abcdefgh"), "k": 4, "request": f"r{number}-{turn}"}
        found = again(served, line, "/rank", body)
        page = [each["item"] for each in found["ranking"]]
        given = {"impression": found["impression"], "event": f"e{number}-{turn}", "clicks": page[:1]}
        again(served, line, "/feedback", given)
        done[found["impression"]] = given["event"]


def again(served: Served, line: http.client.HTTPConnection, path: str, body: Any) -> Any:
    for _ in range(1000):
        try:
            status, found = served.call("POST", path, body, line)
        except (OSError, http.client.HTTPException):
            line.close()
            time.sleep(0.05)
            continue
        assert status in (200, 503), found
        if status == 200:
            return found
        time.sleep(0.1)
    raise AssertionError("no answer")


def loaded(folder: Path, disturb: Callable[[Served, dict[str, Any]], None], store: str | None = None) -> None:
    """Under load something is done to a service; all that was acknowledged is there once, and evidence is its fold."""
    done: dict[str, Any] = {}
    with command(folder, "--workers", "2", store=store) as served:
        stop = threading.Event()
        callers = [threading.Thread(target=load, args=(served, stop, done, n)) for n in range(4)]
        for caller in callers:
            caller.start()
        disturb(served, done)
        until(lambda: len(served.workers()) == 2, 120)
        stop.set()
        for caller in callers:
            caller.join(120)
    opened = Store.open(store or f"sqlite:///{folder}/store.db")
    try:
        with opened.database.reading() as connection:
            rows = connection.exec_driver_sql(
                "SELECT impressions.impression, feedback.event FROM feedback "
                "JOIN impressions ON impressions.sequence = feedback.shown"
            ).fetchall()
            shown = connection.exec_driver_sql("SELECT COUNT(*), COUNT(DISTINCT impression) FROM impressions").one()
        found: dict[str, str] = dict(rows)
        assert len(rows) == len(found)
        assert shown[0] == shown[1] >= len(done)
        assert {impression: found.get(impression) for impression in done} == done
        assert opened.verify().differences == 0
    finally:
        opened.close()


def kills(number: int) -> Callable[[Served, dict[str, Any]], None]:
    """Workers, and the processes that write for them, are killed at random moments."""
    rng = random.Random(1)

    def disturb(served: Served, done: dict[str, Any]) -> None:
        for _ in range(number):
            before = len(done)
            until(lambda: len(done) > before + 5 and len(served.workers()) == 2, 180)  # noqa: B023
            time.sleep(rng.random() * 0.2)
            served.kill_one(rng)

    return disturb


def test_a_killed_worker_loses_nothing(tmp_path: Path) -> None:
    loaded(tmp_path, kills(2))


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_two_hundred_kills_lose_nothing(tmp_path: Path, kind: str, request: pytest.FixtureRequest) -> None:
    store = None if kind == "sqlite" else postgres_url(request.getfixturevalue("postgres"))
    loaded(tmp_path, kills(200), store)


@pytest.mark.slow
def test_a_postgres_that_is_restarted_under_load_loses_nothing(tmp_path: Path, postgres: Any) -> None:
    """`again` takes no answer but 200 and 503."""
    away = []

    def disturb(served: Served, done: dict[str, Any]) -> None:
        for turn in range(10):
            before = len(done)
            until(lambda: len(done) > before + 50, 120)  # noqa: B023
            control(postgres, "restart", ("fast", "immediate")[turn % 2])
        before = len(done)
        until(lambda: len(done) > before + 50, 120)
        text = served.text("/metrics")
        away.extend(re.findall(r'counterrank_requests_total{route="\w+",status="503"} (\S+)', text))

    loaded(tmp_path, disturb, postgres_url(postgres))
    assert sum(map(float, away)) > 0


def test_the_kill_switch_under_load(tmp_path: Path) -> None:
    """Both workers answer; after the switch's answer no page explores any more."""
    with command(tmp_path, "--workers", "2", "--randomise", "1") as served:
        stop, began = threading.Event(), []
        wrong: list[Any] = []
        answers: list[str] = []

        def ask() -> None:
            line = served.line()
            while not stop.is_set():
                after = bool(began)
                status, found = served.call("POST", "/rank", {"query": "q", "items": list("abcdefgh"), "k": 3}, line)
                answers.append(found.get("impression"))
                if status != 200 or (after and (found["explored"] or found["randomise"] > 0)):
                    wrong.append((status, found))

        callers = [threading.Thread(target=ask) for _ in range(6)]
        for caller in callers:
            caller.start()
        time.sleep(1.0)
        assert served.call("PUT", "/policy", {"exploration": 0, "randomise": 0})[0] == 200
        began.append(True)
        time.sleep(1.0)
        stop.set()
        for caller in callers:
            caller.join(120)
        assert not wrong
        assert served.call("GET", "/policy")[1]["randomise"] == 0
    with Store.open(f"sqlite:///{tmp_path}/store.db") as store, store.database.reading() as connection:
        stored = connection.exec_driver_sql("SELECT impression FROM impressions").scalars().all()
    assert sorted(stored) == sorted(answers)  # each page that counts was answered


def test_without_tokens_only_loopback(tmp_path: Path) -> None:
    words = ["serve", "--host", "0.0.0.0", "--port", "0"]  # noqa: S104
    done = subprocess.run([sys.executable, "-m", "counterrank", *words], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 2
    assert "--tokens" in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    "words",
    [["--k", "101"], ["--examination", "2"], ["--store", "mysql://x"], ["--config", "none"], ["--policies", "none"],
     ["--policy", "none"], ["--policy", "../x"], ["--tokens", "none"]],
)  # fmt: skip
def test_bad_settings_are_said_in_one_line(words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    from typer.testing import CliRunner

    from counterrank.cli import app

    done = CliRunner().invoke(app, ["serve", "--port", "0", *words])
    assert done.exit_code == 2
    assert len(done.stderr.strip().splitlines()) == 1


def test_settings_from_flags_environment_and_file(tmp_path: Path) -> None:
    from counterrank.service.settings import read_settings

    (tmp_path / "c.toml").write_text('k = 3\npool = 7\n"new-share" = 0.5\nexamination = [1, 0.5, 0.2]\n')
    environment = {"COUNTERRANK_POOL": "9", "COUNTERRANK_FAIL_OPEN": "true"}
    found = read_settings({"randomise": 0.5, "k": None}, tmp_path / "c.toml", environment)
    assert (found.k, found.pool, found.new_share, found.randomise, found.fail_open) == (3, 9, 0.5, 0.5, True)
    assert found.curve() == [1.0, 0.5, 0.2]
    assert json.dumps(found.__dict__)
