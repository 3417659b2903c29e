"""`counterrank reproduce`: the papers' tables and figures on data at hand."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from counterrank.cli.common import print_json
from counterrank.cli.files import READS, WRITES_FOLDER
from counterrank.cli.options import AnswerOptions
from counterrank.cli.tables import console, print_table, say
from counterrank.lab import REPRODUCTIONS, load
from counterrank.output import make_folder, write


def reproduce(
    paper: Annotated[str, typer.Argument(help=f"Which: {', '.join(REPRODUCTIONS)}.")],
    data: Annotated[
        Path | None, typer.Option(envvar="COUNTERRANK_DATA", help="The folder with the papers' data sets."), READS
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Write the pictures (PNG and SVG) and numbers.json here."), WRITES_FOLDER
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Fewer clips, draws and runs, smaller simulations.")] = False,
    answer: AnswerOptions = AnswerOptions(),
) -> None:
    """Reproduce a paper's tables and figures, beside its own numbers; or measure how often our intervals are right.

    Examples:

        counterrank reproduce li2018 --data DIR --out pictures

        counterrank reproduce swaminathan2017 --data DIR --quick --json

        counterrank reproduce genspec2021 --data DIR --out pictures

        counterrank reproduce coverage --quick
    """
    run = load(paper)
    result = run(data, out, quick)
    if out is not None:
        make_folder(out, "--out")
        write(out / "numbers.json", result.to_json().encode())
    if answer.as_json:
        print_json(result.to_json())
        return
    for table in result.tables:
        print_table(table.header, table.rows, table.title)
        console().print()
    console().print(result.claims, style="bold")
    grid = Table.grid(padding=(0, 2))
    for finding in result.findings:
        paper_says = f" (paper: {finding.paper})" if finding.paper else ""
        grid.add_row(finding.holds, f"{finding.claim}, on {finding.where}{paper_says}")
        grid.add_row("", finding.measured, style="dim")
    console().print(grid)
    say([*result.remarks(), *([f"{len(result.pictures)} pictures are in {out}"] if result.pictures else [])])
