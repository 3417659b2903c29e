"""`counterrank demo`: the whole story on a made-up log, in seconds."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from counterrank import temporary
from counterrank.cli.check import check
from counterrank.cli.common import console, print_table, say
from counterrank.cli.files import WRITES_FOLDER
from counterrank.errors import InputError
from counterrank.evaluate import compare, evaluate
from counterrank.evaluate.result import Row, number
from counterrank.learn import optimize
from counterrank.log.write import write_table
from counterrank.output import make_folder
from counterrank.policy import Policy, read_policy
from counterrank.simulate.log import write_log
from counterrank.simulate.truth import truth
from counterrank.simulate.world import make_world

MOST = 100_000_000  # impressions of a demo


def demo(
    out: Annotated[
        Path | None, typer.Option(help="Folder for the files of the demo. Default: a temporary one."), WRITES_FOLDER
    ] = None,
    impressions: Annotated[int, typer.Option(help="Impressions of the made-up log.")] = 50_000,
    seed: Annotated[int, typer.Option(help="The same seed gives the same demo.")] = 7,
) -> None:
    """Simulate a log, check it, judge three policies beside the truth, compare, optimize, and write a report.

    Example:

        counterrank demo --out demo
    """
    if not 100 <= impressions <= MOST or seed < 0:
        raise InputError(f"the demo needs 100 to {MOST:,} impressions, and a seed of 0 or more")
    folder = out or Path(temporary.make_folder("counterrank-demo-"))  # kept once the demo is through
    make_folder(folder, "--out")
    screen = console()

    def title(text: str) -> None:
        screen.print()
        screen.rule(text, align="left", style="cyan")

    title("1. A made-up click log: 40 queries, 12 items each, pages of 5, a tenth random")
    world = make_world(queries=40, items=12, k=5, users="pbm", seed=seed, uniform_share=0.1)
    log = folder / "clicks.parquet"
    write_log(world, log, impressions, seed=seed, days=7)
    policies = {"better": world.better(), "worse": world.worse()}
    for name, made in policies.items():
        made.save(folder / f"{name}.parquet")
    screen.print(f"$ counterrank simulate --out {log} …", style="dim", soft_wrap=True)

    title("2. What is in it, and how much can it answer?")
    screen.print(f"$ counterrank check {log}", style="dim", soft_wrap=True)
    check(str(log))

    title("3. Three policies, judged from the log alone, beside the truth")
    estimators = ["list", "ip", "pbm", "item", "rctr"]
    judged, remarks = {}, []
    for name in ("logging", *policies):
        true = float(truth(world, world.logging_policy() if name == "logging" else policies[name]))
        policy: Policy = read_policy(name if name == "logging" else folder / f"{name}.parquet")
        result = evaluate(str(log), policy, estimators=estimators)
        screen.print(f"$ counterrank evaluate {log} --target {_named(folder, name)}", style="dim", soft_wrap=True)
        judged[name] = [number(true, 3), *map(_cell, result.rows)]
        remarks += [f"{name}, {text}" for text in result.remarks() if text.startswith(estimators[0])]
    screen.print()
    rows = [[name, *cells] for name, *cells in zip(["truth", *estimators], *judged.values(), strict=True)]
    print_table(["policy", *judged], rows, title="clicks an impression, ± half a 95% interval")
    screen.print()
    say(
        [
            "pbm assumes what these users do, and ip less than that: both find the truth. list needs the very rankings "
            "to have been logged; item ignores positions; rctr says the log's mean, whatever the target.",
            *remarks[:2],
        ]
    )

    title("4. Ship it? One bound on the difference to the logging policy")
    better = folder / "better.parquet"
    asked = f"counterrank compare {log} --target {better}"
    screen.print(f"$ {asked}", style="dim", soft_wrap=True)
    answer = compare(str(log), read_policy(better))
    print_table(*answer.cells(), title=answer.summary())
    screen.print()
    say(answer.remarks())

    title("5. Better rankings from the log itself, by their lower bounds")
    learnt = folder / "learnt.parquet"
    screen.print(f"$ counterrank optimize {log} --click-model pbm --out {learnt}", style="dim", soft_wrap=True)
    found = optimize(str(log), click_model="pbm")
    write_table(found.policy_rows(), learnt)
    header, ranked = found.cells()
    print_table(header, ranked[:3], title=found.summary(), texts=(0, 1, 3))
    screen.print()
    known = {"logging": world.logging_policy(), "better": policies["better"], "learnt": found.policy}
    values = ", ".join(f"{name} {number(float(truth(world, policy)), 3)}" for name, policy in known.items())
    say([f"The truth, in clicks an impression: {values}."])

    title("6. All of it on one page, to show the others")
    pages = {}
    for name, command in {"comparison": asked, "evaluation": f"counterrank evaluate {log} --target {better}"}.items():
        pages[name] = folder / f"{name}.html"
        line = f"{command} --report {pages[name]}"
        screen.print(f"$ {line}", style="dim", soft_wrap=True)
        (answer if name == "comparison" else evaluate(str(log), read_policy(better))).report(pages[name], line)
    temporary.forget(str(folder))
    say([f"The files are in {folder}", "open in a browser:"])
    for path in pages.values():
        screen.print(str(path.absolute()), soft_wrap=True)


def _cell(row: Row) -> str:
    if row.value is None or row.upper is None:
        return "cannot tell"
    return f"{number(row.value, 3)} ± {number(row.upper - row.value, 2)}"


def _named(folder: Path, name: str) -> str:
    return "logging" if name == "logging" else str(folder / f"{name}.parquet")
