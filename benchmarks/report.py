"""Measurements as tables: for the terminal, and for the README between its markers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

BEGIN, END = "<!-- measured: begin (python -m benchmarks.run --write) -->", "<!-- measured: end -->"
HEADER = ["contender", "seconds", "all runs", "work alone", "CPU", "peak memory"]
RIVALS = {"sql": "SQL", "read": "read", "floor": "floor"}


def cells(run: dict[str, Any]) -> list[list[str]]:
    rows = []
    for result in run["results"]:
        if result["failed"]:
            rows.append([result["label"], "failed", "", "", "", ""])
            continue
        least, every = f"{min(result['seconds']):.2f}", " ".join(f"{s:.2f}" for s in result["seconds"])
        work = f"{min(result['work']):.2f}" if result["work"] else ""
        memory = f"{max(result['peak_bytes']) / 1e6:,.0f} MB"
        rows.append([result["label"], least, every, work, f"{min(result['cpu']):.2f}", memory])
    return rows


def ratios(run: dict[str, Any]) -> list[str]:
    """Ours to each rival's: whole process, processor time (steadier on a busy machine), and work alone."""
    found = {r["name"]: r for r in reversed(run["results"]) if not r["failed"]}
    lines = []
    for target, names in {"table": ("cli-table", "ours-table"), "Plackett–Luce": ("cli-pl", "ours-pl")}.items():
        whole = next((found[name] for name in names if name in found), None)
        inside = found.get(names[-1])
        kinds = (
            ("whole process", whole, "seconds"),
            ("its processor time", whole, "cpu"),
            ("work alone", inside, "work"),
        )
        for what, ours, key in kinds:
            if ours is None or not ours[key]:
                continue
            parts = [
                f"{min(ours[key]) / min(found[rival][key]):.2f} × {label}"
                for rival, label in RIVALS.items()
                if rival in found and found[rival][key]
            ]
            lines.append(f"{target} target, {what}: {', '.join(parts)}")
    return lines


def title(run: dict[str, Any]) -> str:
    return f"{run['impressions']:,} impressions, {'integer' if run['ids'] == 'int' else 'text'} ids"


def verdict(run: dict[str, Any]) -> list[str]:
    agree = "every contender that computes one of our values gives the same to 1e-9"
    failed = [f"failed: {r['label']}: {r['failed']}" for r in run["results"] if r["failed"]]
    return failed + ([f"NOT THE SAME: {text}" for text in run["disagreements"]] or [agree])


def as_text(run: dict[str, Any]) -> str:
    rows = [HEADER, *cells(run)]
    widths = [max(len(row[i]) for row in rows) for i in range(len(HEADER))]
    sides = [str.ljust] + [str.rjust] * (len(HEADER) - 1)
    lines = ["  ".join(side(c, w) for side, c, w in zip(sides, row, widths, strict=True)) for row in rows]
    return "\n".join(["", title(run), *lines, *("  " + line for line in [*ratios(run), *verdict(run)])])


def as_markdown(measured: dict[str, Any]) -> str:
    about = measured["machine"]
    packages = ", ".join(f"{name} {number}" for name, number in about["packages"].items())
    lines = [f"{about['processor']}, {about['cores']} cores; Python {about['python']}; {packages}.", ""]
    lines[0] += f" Fastest of {measured['repeat']}; seconds."
    for run in measured["runs"]:
        lines += [f"### {title(run)}", "", "| " + " | ".join(HEADER) + " |", "|---|--:|--:|--:|--:|--:|"]
        lines += ["| " + " | ".join(row) + " |" for row in cells(run)]
        lines += ["", *(f"- {line}" for line in [*ratios(run), *verdict(run)]), ""]
    return "\n".join(lines)


def write(measured: dict[str, Any], readme: Path) -> None:
    """Replace what stands between the markers."""
    text = readme.read_text(encoding="utf-8")
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise SystemExit(f"{readme} has lost its markers: put back {BEGIN} and {END}")
    readme.write_text(f"{before}{BEGIN}\n{as_markdown(measured)}{END}{after}", encoding="utf-8")
