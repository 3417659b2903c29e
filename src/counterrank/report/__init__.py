"""Pages and pictures: one HTML file, charts as SVG. It knows nothing of estimators."""

from counterrank.report.curves import Curve, curves
from counterrank.report.histogram import histogram
from counterrank.report.ident import ident, sentence
from counterrank.report.lines import Series, lines
from counterrank.report.markup import Child, Markup, element, joined
from counterrank.report.page import LARGEST, Section, bullets, facts, page, paragraph
from counterrank.report.picture import Picture
from counterrank.report.table import Cell, Column, table
from counterrank.report.whiskers import Reference, Whisker, whiskers

__all__ = [
    "LARGEST",
    "Cell",
    "Child",
    "Column",
    "Curve",
    "Markup",
    "Picture",
    "Reference",
    "Section",
    "Series",
    "Whisker",
    "bullets",
    "curves",
    "element",
    "facts",
    "histogram",
    "ident",
    "joined",
    "lines",
    "page",
    "paragraph",
    "sentence",
    "table",
    "whiskers",
]
