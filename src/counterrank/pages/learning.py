"""The page of what was learnt: which policy acts where, what each gains, and how the general model came about."""

from __future__ import annotations

import platform
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from counterrank.output import write
from counterrank.pages.shared import footer, tiles
from counterrank.pages.write import SIZES, check_page
from counterrank.policy.genspec import ACTS
from counterrank.report import (
    LARGEST,
    Cell,
    Child,
    Column,
    Reference,
    Section,
    Series,
    Whisker,
    bullets,
    element,
    facts,
    ident,
    lines,
    page,
    paragraph,
    sentence,
    table,
    whiskers,
)
from counterrank.version import __version__
from counterrank.words import counted, figure_of, level, share_of, spread_of

if TYPE_CHECKING:
    from counterrank.learning.result import Learning

LARGEST_GAINS = 12  # queries in the picture
WHO = {
    "logging": "the logging policy: nothing was seen to beat it",
    "general": "the general policy, which won over all queries together",
    "special": "what clicks taught about the query itself",
    "posterior": "what clicks taught about the query, shrunk to what is known of items like these",
}


def write_learning(result: Learning, path: Path, command: str | None) -> Path:
    """Write the page, smaller where it would be too large to mail."""
    check_page(path)
    for rows, longest in SIZES:
        content = render(result, command, rows, longest).encode()
        if len(content) < LARGEST:
            break
    write(path, content)
    return path


def render(result: Learning, command: str | None, rows: int, longest: int) -> str:
    title = _title(result)
    header: list[Child] = [
        paragraph("Learning · ", sentence(result.log, 200), " · ", result.summary(), class_="kicker"),
        element("h1", title),
        paragraph(_lead(result), class_="lead"),
        tiles(_tiles(result)),
    ]
    sections = [
        Section("acts", "Who acts", "Which policy acts where", _acts(result)),
        Section("gains", "Gains", "What the largest queries gain", _gains(result)),
        Section("queries", "Queries", "Query by query", _queries(result, rows, longest)),
        Section("training", "Training", "How the general model came about", _training(result)),
        Section("positions", "Positions", "By position", _positions(result)),
        Section("notes", "Notes", "What to know of it", bullets([sentence(note) for note in result.notes])),
        Section("again", "Again", "How to get this page again", _again(result, command)),
    ]
    return page(f"{title} – counterrank", header, sections, footer())


def _title(result: Learning) -> str:
    moved = 1 - result.served["logging"]
    if moved <= 0:
        return "Nothing was seen to beat the logging policy"
    return f"Another policy acts for {share_of(moved)} of the impressions"


def _lead(result: Learning) -> str:
    sure = "without any bound" if result.confidence is None else f"with {level(result.confidence, ' %')} confidence"
    return (
        f"Policies were trained on {result.split['train']:,} impressions and judged on {result.split['selection']:,} "
        f"others, {sure}. Wherever none was seen to win, the logging policy stays."
    )


def _tiles(result: Learning) -> list[tuple[str, str, str]]:
    return [(name.capitalize(), share_of(result.served[name]), "of the impressions") for name in ACTS]


def _acts(result: Learning) -> Child:
    by = _by_acts(result)
    body = [
        [Cell(name), Cell(f"{n:,}", float(n)), Cell(share_of(result.served[name])), Cell(WHO[name])]
        for name in ACTS
        for n in [by.get(name, 0)]
    ]
    columns = [Column("acts", False), Column("queries"), Column("share of impressions"), Column("what it is", False)]
    said: list[Child] = [table("Who acts", columns, body)]
    if result.general is not None:
        general = result.general
        whisker = Whisker("general", general.difference, general.lower, general.upper, lead=True)
        title = "General policy less logging policy, over all queries"
        picture = whiskers(title, [whisker], Reference("no difference", 0.0), result.unit)
        said += [picture.figure("It acts only if its lower bound is above 0."), paragraph(sentence(general.line()))]
    else:
        said.append(paragraph("No general policy was given or trained."))
    ratio = result.special["width_ratio"]
    if ratio is not None:
        said.append(
            paragraph(
                f"One bound on the difference is {figure_of(ratio, 3)} times as wide as SEA’s two together in the "
                f"middle query (the estimates of both policies come from the same clicks: covariance "
                f"{figure_of(result.special['covariance'], 3)})."
            )
        )
    return said


def _by_acts(result: Learning) -> dict[str, int]:
    found = result.gate["acts"].value_counts().to_pylist()
    return {each["values"]: each["counts"] for each in found}


def _named(row: dict[str, Any]) -> str:
    return f"{row['query']} · {row['segment']}" if "segment" in row else str(row["query"])


def _gains(result: Learning) -> Child:
    acts = result.gate.filter(pc.is_in(result.gate["acts"], value_set=pa.array(["special", "posterior"])))
    if not acts.num_rows:
        return paragraph("No special policy acts.")
    gain = acts["difference"].to_numpy(zero_copy_only=False) * acts["impressions"].to_numpy()
    order = np.argsort(-np.nan_to_num(gain), kind="stable")[:LARGEST_GAINS]
    rows = [
        Whisker(_named(row), row["difference"], row["lower"], row["upper"])
        for row in acts.take(pa.array(order)).to_pylist()
    ]
    picture = whiskers("Special policy less what acts otherwise", rows, Reference("no difference", 0.0), result.unit)
    return picture.figure(
        "Those that add most to the whole. Each was judged by clicks that had no say in it; with many queries some win "
        "by chance."
    )


def _queries(result: Learning, rows: int, longest: int) -> Child:
    chosen = result.gate.take(pa.array(result.order()[:rows]))
    body = []
    for row in chosen.to_pylist():
        value, lower, upper = spread_of(row["difference"], row["lower"], row["upper"])
        body.append([
            Cell(ident(_named(row), longest)),
            Cell(f"{row['impressions']:,}", float(row["impressions"])),
            Cell(f"{row['clicks']:,}", float(row["clicks"])),
            Cell(value, row["difference"]),
            Cell(f"{lower} … {upper}" if row["lower"] is not None else "–", row["lower"]),
            Cell(row["acts"], class_="good" if row["acts"] != "logging" else None),
            Cell(row["reason"]),
        ])  # fmt: skip
    columns = [
        Column("query", False), Column("impressions"), Column("clicks"), Column("special gains"), Column("bound"),
        Column("acts", False), Column("why", False),
    ]  # fmt: skip
    left = result.gate.num_rows - len(body)
    more = paragraph(f"{counted(left, 'row')} left out here: gate.parquet has all.", class_="quiet") if left else None
    words = paragraph(
        "Impressions and clicks are those of the selection part, which the gate judged by. The gain is that of the "
        "special policy over what acts otherwise."
    )
    return [words, table("The gate, query by query", columns, body, tools=True), more]


def _training(result: Learning) -> Child:
    known = [each for each in result.curve if each.get("value") is not None or each.get("loss") is not None]
    if len(known) < 2:
        return paragraph("No model was trained step by step.")
    places = [str(each.get("epoch", i + 1)) for i, each in enumerate(known)]
    made: list[Child] = []
    for name, title in (("loss", "Training loss"), ("value", "Value on the validation queries")):
        values = [each.get(name) for each in known]
        if any(value is not None for value in values):
            made.append(lines(title, places, [Series(name, values)], "epoch").figure(title))
    return made


def _positions(result: Learning) -> Child:
    looks = result.examination["curve"]
    places = [str(k + 1) for k in range(len(looks))]
    if len(places) < 2:
        return paragraph("There is one position only.")
    series = [Series("examination", looks), Series("weight of a click", [float(w) for w in result.weights])]
    return lines("By position", places, series, "position", zero=True).figure(
        f"How likely a position is looked at ({result.examination['kind']}), and what a click there is worth. A click "
        "on an item counts as 1 by the chance that it was shown and looked at."
    )


def _again(result: Learning, command: str | None) -> Child:
    shown = element("pre", element("code", sentence(command if command is not None else result.call, 4000)))
    rows: list[tuple[str, Child]] = [
        ("log", [sentence(result.log, 300), f": {counted(result.impressions, 'impression')}"]),
        ("counterrank", __version__),
        ("Python", platform.python_version()),
        ("made", datetime.now(UTC).strftime("%d %B %Y, %H:%M UTC")),
    ]
    return [shown, facts(rows)]
