"""Several curves over the same numbers, with bands around them, labelled where they end."""

from __future__ import annotations

from collections.abc import Sequence

from counterrank.records import dataclass
from counterrank.report.markup import Markup, element
from counterrank.report.picture import Picture, line_at, text_at, together
from counterrank.report.scale import Scale, around, tick_text
from counterrank.words import figure_of

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 760, 360, 64, 190, 16, 46
LINE = 15  # height of a label
COLOURS = (
    "#1f5fbf", "#a3540a", "#2f8f4e", "#b23a62", "#6b4fb0", "#0f7f8c", "#8a6d00", "#566173", "#c0392b", "#33691e",
)  # fmt: skip
DASHES = ("none", "6 4", "2 3")


@dataclass(frozen=True)
class Curve:
    """Numbers in order, None where there is none, and how far a band reaches to both sides."""

    label: str
    values: Sequence[float | None]
    half: Sequence[float] | None = None


def curves(title: str, places: Sequence[float], given: Sequence[Curve], unit: str) -> Picture:
    """Curves over `places`."""
    known = [v for each in given for v in each.values if v is not None]
    low, high = around(known)
    x = Scale(0.0, max([*places, 1.0]), LEFT + 8, WIDTH - RIGHT)
    y = Scale(low, high, HEIGHT - BOTTOM, TOP)
    ends = _apart([_last(each, y) for each in given])
    drawn = [_drawn(each, places, x, y, number, ends[number]) for number, each in enumerate(given)]
    below = text_at((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 6, unit, anchor="middle", class_="cr-quiet")
    said = "; ".join(f"{each.label} ends at {figure_of(_end(each), 3)}" for each in given)
    table = [[f"{place:g}", *(figure_of(each.values[i]) for each in given)] for i, place in enumerate(places)]
    return Picture(
        title=title,
        description=said,
        drawing=together(_rules(x, y), drawn, below),
        width=WIDTH,
        height=max(HEIGHT, TOP + LINE * len(given) + BOTTOM),
        header=[unit, *(each.label for each in given)],
        rows=table,
    )


def _rules(x: Scale, y: Scale) -> list[Markup]:
    ticks, across = y.ticks(), x.ticks()
    step, wide = (each[1] - each[0] if len(each) > 1 else 1.0 for each in (ticks, across))
    out = []
    for t in ticks:
        out.append(line_at(LEFT, y(t), WIDTH - RIGHT + 8, y(t), "cr-grid"))
        out.append(text_at(LEFT - 8, y(t) + 4, tick_text(t, step), anchor="end", class_="cr-quiet"))
    out += [text_at(x(t), HEIGHT - BOTTOM + 18, tick_text(t, wide), anchor="middle", class_="cr-quiet") for t in across]
    return out


def _drawn(curve: Curve, places: Sequence[float], x: Scale, y: Scale, number: int, label: float) -> Markup:
    colour, dash = COLOURS[number % len(COLOURS)], DASHES[number // len(COLOURS) % len(DASHES)]
    points = [(x(places[i]), i, v) for i, v in enumerate(curve.values) if v is not None]
    parts: list[Markup] = []
    if curve.half is not None and points:
        up = [f"{at},{y(v + curve.half[i])}" for at, i, v in points]
        down = [f"{at},{y(v - curve.half[i])}" for at, i, v in reversed(points)]
        parts.append(element("polygon", points=" ".join(up + down), fill=colour, fill_opacity=0.12))
    line = " ".join(f"{at},{y(v)}" for at, _, v in points)
    parts.append(element("polyline", points=line, fill="none", stroke=colour, stroke_width=2, stroke_dasharray=dash))
    parts.append(element("text", curve.label, x=WIDTH - RIGHT + 12, y=round(label + 4, 2), style=f"fill:{colour}"))
    return element("g", parts)


def _end(curve: Curve) -> float | None:
    return next((v for v in reversed(curve.values) if v is not None), None)


def _last(curve: Curve, y: Scale) -> float:
    end = _end(curve)
    return y(end) if end is not None else float(TOP)


def _apart(heights: list[float]) -> list[float]:
    """Where labels stand, so that none overlap."""
    order = sorted(range(len(heights)), key=lambda i: heights[i])
    out, free = list(heights), float(TOP)
    for i in order:
        out[i] = max(heights[i], free)
        free = out[i] + LINE
    over = max(0.0, free - LINE - (HEIGHT - 8))
    for i in reversed(order):
        out[i] = max(out[i] - over, TOP + LINE * order.index(i)) if over else out[i]
    return out
