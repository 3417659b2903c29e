"""One or two series of numbers over days or positions."""

from __future__ import annotations

from collections.abc import Sequence

from counterrank.records import dataclass
from counterrank.report.markup import Markup, element
from counterrank.report.picture import Picture, line_at, text_at, together
from counterrank.report.scale import Scale, around, tick_text
from counterrank.words import figure_of

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 720, 250, 64, 130, 16, 46
LINE = 16  # height of a label
_CLASSES = ("cr-first", "cr-second")


@dataclass(frozen=True)
class Series:
    """Numbers in order, with an interval where there is one; None where there is no number."""

    label: str
    values: Sequence[float | None]
    half: Sequence[float | None] | None = None


def lines(
    title: str, places: Sequence[str], series: Sequence[Series], unit: str, zero: bool = False, joined: bool = True
) -> Picture:
    """Up to two series over the same places, labelled where they end."""
    reach = [
        v + s * (half or 0.0)
        for one in series
        for v, half in zip(one.values, one.half or [None] * len(one.values), strict=True)
        if v is not None
        for s in (-1, 1)
    ]
    low, high = around(reach, zero=zero)
    x = Scale(0, max(len(places) - 1, 1), LEFT + 16, WIDTH - RIGHT)
    y = Scale(low, high, HEIGHT - BOTTOM, TOP)
    ticks = y.ticks()
    step = ticks[1] - ticks[0] if len(ticks) > 1 else 1.0
    rules = [
        together(
            line_at(LEFT, y(t), WIDTH - RIGHT + 12, y(t), "cr-grid"),
            text_at(LEFT - 8, y(t) + 4, tick_text(t, step), anchor="end", class_="cr-quiet"),
        )
        for t in ticks
    ]
    every = -(-len(places) // 12)
    names = [
        text_at(x(i), HEIGHT - BOTTOM + 18, place, anchor="middle", class_="cr-quiet")
        for i, place in enumerate(places)
        if i % every == 0
    ]
    below = text_at((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 6, unit, anchor="middle", class_="cr-quiet")
    places_of = _apart([_last(one, y) for one in series])
    drawn = [_series(one, x, y, name, joined, at) for one, name, at in zip(series, _CLASSES, places_of, strict=False)]
    said = "; ".join(f"{s.label}: {_ends(s)}" for s in series)
    table = [[place, *(figure_of(s.values[i]) for s in series)] for i, place in enumerate(places)]
    header = [unit, *(s.label for s in series)]
    return Picture(
        title=title,
        description=said,
        drawing=together(rules, drawn, names, below),
        width=WIDTH,
        height=HEIGHT,
        header=header,
        rows=table,
    )


def _ends(series: Series) -> str:
    known = [v for v in series.values if v is not None]
    return f"from {figure_of(known[0], 3)} to {figure_of(known[-1], 3)}" if known else "no numbers"


def _last(series: Series, y: Scale) -> float:
    known = [v for v in series.values if v is not None]
    return y(known[-1]) if known else 0.0


def _apart(heights: list[float]) -> list[float]:
    """Where labels stand, so that two do not overlap."""
    if len(heights) == 2 and abs(heights[0] - heights[1]) < LINE:
        middle, way = sum(heights) / 2, 1 if heights[0] > heights[1] else -1
        return [middle + way * LINE / 2, middle - way * LINE / 2]
    return heights


def _series(series: Series, x: Scale, y: Scale, class_: str, joined: bool, label: float) -> Markup:
    points = [(i, v) for i, v in enumerate(series.values) if v is not None]
    parts: list[Markup] = []
    if joined and len(points) > 1:
        parts.append(element("polyline", points=" ".join(f"{x(i)},{y(v)}" for i, v in points), class_="cr-line"))
    for i, v in points:
        half = series.half[i] if series.half is not None else None
        if half:
            parts.append(line_at(x(i), y(v - half), x(i), y(v + half), "cr-whisker"))
        parts.append(element("circle", element("title", figure_of(v)), cx=x(i), cy=y(v), r=3.5, class_="cr-dot"))
    if points:
        parts.append(text_at(x(points[-1][0]) + 12, label + 4, series.label))
    return element("g", parts, class_=class_)
