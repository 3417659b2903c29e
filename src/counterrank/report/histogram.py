"""How many impressions have which weight, both on log scales."""

from __future__ import annotations

from collections.abc import Sequence

from counterrank.report.markup import element
from counterrank.report.picture import Picture, line_at, text_at, together
from counterrank.report.scale import Scale
from counterrank.words import figure_of

WIDTH, HEIGHT, LEFT, TOP, BOTTOM = 340, 170, 46, 12, 40
ZERO = 26  # room for the bar of what has no weight


def histogram(
    title: str, edges: Sequence[float], counts: Sequence[float], zero: float, span: tuple[float, float], most: float
) -> Picture:
    """Bars between rising edges, and one apart for weight 0; `span` and `most` keep several pictures alike."""
    x = Scale(span[0], span[1], LEFT + ZERO + 14, WIDTH - 10, log=True)
    y = Scale(0.5, max(most, 2.0), HEIGHT - BOTTOM, TOP, log=True)
    floor = HEIGHT - BOTTOM
    bars = [
        element(
            "rect", element("title", f"{figure_of(low, 3)} to {figure_of(high, 3)}: {count:,.0f}"),
            x=x(low) + 0.5, y=y(count), width=round(max(x(high) - x(low) - 1, 1), 2), height=round(floor - y(count), 2),
            class_="cr-bar",
        )
        for low, high, count in zip(edges[:-1], edges[1:], counts, strict=False)
        if count > 0
    ]  # fmt: skip
    if zero > 0:
        bars.append(
            element(
                "rect", element("title", f"weight 0: {zero:,.0f}"), x=LEFT + 6, y=y(zero), width=ZERO - 8,
                height=round(floor - y(zero), 2), class_="cr-bar-quiet",
            )
        )  # fmt: skip
    rules = [
        together(
            line_at(LEFT, y(t), WIDTH - 10, y(t), "cr-grid"),
            text_at(LEFT - 6, y(t) + 4, _short(t), anchor="end", class_="cr-quiet"),
        )
        for t in y.ticks(4)
    ]
    ticks = [text_at(x(t), floor + 16, f"{t:g}", anchor="middle", class_="cr-quiet") for t in x.ticks(5)]
    ticks.append(text_at(LEFT + ZERO / 2 + 2, floor + 16, "0", anchor="middle", class_="cr-quiet"))
    unit = text_at((LEFT + WIDTH) / 2, HEIGHT - 6, "weight of an impression", anchor="middle", class_="cr-quiet")
    one = line_at(x(1.0), TOP, x(1.0), floor, "cr-reference") if span[0] < 1 < span[1] else None
    table = [["0", f"{zero:,.0f}"]] + [
        [f"{figure_of(low, 3)} … {figure_of(high, 3)}", f"{count:,.0f}"]
        for low, high, count in zip(edges[:-1], edges[1:], counts, strict=False)
        if count > 0
    ]
    total = sum(counts) + zero
    said = f"{total:,.0f} impressions, {zero:,.0f} of them without weight; both axes are log scales"
    axis = line_at(LEFT, floor, WIDTH - 10, floor, "cr-axis")
    return Picture(
        title=title,
        description=said,
        drawing=together(rules, bars, one, axis, ticks, unit),
        width=WIDTH,
        height=HEIGHT,
        header=["weight", "impressions"],
        rows=table,
    )


def _short(count: float) -> str:
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if count >= size:
            return f"{count / size:g}{letter}"
    return f"{count:g}"
