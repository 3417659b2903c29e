"""A chart as SVG, with the same numbers as a table for those who cannot see it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from importlib import resources
from pathlib import Path

from counterrank.errors import InputError, NotInstalled
from counterrank.output import write
from counterrank.records import dataclass
from counterrank.report.markup import Child, Markup, element, joined, verbatim


def own_text(name: str) -> str:
    """A file of this package."""
    return resources.files("counterrank.report").joinpath(name).read_text(encoding="utf-8")


@dataclass(frozen=True, repr=False, kw_only=True)
class Picture:
    """One chart; a notebook shows it, `.svg` is its text, `.save` writes it."""

    title: str
    description: str
    drawing: Markup
    width: int
    height: int
    header: Sequence[str] = field(default=())
    rows: Sequence[Sequence[str]] = field(default=())

    def embedded(self) -> Markup:
        """The chart alone, for a page that has our style."""
        return element(
            "svg",
            element("title", self.title),
            element("desc", self.description),
            self.drawing,
            role="img",
            aria_label=f"{self.title}. {self.description}",
            viewBox=f"0 0 {self.width} {self.height}",
            width=self.width,
            height=self.height,
            class_="cr-chart",
        )

    def figure(self, caption: Child = None, class_: str | None = None) -> Markup:
        """The chart with its caption and its numbers."""
        numbers = None
        if self.rows:
            head = element("tr", [element("th", name, scope="col") for name in self.header])
            body = [
                element(
                    "tr", element("th", first, scope="row"), [element("td", cell, class_="number") for cell in rest]
                )
                for first, *rest in self.rows
            ]
            numbers = element(
                "details",
                element("summary", "The numbers"),
                element(
                    "div",
                    element(
                        "table",
                        element("caption", self.title, class_="unseen"),
                        element("thead", head),
                        element("tbody", body),
                    ),
                    class_="wide",
                ),
                class_="numbers",
            )
        below = element("figcaption", caption) if caption is not None else None
        return element(
            "figure", element("div", self.embedded(), class_="wide", tabindex=0), below, numbers, class_=class_
        )

    @property
    def svg(self) -> str:
        """A file of its own: text, lines and colours for light paper."""
        return str(
            element(
                "svg",
                element("title", self.title),
                element("desc", self.description),
                verbatim("style", own_text("chart.css")),
                element("rect", width="100%", height="100%", fill="#ffffff"),
                self.drawing,
                xmlns="http://www.w3.org/2000/svg",
                role="img",
                viewBox=f"0 0 {self.width} {self.height}",
                width=self.width,
                height=self.height,
                class_="cr-chart",
            )
        )

    @property
    def png(self) -> bytes:
        """The picture as PNG, at twice its size."""
        try:
            from vl_convert import svg_to_png
        except ImportError:
            raise NotInstalled("a PNG needs vl-convert: pip install vl-convert-python, or use .svg") from None
        return bytes(svg_to_png(self.svg, scale=2))

    def save(self, path: str | Path) -> Path:
        """Write it: .svg, or .png where vl-convert is installed."""
        file = Path(path)
        if file.suffix.lower() not in (".svg", ".png"):
            raise InputError(f"{file}: unknown kind of picture: expected a name that ends with .svg or .png")
        content = self.png if file.suffix.lower() == ".png" else self.svg.encode()
        write(file, content)
        return file

    def _repr_svg_(self) -> str:
        return self.svg

    def __repr__(self) -> str:
        return f"Picture({self.title!r}, {self.width}×{self.height}): .svg, .save('picture.svg')"


def text_at(x: float, y: float, *words: Child, anchor: str = "start", class_: str = "") -> Markup:
    return element("text", *words, x=x, y=y, text_anchor=anchor, class_=class_ or None)


def line_at(x1: float, y1: float, x2: float, y2: float, class_: str) -> Markup:
    return element("line", x1=x1, y1=y1, x2=x2, y2=y2, class_=class_)


def together(*parts: Child) -> Markup:
    return joined(parts)
