"""Every command that writes, stopped at any moment: the old file or the new file, and nothing left over."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from counterrank.cli import COMMANDS, app, function
from counterrank.cli.files import Writes, marks
from counterrank.regress import LinearPrior, Seen
from counterrank.service.prior import Prior
from counterrank.service.store import Store
from laws.accounting import parted
from seeds import in_turn
from service.service_worlds import NOON, shown, written

OLD = b"what was there before"
BAD = '{"query": "q", "items": ["a", "a"], "clicks": [0, 0], "day": 1}\n'
SIGNALS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL]
# stops itself when a file is about to be synced, or has just got its name
PROGRAM = """
import os, sys, time
where, number, sys.argv = sys.argv[1], int(sys.argv[2]), ["counterrank", *sys.argv[3:]]
def stopping(real, before):
    def stop(*given, **named):
        if not before:
            real(*given, **named)
        os.kill(os.getpid(), number)
        time.sleep(30)
    return stop
import counterrank.output
if where == "sync":
    counterrank.output._sync = stopping(None, True)
if where == "renamed":
    counterrank.output._sync_folder = stopping(counterrank.output._sync_folder, False)
from counterrank.cli import main
main()
"""
# stops itself when rankings have been set down on disk, for which it has little room in memory
SPILLING = """
import os, sys, time
number, sys.argv = int(sys.argv[1]), ["counterrank", *sys.argv[2:]]
from counterrank.engine import kept, spill, tallier
kept.KeptRows.holds = lambda self, rows: False
def start(self, plan, coder, room, real=tallier.Tallier.__init__):
    real(self, plan, coder, 64)
def write(self, *given, real=spill.Spill.write):
    real(self, *given)
    os.kill(os.getpid(), number)
    time.sleep(30)
tallier.Tallier.__init__, spill.Spill.write = start, write
from counterrank.cli import main
main()
"""
LOG = "{folder}/log.jsonl"
CASES = {
    "check": f"check {LOG} --bad-rows {{folder}}/out.jsonl",
    "evaluate": f"evaluate {LOG} --target logging --estimator ip,pbm --per-query {{folder}}/out.csv "
    "--report {folder}/out.html --bad-rows {folder}/out.jsonl",
    "compare": f"compare {LOG} --target uniform --per-query {{folder}}/out.parquet "
    "--report {folder}/out.html --bad-rows {folder}/out.jsonl",
    "backtest": f"backtest {LOG} --bad-rows {{folder}}/out.jsonl",
    "clicks": f"clicks {LOG} --model pbm,cm --out {{folder}}/out.jsonl --bad-rows {{folder}}/out-bad.jsonl",
    "optimize": f"optimize {LOG} --out {{folder}}/out.csv.gz --bad-rows {{folder}}/out.jsonl",
    "learn": f"learn {LOG} --out {{folder}}/out --report {{folder}}/out.html --bad-rows {{folder}}/out.jsonl",
    "log-export": "log export {folder}/store.db --out {folder}/out.parquet",
    "log-import": f"log import {LOG} --store {{folder}}/new.db --again --bad-rows {{folder}}/out.jsonl",
    "log-backup": "log backup {folder}/store.db --out {folder}/out.db",
    "serve": "serve --store {folder}/store.db --save-model {folder}/out",
    "rank": "rank {folder}/policy.jsonl --out {folder}/out.csv",
    "simulate": "simulate --out {folder}/out.parquet --impressions 20000 --queries 5 --better-out {folder}/out.csv "
    "--truth-out {folder}/out.json",
    "simulate-sessions": "simulate --sessions 300 --features {folder}/documents.jsonl --labels y --ranker bm25 "
    "--trials 1 --out {folder}/out.parquet --trace {folder}/out.jsonl --resume {folder}/out",
    "reproduce": "reproduce coverage --quick --out {folder}/out",
    "demo": "demo --out {folder}/out --impressions 2000",
}
LONG = {"reproduce", "demo"}  # outputs in a folder; a whole run takes long


@dataclass(frozen=True)
class Case:
    """A command in a folder of its own, and what a whole run of it writes."""

    words: list[str]
    folder: Path
    whole: dict[str, bytes]
    seconds: float

    def reset(self) -> None:
        for name in [*self.folder.glob("out*"), *self.folder.glob(".counterrank-*")]:  # SIGKILL leaves the latter
            shutil.rmtree(name) if name.is_dir() else name.unlink()
        shutil.rmtree(self.folder / "tmp", ignore_errors=True)
        (self.folder / "tmp").mkdir()
        for name in self.whole:
            if "/" not in name:
                (self.folder / name).write_bytes(OLD)

    def files(self) -> dict[str, bytes]:
        found = {str(path.relative_to(self.folder)): path for path in self.folder.rglob("*") if path.is_file()}
        return {name: p.read_bytes() for name, p in found.items() if name.startswith(("out", ".counterrank"))}

    def start(self, *program: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, *program, *self.words],
            env={**os.environ, "TMPDIR": str(self.folder / "tmp"), "COLUMNS": "100"},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )

    def check(self, number: int, code: int, said: str) -> None:
        """What must hold after a process ended by this signal, or before it came."""
        if number != signal.SIGKILL:
            assert code in (128 + number, 0, -number), said
            assert list((self.folder / "tmp").iterdir()) == []
            if code == -number:  # Python itself had not begun to run the command, or had ended it
                assert len({content == OLD for content in self.files().values()}) <= 1
            elif code:
                assert said == "counterrank: stopped\n"
        for name, content in self.files().items():
            if any(part.startswith(".counterrank-") for part in Path(name).parts):
                assert number == signal.SIGKILL, name
            elif content != OLD:
                assert _same(name, content, self.whole), name


def _same(name: str, content: bytes, whole: dict[str, bytes]) -> bool:
    """Whether a file is what a whole run writes. Pages tell when they were made, and files in folders have no whole run
    beside them: those must be complete of their kind."""
    ends = {".html": b"</html>", ".svg": b"</svg>", ".png": b"IEND\xaeB`\x82"}
    kind = Path(name).suffix
    if kind in ends:
        return content.rstrip().endswith(ends[kind])
    if name in whole:
        return content == whole[name]
    if kind == ".parquet":
        return pq.read_table(pa.BufferReader(content)).num_rows > 0
    assert kind == ".json", f"say how to tell that {name} is whole"
    return bool(json.loads(content))


@pytest.fixture(scope="module")
def log() -> str:
    draw = random.Random(3)
    rows = []
    for i in range(3000):
        items = draw.sample("abcdef", 4)
        clicks = [int(draw.random() < 0.3) for _ in items]
        rows.append(
            f'{{"query": "q{i % 7}", "items": {items}, "clicks": {clicks}, "day": {i % 3}}}\n'.replace("'", '"')
        )
    return "".join([*rows, BAD])


def _prior() -> Prior:
    model = LinearPrior()
    model.fit(Seen(np.arange(6.0)[:, None], np.arange(6.0) / 2, np.full(6, 9.0)))
    return Prior(None, (0.5, 3.0), ["height"], model)


def case(name: str, folder: Path, log: str) -> Case:
    folder.mkdir(exist_ok=True)
    (folder / "log.jsonl").write_text(log)
    (folder / "policy.jsonl").write_text('{"query": "q", "items": ["a", "b"]}\n')
    rows = (f'{{"query": "q{i // 8}", "item": "d{i}", "x": {i % 5}, "y": {i % 3}}}\n' for i in range(160))
    (folder / "documents.jsonl").write_text("".join(rows))
    if name.startswith("log-") or name == "serve":
        with Store.open(str(folder / "store.db")) as store:
            written(store, *(shown(at=NOON + i) for i in range(100)))
            if name == "serve":
                store.add_model(_prior().files(), {})
    (folder / "tmp").mkdir(exist_ok=True)
    words = CASES[name].format(folder=folder).split()
    if name in LONG:
        return Case(words, folder, {}, 6.0)
    started = time.perf_counter()
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 0, result.output
    made = Case(words, folder, {}, 1.5 + time.perf_counter() - started)
    return Case(words, folder, made.files(), made.seconds)


def test_every_command_that_writes_is_here() -> None:
    writing = {name for name in COMMANDS if any(isinstance(mark, Writes) for mark in marks(function(name)).values())}
    writing -= {"warm"}  # pieces of compiled code, each whole and checked by itself: see tests/output
    called = [parted(words)[0] for words in CASES.values()]
    assert set(called) == writing, "give each command that writes a line in CASES"
    for name in writing:
        for option, mark in marks(function(name)).items():
            if isinstance(mark, Writes) and not option.endswith("_out"):
                flag = f"--{option.replace('_', '-')} "
                assert any(flag in words for words in CASES.values() if parted(words)[0] == name)


@pytest.mark.parametrize("name", in_turn(list(CASES), every=3))
def test_stopped_while_writing(name: str, tmp_path: Path, log: str) -> None:
    """At the worst moments: a file is written and not yet synced, or it has just got its name."""
    turn = list(CASES).index(name)
    where, number = ("sync" if turn % 2 or name in LONG else "renamed"), SIGNALS[turn // 2 % 4]
    if name == "reproduce":
        pytest.skip("its first file comes after a minute, and is written as those of demo are")
    each = case(name, tmp_path / name, log)
    each.reset()
    process = each.start("-c", PROGRAM, where, str(int(number)))
    said = process.communicate(timeout=120)[1]
    assert process.returncode in (128 + number, -number)
    each.check(number, process.returncode, said)
    changed = [file for file, content in each.files().items() if content != OLD and not Path(file).name.startswith(".")]
    assert len(changed) == (1 if where == "renamed" else 0)


@pytest.mark.parametrize("number", SIGNALS[:3])
def test_stopped_with_rankings_on_disk(number: signal.Signals, tmp_path: Path, log: str) -> None:
    (tmp_path / "tmp").mkdir()
    (tmp_path / "log.jsonl").write_text(log.replace(BAD, ""))
    each = Case(["check", f"{tmp_path}/log.jsonl"], tmp_path, {}, 0.0)
    process = each.start("-c", SPILLING, str(int(number)))
    said = process.communicate(timeout=120)[1]
    assert process.returncode == 128 + number, said
    each.check(number, process.returncode, said)


@pytest.mark.parametrize("name", ["simulate", "evaluate", "reproduce"])
def test_stopped_at_some_moment(name: str, tmp_path: Path, log: str) -> None:
    draw = random.Random(len(name))
    each = case(name, tmp_path / name, log)
    for number in (signal.SIGTERM, signal.SIGKILL):
        _stopped(each, number, draw.uniform(0.3, 1.0) * min(each.seconds, 3.0))


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_stopped_at_any_moment(name: str, tmp_path: Path, log: str) -> None:
    draw = random.Random(name)
    each = case(name, tmp_path / name, log)
    for turn in range(60):
        _stopped(each, SIGNALS[turn % 4], draw.uniform(0.05, 1.1) * each.seconds)


def _stopped(each: Case, number: signal.Signals, after: float) -> None:
    each.reset()
    process = each.start("-m", "counterrank")
    time.sleep(after)
    process.send_signal(number)
    said = process.communicate(timeout=120)[1]
    each.check(number, process.returncode, said)
