"""What the pages of an evaluation and of a comparison have in common."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path

from counterrank.findings.diagnosis import Diagnosis, Finding, Level
from counterrank.judging.judged import Judged
from counterrank.pages.changes import Change, Gains, Shown
from counterrank.report import Child, Markup, Section, bullets, element, facts, ident, paragraph, sentence
from counterrank.version import __version__
from counterrank.words import counted, figure_of, level, share_of

COLOURS: dict[Level, str] = {"trust": "good", "caution": "warn", "do not trust": "bad"}
SIGNS: dict[Level, str] = {"trust": "✓", "caution": "!", "do not trust": "✕"}
PLACES = 10  # positions of a ranking that are shown
PACKAGES = ("numpy", "scipy", "numba", "pyarrow", "duckdb", "scikit-learn")


def badge(level: Level) -> Markup:
    """Trust in a colour, a sign and words."""
    return element(
        "span", element("span", SIGNS[level], aria_hidden="true"), " ", level.capitalize(),
        class_=f"badge {COLOURS[level]}",
    )  # fmt: skip


def doubted(diagnosis: Diagnosis | None) -> str:
    """What a headline must not leave out."""
    return ", on evidence not to be trusted" if diagnosis is not None and diagnosis.verdict == "do not trust" else ""


def trust(diagnosis: Diagnosis | None) -> Child:
    if diagnosis is None:
        return None
    of = f"On {diagnosis.estimator}: " if diagnosis.estimator is not None else ""
    return element("p", badge(diagnosis.verdict), element("span", of, sentence(diagnosis.reason)), class_="verdict")


def tiles(rows: Sequence[tuple[str, str, str]]) -> Markup:
    """A few numbers, large: what, how much, and what to know of it."""
    made = [
        element("li", element("span", what), element("b", much), element("span", more)) for what, much, more in rows
    ]
    return element("ul", made, class_="tiles")


def findings(diagnosis: Diagnosis | None, said: Sequence[str]) -> Section:
    """All that speaks for and against the answer, worst first."""
    body: list[Child] = []
    if diagnosis is not None:
        against, in_favour = diagnosis.doubts(), [f for f in diagnosis.findings if f.level == "trust"]
        body.append(_listed(against) if against else paragraph("Nothing was found that speaks against it."))
        if in_favour:
            title = f"{counted(len(in_favour), 'finding speaks', 'findings speak')} for it"
            body.append(element("details", element("summary", title), _listed(in_favour), class_="for"))
    if said:
        body += [element("h3", "Also said"), bullets([sentence(text) for text in said])]
    return Section(
        "findings", "Findings", "What speaks for and against it", body or paragraph("Nothing was found to say.")
    )


def _listed(found: Sequence[Finding]) -> Markup:
    rows = [
        element(
            "li",
            element("span", SIGNS[f.level], " ", f.level.capitalize(), class_=f"level {COLOURS[f.level]}"),
            element("span", f"{', '.join(f.estimators)}: " if f.estimators else "", sentence(f.words)),
        )
        for f in found
    ]
    return element("ul", rows, class_="findings")


def tally(gains: Gains, what: str) -> Markup:
    up, down, still = gains.tally()
    total = counted(len(gains.queries), "query", "queries")
    return paragraph(
        f"Of {total}, {up:,} gain, {down:,} lose, and {still:,} stay as they are or cannot be told. {what}"
    )


def cards(gains: Gains, rows: Sequence[int], made: dict[str, Change], names: tuple[str, str], longest: int) -> Markup:
    """Queries with their old and new ranking side by side; the first ones are open."""
    shown = []
    for i, q in enumerate(rows):
        query = gains.queries[q]
        change = made.get(query)
        count = counted(int(gains.impressions[q]), "impression")
        head = element(
            "summary",
            element("span", ident(query, longest), " ", element("small", count)),
            element("b", figure_of(float(gains.gain[q]), 3, sign=True)),
        )
        shown.append(element("details", head, _pair(change, names, longest), class_="card", open=i < 2))
    return element("div", shown, class_="cards")


def _pair(change: Change | None, names: tuple[str, str], longest: int) -> Markup:
    if change is None:
        return needs_log("What becomes of its ranking")
    if not change.old.items or not change.new.items:
        return paragraph("No single ranking stands for this policy.", class_="quiet")
    places = {item: place for place, item in enumerate(change.old.items, 1)}
    kept = set(change.new.items)
    old = [_item(item, "" if item in kept else "gone", "", longest) for item in change.old.items[:PLACES]]
    new = []
    for place, item in enumerate(change.new.items[:PLACES], 1):
        before = places.get(item)
        way = "new" if before is None else "up" if before > place else "down" if before < place else ""
        words = {"new": "new", "up": f"▲ from {before}", "down": f"▼ from {before}", "": ""}[way]
        new.append(_item(item, way, words, longest))
    return element(
        "div", _ranking(names[0], change.old, old, longest), _ranking(names[1], change.new, new, longest), class_="pair"
    )


def _item(item: str, way: str, words: str, longest: int) -> Markup:
    mark = element("span", " ", words, class_="moved") if words else None
    return element("li", ident(item, min(longest, 300)), mark, class_=way or None)


def _ranking(name: str, shown: Shown, items: Sequence[Markup], longest: int) -> Markup:
    rare = shown.chance is not None and shown.chance < 0.9995
    often = element("small", f" {share_of(shown.chance, 0)} of pages") if rare else None
    more = len(shown.items) - len(items)
    return element(
        "div",
        element("h4", name, often),
        element("ol", items),
        element("small", f"and {more:,} more") if more > 0 else None,
    )


def needs_log(what: str) -> Markup:
    """What to do for a part of the page that the log has and the result has not."""
    return paragraph(f"{what} needs the log: ", element("code", "result.report(path, log=log)"), ".", class_="quiet")


def again(result: Judged, confidence: float, command: str | None, reread: bool) -> Section:
    """How to get the page again: the call, the versions, the log."""
    call = command if command is not None else result.asked.call
    packages = ", ".join(f"{name} {_version(name)}" for name in PACKAGES)
    log = result.asked.log
    size = _size(log, result.impressions) + (", read again for this page" if reread else "")
    rows: list[tuple[str, Child]] = [
        ("log", [sentence(log, 300), f": {size}"]),
        ("confidence", level(confidence, " %")),
        ("counterrank", __version__),
        ("Python", platform.python_version()),
        ("packages", packages),
        ("made", datetime.now(UTC).strftime("%d %B %Y, %H:%M UTC")),
    ]
    shown = element("pre", element("code", sentence(call, 4000)))
    return Section("again", "Again", "How to get this page again", [shown, facts(rows)])


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "not installed"


def _size(name: str, impressions: int) -> str:
    judged = f"{counted(impressions, 'impression')} judged"
    file = Path(name)
    try:
        return f"{judged}, {file.stat().st_size:,} bytes" if file.is_file() else judged
    except OSError:
        return judged


def footer() -> Markup:
    return paragraph("Made by counterrank. This file needs no network and sends nothing anywhere.")


def left_out(count: int) -> Child:
    """What a table does not show, and who has it."""
    if not count:
        return None
    return paragraph(
        f"{counted(count, 'query', 'queries')} left out here: the largest gains and losses and the most frequent "
        "queries are shown. The values per query, in a file of their own, have all of them.",
        class_="quiet",
    )


def both_ways(gains: Gains, made: dict[str, Change], names: tuple[str, str], longest: int) -> list[Child]:
    """The largest gains, then the largest losses, each with a heading."""
    parts: list[Child] = []
    for sign, title in ((1, "Largest gains"), (-1, "Largest losses")):
        found = gains.largest(sign)
        if len(found):
            parts += [element("h3", title), cards(gains, found.tolist(), made, names, longest)]
    return parts
