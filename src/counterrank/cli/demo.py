"""`counterrank demo`: the whole story on a made-up log, in seconds."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from counterrank import temporary
from counterrank.cli.check import check
from counterrank.cli.files import WRITES_FOLDER
from counterrank.cli.options import LogOptions
from counterrank.cli.tables import console, print_answer, print_table, say
from counterrank.comparing.compare import compare
from counterrank.errors import InputError
from counterrank.judging.evaluate import evaluate
from counterrank.learning.learn import learn
from counterrank.log.write import write_table
from counterrank.optimizing.optimize import optimize
from counterrank.output import make_folder
from counterrank.policy import read_policy
from counterrank.result.row import Row
from counterrank.simulate.log import write_log
from counterrank.simulate.truth import truth
from counterrank.simulate.world import make_world
from counterrank.words import number

MOST = 100_000_000  # impressions of a demo


def demo(
    out: Annotated[
        Path | None, typer.Option(help="Folder for the files of the demo. Default: a temporary one."), WRITES_FOLDER
    ] = None,
    impressions: Annotated[int, typer.Option(help="Impressions of the made-up log.")] = 50_000,
    seed: Annotated[int, typer.Option(help="The same seed gives the same demo.")] = 7,
) -> None:
    """Simulate a log, check it, judge three policies beside the truth, compare, optimize, report, and learn.

    Example:

        counterrank demo --out demo
    """
    if not 100 <= impressions <= MOST or seed < 0:
        raise InputError(f"the demo needs 100 to {MOST:,} impressions, and a seed of 0 or more")
    folder = out or Path(temporary.make_folder("counterrank-demo-"))  # kept once the demo is through
    make_folder(folder, "--out")
    tour = Tour(folder, impressions, seed)
    tour.simulate()
    tour.check()
    tour.judge()
    tour.compare()
    tour.optimize()
    pages = [*tour.report(), tour.learn()]
    temporary.forget(str(folder))
    say(["To see a ranking service learn from clicks: counterrank serve --demo"])
    say([f"The files are in {folder}", "open in a browser:"])
    for path in pages:
        console().print(str(path.absolute()), soft_wrap=True)


class Tour:
    """The steps of the demo, each with the command that would do the same."""

    def __init__(self, folder: Path, impressions: int, seed: int) -> None:
        self.folder, self.impressions, self.seed = folder, impressions, seed
        self.screen = console()
        self.log, self.better = folder / "clicks.parquet", folder / "better.parquet"
        self.world = make_world(queries=40, items=12, k=5, users="pbm", seed=seed, uniform_share=0.1)
        self.policies = {"better": self.world.better(), "worse": self.world.worse()}

    def title(self, text: str) -> None:
        self.screen.print()
        self.screen.rule(text, align="left", style="cyan")

    def command(self, line: str) -> None:
        self.screen.print(f"$ counterrank {line}", style="dim", soft_wrap=True)

    def simulate(self) -> None:
        self.title("1. A made-up click log: 40 queries, 12 items each, pages of 5, a tenth random")
        write_log(self.world, self.log, self.impressions, seed=self.seed, days=7)
        for name, made in self.policies.items():
            made.save(self.folder / f"{name}.parquet")
        self.command(f"simulate --out {self.log} …")

    def check(self) -> None:
        self.title("2. What is in it, and how much can it answer?")
        self.command(f"check {self.log}")
        check(source=LogOptions(log=str(self.log)))

    def judge(self) -> None:
        self.title("3. Three policies, judged from the log alone, beside the truth")
        estimators = ["list", "ip", "pbm", "item", "rctr"]
        judged, remarks = {}, []
        for name in ("logging", *self.policies):
            policy = self.world.logging_policy() if name == "logging" else self.policies[name]
            file = "logging" if name == "logging" else str(self.folder / f"{name}.parquet")
            result = evaluate(str(self.log), read_policy(file), estimators=estimators)
            self.command(f"evaluate {self.log} --target {file}")
            judged[name] = [number(float(truth(self.world, policy)), 3), *map(_cell, result.rows)]
            remarks += [f"{name}, {estimators[0]}: {text}" for text in result[estimators[0]].warnings]
        self.screen.print()
        rows = [[name, *cells] for name, *cells in zip(["truth", *estimators], *judged.values(), strict=True)]
        print_table(["policy", *judged], rows, title="clicks an impression, ± half a 95% interval")
        self.screen.print()
        say(
            [
                "pbm assumes what these users do, and ip less than that: both find the truth. list needs the very "
                "rankings to have been logged; item ignores positions; rctr says the log's mean, whatever the target.",
                *remarks[:2],
                result.reading.line(),
            ]
        )

    def compare(self) -> None:
        self.title("4. Ship it? One bound on the difference to the logging policy")
        self.command(f"compare {self.log} --target {self.better}")
        self.answer = compare(str(self.log), read_policy(self.better))
        print_answer(self.answer)
        self.screen.print()
        say(self.answer.remarks())

    def optimize(self) -> None:
        self.title("5. Better rankings from the log itself, by their lower bounds")
        learnt = self.folder / "learnt.parquet"
        self.command(f"optimize {self.log} --click-model pbm --out {learnt}")
        found = optimize(str(self.log), click_model="pbm")
        write_table(found.policy_rows(), learnt)
        header, ranked = found.cells()
        print_table(header, ranked[:3], title=found.summary(), texts=(0, 1, 3))
        self.screen.print()
        known = {"logging": self.world.logging_policy(), "better": self.policies["better"], "learnt": found.policy}
        values = ", ".join(f"{name} {number(float(truth(self.world, policy)), 3)}" for name, policy in known.items())
        say([f"The truth, in clicks an impression: {values}.", found.reading.line()])

    def report(self) -> list[Path]:
        """Both pages."""
        self.title("6. All of it on one page, to show the others")
        pages = []
        for name, command in {"comparison": "compare", "evaluation": "evaluate"}.items():
            pages.append(self.folder / f"{name}.html")
            line = f"{command} {self.log} --target {self.better} --report {pages[-1]}"
            self.command(line)
            asked = name == "comparison"
            result = self.answer if asked else evaluate(str(self.log), read_policy(self.better))
            result.report(pages[-1], f"counterrank {line}", log=str(self.log))
        return pages

    def learn(self) -> Path:
        """A policy in which each query has what won, and its page."""
        self.title("7. A policy that acts only where it was seen to win")
        out, page = self.folder / "safe", self.folder / "learning.html"
        line = f"learn {self.log} --out {out} --report {page}"
        self.command(line)
        found = learn(str(self.log))
        found.save(out)
        self.screen.print(found.headline(), soft_wrap=True)
        known = {"logging": self.world.logging_policy(), "safe": found.policy}
        values = ", ".join(f"{name} {number(float(truth(self.world, policy)), 3)}" for name, policy in known.items())
        say([f"The truth, in clicks an impression: {values}.", *found.remarks()[1:]])
        return found.report(page, f"counterrank {line}")


def _cell(row: Row) -> str:
    if row.value is None or row.upper is None:
        return "cannot tell"
    return f"{number(row.value, 3)} ± {number(row.upper - row.value, 2)}"
