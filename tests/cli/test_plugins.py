"""Members of other packages: an estimator, a click model and a policy that are installed are used by their names."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

MINE = '''
import numpy as np
import pyarrow as pa
from counterrank.click import Fit
from counterrank.click.rates import Rate
from counterrank.estimate import ByClicks
from counterrank.policy import Policy, Table
from counterrank.policy.stored import Stored


class Tame(ByClicks):
    name = "tame"
    assumption = "as ip, and the target is near the logging policy"
    biased = "weights are drawn towards 1"

    def weights(self, evidence, target, logging):
        return evidence.ratio(target, 0.9 * logging + 0.1 * target)


class OfQuery(Rate):
    assumption = "Every item of a query is clicked with the same chance."

    def __init__(self, rates):
        self.rates = rates

    def click_probabilities(self, queries, rankings):
        return np.where(rankings >= 0, self.rates[queries][:, None], 0.0)

    @classmethod
    def fit(cls, counts, options):
        return Fit(cls(options.mean(counts.clicks_at().sum(axis=1), counts.shown_at().sum(axis=1))))


class Backwards(Policy):
    """Items in the reverse of their order as text."""

    kind = "backwards"

    def __init__(self, items):
        self.of = items
        self.table = Table.from_dict({q: sorted(of, reverse=True) for q, of in items.items()})

    def queries(self):
        return self.table.queries()

    def items(self):
        return self.table.items()

    def bind(self, pairs):
        return self.table.bind(pairs)

    def stored(self):
        table = pa.table({"query": list(self.of), "items": list(self.of.values())})
        return Stored.of(self.kind, tables={"items.parquet": table})

    @classmethod
    def restored(cls, stored):
        stored.only("items.parquet")
        rows = stored.columns("items.parquet", {"query": "id", "items": "ids"})
        return cls(dict(zip(*(column.to_pylist() for column in rows.columns))))
'''
POINTS = """
[counterrank.estimators]
tame = mine:Tame
ip = mine:Tame
other-name = mine:Tame
broken = mine_broken:Broken
no-estimator = mine:OfQuery
[counterrank.click_models]
of-query = mine:OfQuery
[counterrank.policies]
backwards = mine:Backwards
"""
ROWS = {"query": ["q"] * 4, "items": [["a", "b"]] * 3 + [["b", "a"]], "clicks": [[1, 0], [0, 0], [1, 1], [1, 0]]}


EVALUATED = ["evaluate", "log.jsonl", "--target", "policy"]
COMMANDS = {
    "estimator": [*EVALUATED, "--json", "--estimator", "tame,ip,rctr"],
    "model": ["clicks", "log.jsonl", "--test", "log.jsonl", "--model", "of-query", "--json"],
    "unknown": [*EVALUATED, "--estimator", "tamme"],
}
ASK = """
import json, sys
import mine
from counterrank.cli import app
from typer.testing import CliRunner
mine.Backwards({'q': ['a', 'b']}).save('policy')
ended = {name: CliRunner().invoke(app, words) for name, words in json.loads(sys.argv[1]).items()}
print(json.dumps({name: [each.exit_code, each.stdout, each.stderr] for name, each in ended.items()}))
"""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a package, as an installer leaves it, and a log."""
    folder = tmp_path_factory.mktemp("site")
    (folder / "mine.py").write_text(MINE)
    (folder / "mine_broken.py").write_text("raise RuntimeError('out of\\norder')")
    about = folder / "mine-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: mine\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(POINTS)
    (folder / "log.jsonl").write_text("".join(json.dumps(dict(zip(ROWS, row))) + "\n" for row in zip(*ROWS.values())))  # noqa: B905
    return folder


@pytest.fixture(scope="module")
def said(place: Path) -> dict[str, str]:
    """What the commands said in one Python with that package: answers, or the one line of an error."""
    found = json.loads(run(place, "-c", ASK, json.dumps(COMMANDS)))
    for name, (code, _, stderr) in found.items():
        assert (code, stderr.count("\n")) == ((2, 1) if name == "unknown" else (0, 0)), stderr
    return {name: stderr or stdout for name, (_, stdout, stderr) in found.items()}


def run(folder: Path, *words: str) -> str:
    """What a Python with that package prints."""
    paths = os.pathsep.join([str(folder), *filter(None, sys.path)])
    done = subprocess.run(
        [sys.executable, *words], capture_output=True, text=True, check=False, cwd=folder,
        env={**os.environ, "PYTHONPATH": paths, "COLUMNS": "200", "NO_COLOR": "1"},
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return done.stdout


def test_an_estimator_and_a_policy(said: dict[str, str]) -> None:
    values = {row["estimator"]: row["value"] for row in json.loads(said["estimator"])["estimates"]}
    # b at 1 came once in four, and was clicked then: a weight of 4, or of 1 / (0.9/4 + 0.1)
    assert values == {"tame": pytest.approx(1 / 1.3), "ip": 1.0, "rctr": 1.0}


def test_a_click_model(said: dict[str, str]) -> None:
    assert [row["model"] for row in json.loads(said["model"])["models"]] == ["of-query"]


def test_help_lists_them(place: Path) -> None:
    told = {}
    for name in ("evaluate", "clicks"):
        shown = run(place, "-m", "counterrank", name, "--help")
        told[name] = " ".join(shown.replace("│", " ").split())
    assert "dr-list, broken, no-estimator, other-name, tame; left out: mine 1.0 offers 'ip', a name" in told["evaluate"]
    assert "ccm, of-query" in told["clicks"]


def test_what_cannot_be_used_is_said_in_one_line(said: dict[str, str], place: Path) -> None:
    assert "did you mean 'tame' or 'other-name'? Choose from list" in said["unknown"]
    code = """
import counterrank as cr
for name, words in {
    "broken": "estimator 'broken' of mine 1.0 cannot be used (RuntimeError: out of): mend that package",
    "other-name": "(it calls itself 'tame')",
    "no-estimator": "(TypeError: ",
}.items():
    try:
        cr.evaluate("log.jsonl", "logging", estimators=["ip", name])
    except cr.InputError as error:
        assert words in str(error), error
    else:
        raise SystemExit(name)
"""
    run(place, "-c", code)


def test_packages_are_looked_at_only_where_one_is_meant(place: Path) -> None:
    """Neither for the version nor for answers of ours; and what one asks for does not change another's answer."""
    code = """
import importlib.metadata
from counterrank.cli import app
from typer.testing import CliRunner
import counterrank as cr
from counterrank.fitting.clicks import model_names
real = importlib.metadata.entry_points
def forbidden(group="", **more):
    assert not group.startswith("counterrank")
    return real(group=group, **more) if group else real(**more)
importlib.metadata.entry_points = forbidden
assert CliRunner().invoke(app, ["--version"]).exit_code == 0
log, target = cr.read_log("log.jsonl"), {"q": ["b", "a"]}
before = [row.estimator for row in cr.evaluate(log, target).rows]
model_names(None)
importlib.metadata.entry_points = real
assert cr.evaluate(log, target, estimators="tame").value("tame")
assert before == [row.estimator for row in cr.evaluate(log, target).rows]
from counterrank.estimate import ESTIMATORS
assert ESTIMATORS.get("tame") and ESTIMATORS.get("nobody") is None and "nobody" not in ESTIMATORS
"""
    run(place, "-c", code)


def test_the_laws_judge_them(said: dict[str, str], place: Path) -> None:
    code = """
import mine
from counterrank.checks import check_click_model, check_estimator, check_policy
from counterrank.click import FITS
from counterrank.estimate import ESTIMATORS
from counterrank.policy import read_policy
check_estimator(ESTIMATORS["tame"])
check_click_model(FITS["of-query"])
check_click_model(mine.OfQuery)
check_policy(read_policy("policy"))
"""
    run(place, "-c", code)
