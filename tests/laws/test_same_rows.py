"""The same rows give the same answer: any order, split, form and engine, counted or written out."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from forms import Form, answer, differences, without

from laws.accounting import parted, readers
from seeds import in_turn
from worlds import Row, write_rows

QUERIES = ["10", "9", "b", "a b", "007"]
ITEMS = ["30", "4", "x", "y", "é", "04"]

FORMS = {
    "shuffled": Form(seed=1),
    "three files of JSON Lines": Form("jsonl", files=3, seed=2),
    "csv in a folder that looks like a column": Form("csv", files=2, seed=3, folder="query=zzz"),
    "gzip": Form("csv.gz", seed=4),
    "long": Form("parquet", long=True, seed=5, folder="day=2024-01-01"),
    "long, in four files": Form("jsonl.gz", long=True, files=4, seed=6),
    "DuckDB": Form("duckdb", seed=7),
    "counted": Form(counted=True, seed=8),
    "counted, long, DuckDB": Form("duckdb", long=True, counted=True, seed=9),
}

COMMANDS = """
check
check --top 2
check --cluster user
evaluate --target T --metric clicks
evaluate --target T --metric clicks --estimator list,wlist,ip,wip,pbm,item,rctr,pi,wpi
evaluate --target T --metric clicks --examination em
evaluate --target T --metric clicks --examination 1,0.5,0.3 --weights dcg
evaluate --target T --metric clicks --top 2 --weights 1,0.5
evaluate --target T --metric clicks --clip auto
evaluate --target T --metric clicks --clip 1.5
evaluate --target T --metric clicks --logging propensity
evaluate --target T --metric clicks --logging propensity --clip 3
evaluate --target T --metric clicks --logging log
evaluate --target T --metric clicks --logging uniform
evaluate --target T --metric clicks --interval bootstrap
evaluate --target T --metric clicks --interval empirical-bernstein --reward-range 0,3
evaluate --target T --metric clicks --features F --estimator dm,dr
evaluate --target T --metric clicks --features F --estimator dm,dr --model lasso
evaluate --target T --metric clicks --features F --estimator dm,dr --model tree
evaluate --target T --metric clicks --estimator best
evaluate --target S --metric clicks --temperature 1
evaluate --target S --metric clicks --temperature 1 --features F --estimator dm,dr --model tree
evaluate --target S --metric clicks --temperature 1 --logging uniform
evaluate --target S --metric clicks --mix 0.2
evaluate --target logging --metric clicks
evaluate --target uniform --metric clicks
evaluate --target T
evaluate --target T --estimator list,wlist,pi,wpi,rctr
evaluate --target T --logging propensity
evaluate --target T --interval bootstrap
evaluate --target T --features F --estimator dm,dr --model tree
evaluate --target S --temperature 1
evaluate --target T --metric clicks --estimator rips,cdr
evaluate --target T --metric clicks --examination eb --cluster user
evaluate --target T --metric clicks --interval betting
evaluate --target logging --metric clicks --interval betting
evaluate --target T --interval betting --reward-range 0,3
evaluate --target T --metric clicks --interval betting --cluster user
compare --target T
compare --target T --metric clicks
compare --target T --target S --target uniform --metric clicks
compare --target T --metric clicks --cluster user
compare --target S --baseline T --metric clicks --estimator cdr
compare --target T --metric clicks --estimator genspec
compare --target T --estimator ip --metric clicks
compare --target T --estimator wlist
compare --target T --estimator pi --interval bootstrap
compare --target T --baseline S --temperature 1
compare --target S --baseline uniform --temperature 0.5
compare --target T --estimator dr --features F
backtest
backtest --top 2 --weights dcg
backtest --queries 3 --examination em
backtest --seed 5 --min-impressions 2
backtest --examination eb
clicks
clicks --split day
clicks --holdout 0.5 --prior fit
clicks --model pbm,ubm,dbn,ccm --scope query
optimize
optimize --holdout days
optimize --holdout 0.3
optimize --holdout 0.3 --by lp-ip --metric clicks
optimize --holdout 0.3 --delta auto --ignore day
optimize --delta auto
optimize --delta auto --ignore day
optimize --delta auto --click-model pbm
optimize --delta auto --click-model dcm --bound hoeffding
optimize --click-model pbm --bound bayes --prior grid
optimize --click-model dcm --bound kl --k 2
optimize --bound mle --min-impressions 30
optimize --by lp-list
optimize --by lp-ip --metric clicks
optimize --by lp-pbm --metric clicks --examination em
optimize --by lp-item --metric clicks
optimize --by ips
optimize --by ip-ips --metric clicks
optimize --by pi
optimize --by pi-opt --features F
optimize --by pi-opt --features F --model tree
optimize --by pi-opt --features F --model lightgbm --metric clicks
learn --out O
learn --out O --general T --special both --confidence 0.5 --seed 3
learn --out O --features F --model ridge --gate genspec --confidence none
log import --store D --again
""".strip().splitlines()


def make_log(seed: int = 3) -> list[Row]:
    """Users of the position-based model; rewards of few values, so that rows repeat."""
    rng = random.Random(seed)
    rows: list[Row] = []
    for number in range(260):
        query = rng.choice(QUERIES)
        items = [item for item in ITEMS if (hash_of(query + item) % 4) or item == "x"][:5]
        ranking = rng.sample(items, rng.choice([2, 3, 3]))
        clicks = [int(rng.random() < (0.2 + 0.1 * (hash_of(item) % 5)) / (k + 1)) for k, item in enumerate(ranking)]
        row: Row = {"query": query, "items": ranking, "clicks": clicks, "day": 1 + number % 4}
        row["reward"] = 0.1 * sum(clicks) + rng.choice([0.3, 1.7])
        row["propensity"] = rng.choice([0.05, 0.1])
        row["item_propensities"] = [rng.choice([0.2, 0.5]) for _ in ranking]
        row["impressions"] = rng.choice([1, 1, 1, 2, 5])
        row["user"] = f"u{rng.randint(1, 9)}"
        rows.append(row)
    return rows


def hash_of(text: str) -> int:
    return sum(ord(letter) * (place + 3) for place, letter in enumerate(text))


def write_policies(folder: Path, rows: list[Row]) -> dict[str, Path]:
    rng = random.Random(0)
    known = {query: sorted({a for row in rows if row["query"] == query for a in row["items"]}) for query in QUERIES}
    pairs = [(query, item) for query, items in known.items() for item in items]
    table = [{"query": q, "items": [*items[::-1], "new"][:4], "probability": 0.75} for q, items in known.items()]
    table += [{"query": q, "items": items[:3], "probability": 0.25} for q, items in known.items()]
    scores = [{"query": q, "item": a, "score": float(rng.randint(0, 3))} for q, a in pairs]
    features = [{"query": q, "item": a, "x": hash_of(a) % 7, "y": rng.gauss(0, 1)} for q, a in pairs]
    return {
        "T": write_rows(table, folder, "table", "parquet"),
        "S": write_rows(scores, folder, "scores", "parquet"),
        "F": write_rows(features, folder, "features", "jsonl"),
        "O": folder / "learnt",
        "D": folder / "store.db",
    }


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    below = tmp_path_factory.mktemp("same")
    rows = make_log()
    written = {name: form.write(rows, below / str(number)) for number, (name, form) in enumerate(FORMS.items())}
    return {"as it is": Form().write(rows, below / "plain"), **written, **write_policies(below, rows)}


def told(command: str, log: str, files: dict[str, Any], *more: str) -> Any:
    name, options = parted(command)
    return answer(name, log, *(files.get(word, word) for word in options), *more)


def test_every_command_that_reads_a_log_is_here() -> None:
    assert {parted(command)[0] for command in COMMANDS} == set(readers())


def by_ibis(command: str) -> bool:
    """Whether Ibis, which is slow to plan, is asked in every run.

    The first line of each command, and one in nine of all.
    """
    first = next(each for each in COMMANDS if parted(each)[0] == parted(command)[0])
    return command == first or COMMANDS.index(command) % 9 == 4


def engine_and_form(command: str) -> tuple[str, str]:
    return "ibis", "counted" if "clicks" in command else "shuffled"


def same(command: str, logs: dict[str, Any], others: list[tuple[str, str]]) -> None:
    """The log as it is gives the answer that others give, by engine and form."""
    expected = told(command, logs["as it is"], logs)
    assert "refused" not in expected
    for engine, name in others:
        found = told(command, logs[name], logs, "--engine", engine)
        assert not list(differences(bare(expected), bare(found)))[:5], (engine, name)


@pytest.mark.parametrize("command", in_turn(COMMANDS))
def test_rows_in_any_form_give_one_answer(command: str, logs: dict[str, Any]) -> None:
    """Every second command line on the log as it is and in one other form, in turn, and some by another engine."""
    form = list(FORMS)[COMMANDS.index(command) % len(FORMS)]
    same(command, logs, [("duckdb", form), *([engine_and_form(command)] if by_ibis(command) else [])])


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
def test_rows_in_every_form_give_one_answer(command: str, logs: dict[str, Any]) -> None:
    same(command, logs, [*(("duckdb", name) for name in FORMS), engine_and_form(command)])


def bare(said: Any) -> Any:
    """Without what is a matter of form: how many rows stand for the impressions, and who counted them."""
    return without(said, ("rows", "engine"))
