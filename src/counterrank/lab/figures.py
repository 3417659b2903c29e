"""Pictures of a reproduction: Altair charts saved as PNG and SVG."""

from __future__ import annotations

import io
from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from counterrank.backtesting.result import Backtest
from counterrank.output import make_folder, write

WITHOUT = "pictures were left out: from counterrank's folder, pip install '.[lab]'"
COLOURS = {
    "list": "#9c6b30", "wlist": "#d9a864", "ip": "#1f5fa8", "wip": "#7fb2e5", "pbm": "#2f8f4e", "item": "#b23a62",
    "rctr": "#555555", "noise floor": "#bbbbbb",
}  # fmt: skip


def drawable() -> bool:
    """Whether the packages that draw are installed."""
    return find_spec("altair") is not None and find_spec("vl_convert") is not None


def error_curves(result: Backtest, problems: Sequence[str], title: str, out: Path, name: str) -> list[str]:
    """The error of each estimator against the clip M, a panel per problem; the log's mean and the floor are flat."""
    alt: Any = import_module("altair")

    limits = list(dict.fromkeys(row.clip for row in result.rows if row.estimator != "rctr"))
    labels = ["∞" if clip is None else f"{clip:g}" for clip in limits]
    records: list[dict[str, Any]] = []
    for problem in problems:
        for label, clip in zip(labels, limits, strict=True):
            for estimator in dict.fromkeys(row.estimator for row in result.rows):
                records.append(_point(problem, label, estimator, result.rmse(problem, estimator, clip)))
            records.append(_point(problem, label, "noise floor", result.noise_floor[problem]))
    shown = [n for n in COLOURS if any(r["estimator"] == n for r in records)]
    colour = alt.Color(
        "estimator:N", sort=shown, scale=alt.Scale(domain=shown, range=[COLOURS[n] for n in shown]), title=None
    )
    flat = alt.FieldOneOfPredicate(field="estimator", oneOf=["rctr", "noise floor"])
    dash = alt.condition(flat, alt.value([5, 4]), alt.value([1, 0]))
    chart = (
        alt.Chart(alt.Data(values=records))
        .mark_line(point=alt.OverlayMarkDef(size=14))
        .encode(
            x=alt.X("clip:O", sort=labels, title="clip M", axis=alt.Axis(labelAngle=0)),
            y=alt.Y("rmse:Q", title="RMSE", scale=alt.Scale(zero=False)),
            color=colour,
            strokeDash=dash,
        )
        .properties(width=260, height=220)
        .facet(column=alt.Column("problem:N", sort=list(problems), title=None))
        .resolve_scale(y="independent")
        .properties(title=title)
    )
    return _save(chart, out, name)


def day_curves(series: dict[str, list[dict[str, float]]], title: str, out: Path, name: str) -> list[str]:
    """Clicks per impression over the days of one query in each log: at position 1 and at all positions."""
    alt: Any = import_module("altair")

    records = [
        {"log": log, "day": point["day"], "clicks": point[key], "positions": label, "impressions": point["impressions"]}
        for log, points in series.items()
        for point in points
        for key, label in (("first", "position 1"), ("all", "all positions"))
    ]
    chart = (
        alt.Chart(alt.Data(values=records))
        .mark_line(point=True)
        .encode(
            x=alt.X("day:Q", title="day", scale=alt.Scale(zero=False)),
            y=alt.Y("clicks:Q", title="clicks per impression"),
            color=alt.Color("positions:N", title=None, scale=alt.Scale(range=["#1f5fa8", "#b23a62"])),
        )
        .properties(width=340, height=220)
        .facet(column=alt.Column("log:N", sort=list(series), title=None))
        .resolve_scale(x="independent", y="independent")
        .properties(title=title)
    )
    return _save(chart, out, name)


def size_curves(
    records: list[dict[str, Any]], measure: str, title: str, out: Path, name: str, *, log: bool = True
) -> list[str]:
    """Curves against the number of impressions, a panel each. Records have `panel`, `estimator`, `n` and `value`."""
    alt: Any = import_module("altair")

    panels, shown = (list(dict.fromkeys(str(r[key]) for r in records)) for key in ("panel", "estimator"))
    scale = alt.Scale(type="log") if log else alt.Scale(zero=False)
    axis = alt.Axis(format="~s", values=[10**power for power in range(2, 8)])
    chart = (
        alt.Chart(alt.Data(values=records))
        .mark_line(point=alt.OverlayMarkDef(size=14))
        .encode(
            x=alt.X("n:Q", title="impressions", scale=alt.Scale(type="log"), axis=axis),
            y=alt.Y("value:Q", title=measure, scale=scale),
            color=alt.Color("estimator:N", sort=shown, title=None),
            strokeDash=alt.StrokeDash("estimator:N", sort=shown, legend=None),
        )
        .properties(width=300, height=240)
        .facet(column=alt.Column("panel:N", sort=panels, title=None))
        .properties(title=title)
    )
    return _save(chart, out, name)


def heat_map(records: list[dict[str, Any]], title: str, out: Path, name: str) -> list[str]:
    """Coverage by interval and row, a panel each: white at 95 %, red below, blue above."""
    alt: Any = import_module("altair")

    panels, columns = (list(dict.fromkeys(str(r[key]) for r in records)) for key in ("panel", "interval"))
    shades = {0.5: "#7a1c1c", 0.9: "#d9644a", 0.94: "#fbe3d6", 0.95: "#ffffff", 0.97: "#e3edf7", 1.0: "#7fa8d1"}
    colour = alt.Scale(domain=list(shades), range=list(shades.values()), clamp=True)

    def drawn(panel: str) -> Any:
        mine = [r for r in records if r["panel"] == panel]
        base = alt.Chart(alt.Data(values=mine), title=panel).encode(
            x=alt.X("interval:N", sort=columns, title=None, axis=alt.Axis(labelAngle=-40)),
            y=alt.Y("row:N", sort=list(dict.fromkeys(r["row"] for r in mine)), title=None),
        )
        squares = base.mark_rect().encode(color=alt.Color("coverage:Q", scale=colour, title="coverage"))
        words = base.mark_text(fontSize=8, color="black").encode(text=alt.Text("coverage:Q", format=".1%"))
        return alt.layer(squares, words).properties(width=260)

    return _save(alt.concat(*map(drawn, panels), columns=4).properties(title=title), out, name)


def error_bands(
    records: list[dict[str, Any]], across: str, title: str, out: Path, name: str, *, log: bool = False
) -> list[str]:
    """Errors with bands of a standard error, a panel each. Records: `panel`, `method`, `x`, `error` and `stderr`."""
    alt: Any = import_module("altair")

    panels, shown = (list(dict.fromkeys(str(r[key]) for r in records)) for key in ("panel", "method"))
    points = [r | {"low": r["error"] - r["stderr"], "high": r["error"] + r["stderr"]} for r in records]
    x = alt.X("x:Q", title=across, scale=alt.Scale(type="log") if log else alt.Scale(zero=False))
    colour = alt.Color("method:N", sort=shown, title=None, legend=alt.Legend(symbolOpacity=1))
    base = alt.Chart().encode(x=x, color=colour)
    band = base.mark_area(opacity=0.2).encode(y=alt.Y("low:Q", title="error"), y2="high:Q")
    line = base.mark_line().encode(
        y=alt.Y("error:Q", title="error"), strokeDash=alt.StrokeDash("method:N", sort=shown, legend=None)
    )
    chart = (
        alt.layer(band, line, data=alt.Data(values=points))
        .properties(width=280, height=220)
        .facet(facet=alt.Facet("panel:N", sort=panels, title=None), columns=3)
        .resolve_scale(y="independent")
        .properties(title=title)
    )
    return _save(chart, out, name)


def click_bands(records: list[dict[str, Any]], queries: int, title: str, out: Path, name: str) -> list[str]:
    """NDCG by clicks, in all and per query, with bands of a standard deviation; a panel each.

    Records have `panel`, `method`, `x`, `value` and `sd`.
    """
    alt: Any = import_module("altair")

    panels, shown = (list(dict.fromkeys(str(r[key]) for r in records)) for key in ("panel", "method"))
    points = [r | {"low": r["value"] - r["sd"], "high": r["value"] + r["sd"]} for r in records]
    per_query = f"[format(datum.value, '.0e'), format(datum.value / {queries}, '.2~g')]"
    axis = alt.Axis(values=[10**power for power in range(2, 10)], labelExpr=per_query)
    x = alt.X("x:Q", title="clicks in all, and per query", scale=alt.Scale(type="log"), axis=axis)
    colour = alt.Color("method:N", sort=shown, title=None, legend=alt.Legend(symbolOpacity=1))
    base = alt.Chart().encode(x=x, color=colour)
    y = alt.Scale(zero=False)
    band = base.mark_area(opacity=0.15).encode(y=alt.Y("low:Q", title="NDCG", scale=y), y2="high:Q")
    line = base.mark_line().encode(
        y=alt.Y("value:Q", title="NDCG", scale=y), strokeDash=alt.StrokeDash("method:N", sort=shown, legend=None)
    )
    chart = (
        alt.layer(band, line, data=alt.Data(values=points))
        .properties(width=420, height=260)
        .facet(facet=alt.Facet("panel:N", sort=panels, title=None), columns=2)
        .resolve_scale(y="independent")
        .properties(title=title)
    )
    return _save(chart, out, name)


def _point(problem: str, label: str, estimator: str, rmse: float) -> dict[str, Any]:
    return {"problem": problem, "clip": label, "estimator": estimator, "rmse": rmse}


def _save(chart: Any, out: Path, name: str) -> list[str]:
    make_folder(out)
    paths = [out / f"{name}.png", out / f"{name}.svg"]
    png, svg = io.BytesIO(), io.StringIO()
    chart.save(png, format="png", scale_factor=2)
    chart.save(svg, format="svg")
    for path, content in zip(paths, (png.getvalue(), svg.getvalue().encode()), strict=True):
        write(path, content)
    return [str(path) for path in paths]
