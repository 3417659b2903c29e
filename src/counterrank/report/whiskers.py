"""Dots with their intervals, one row each, and a line to compare them with."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from counterrank.records import dataclass
from counterrank.report.markup import Markup, element
from counterrank.report.picture import Picture, line_at, text_at, together
from counterrank.report.scale import Scale, around, tick_text
from counterrank.screen import visible
from counterrank.words import figure_of, spread_of

WIDTH, LEFT, RIGHT, ROW = 780, 120, 240, 30
FAR = 6.0  # what is so many times wider, or further off, than the others runs off the picture


@dataclass(frozen=True)
class Whisker:
    """One number with its interval; None where there is none."""

    label: str
    value: float | None
    lower: float | None = None
    upper: float | None = None
    lead: bool = False  # the one to look at
    instead: str = "cannot tell"  # said where there is no number


@dataclass(frozen=True)
class Reference:
    """A number that all others are compared with."""

    label: str
    value: float


def whiskers(
    title: str, rows: Sequence[Whisker], reference: Reference | None = None, unit: str = "", zero: bool = False
) -> Picture:
    """Rows from top to bottom; intervals that are far wider than the others end in arrows."""
    low, high = _domain(rows, reference, zero)
    top, bottom = 34 if reference else 12, 44
    height = top + ROW * len(rows) + bottom
    x = Scale(low, high, LEFT, WIDTH - RIGHT)
    floor = top + ROW * len(rows)
    ticks = x.ticks(8)
    step = ticks[1] - ticks[0] if len(ticks) > 1 else 1.0
    grid = [
        together(line_at(x(t), top, x(t), floor, "cr-grid"), _tick(x(t), floor + 18, tick_text(t, step))) for t in ticks
    ]
    unit_text = (
        text_at((LEFT + WIDTH - RIGHT) / 2, height - 8, unit, anchor="middle", class_="cr-quiet") if unit else None
    )
    line = None
    if reference is not None:
        at = x(reference.value)
        words = f"{reference.label} {figure_of(reference.value)}"
        side = "middle" if LEFT + 70 < at < WIDTH - RIGHT - 70 else "start" if at < WIDTH / 2 else "end"
        line = together(
            line_at(at, top - 8, at, floor, "cr-reference"),
            text_at(at, top - 14, words, anchor=side, class_="cr-quiet"),
        )
    drawn = [_row(row, x, top + ROW * (i + 0.5)) for i, row in enumerate(rows)]
    best = next((row for row in rows if row.lead and row.value is not None), None)
    said = f"{len(rows)} rows" + (f"; {best.label}: {_numbers(best)}" if best else "")
    said += f"; {reference.label}: {figure_of(reference.value)}" if reference else ""
    table = [[visible(r.label)[:80], *spread_of(r.value, r.lower, r.upper)] for r in rows]
    if reference is not None:
        table.append([reference.label, figure_of(reference.value), "", ""])
    return Picture(
        title=title,
        description=said,
        drawing=together(grid, line, drawn, unit_text),
        width=WIDTH,
        height=height,
        header=["", "value", "lower", "upper"],
        rows=table,
    )


def _tick(x: float, y: float, words: str) -> Markup:
    return text_at(x, y, words, anchor="middle", class_="cr-quiet")


def _numbers(row: Whisker) -> str:
    if row.value is None:
        return row.instead
    value, lower, upper = spread_of(row.value, row.lower, row.upper)
    return value if row.lower is None else f"{value} ({lower} … {upper})"


def _row(row: Whisker, x: Scale, y: float) -> Markup:
    label = visible(row.label)
    short = label if len(label) <= 22 else label[:21] + "…"
    strong = "cr-strong" if row.lead else ""
    parts = [
        text_at(LEFT - 14, y + 4.5, short, anchor="end", class_=strong),
        text_at(WIDTH - RIGHT + 16, y + 4.5, _numbers(row), class_=strong or "cr-quiet"),
    ]
    if row.value is not None:
        if row.lower is not None and row.upper is not None:
            start, stop = max(row.lower, x.low), min(row.upper, x.high)
            if start <= stop:
                parts.append(line_at(x(start), y, x(stop), y, "cr-whisker"))
            parts += [_arrow(x(x.low), y, -1)] if row.lower < x.low else []
            parts += [_arrow(x(x.high), y, 1)] if row.upper > x.high else []
        if x.low <= row.value <= x.high:
            parts.append(element("circle", cx=x(row.value), cy=y, r=5.5 if row.lead else 4.5, class_="cr-dot"))
    return element("g", parts, class_="cr-lead" if row.lead else None)


def _arrow(x: float, y: float, way: int) -> Markup:
    points = f"{x + 7 * way},{y} {x},{y - 5} {x},{y + 5}"
    return element("polygon", points=points, class_="cr-dot")


def _domain(rows: Sequence[Whisker], reference: Reference | None, zero: bool) -> tuple[float, float]:
    """What the axis spans: all, but for numbers and intervals that would leave no room for the others."""
    whole = [(row, row.value) for row in rows if row.value is not None]
    widths = [row.upper - row.lower for row, _ in whole if row.lower is not None and row.upper is not None]
    lead = [r.upper - r.lower for r, _ in whole if r.lead and r.lower is not None and r.upper is not None]
    usual = max([median(widths) if widths else 0.0, *lead])
    centre = median(value for _, value in whole) if whole else 0.0
    far = FAR * (usual + (median(abs(value - centre) for _, value in whole) if whole else 0.0)) or float("inf")
    shown: list[float | None] = [reference.value] if reference is not None else []
    for row, value in whole:
        wide = row.lower is not None and row.upper is not None and row.upper - row.lower > FAR * usual > 0
        if row.lead or abs(value - centre) <= far:
            shown += [value] if wide else [value, row.lower, row.upper]
    return around(shown, zero=zero)
