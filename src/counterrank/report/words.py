"""Ids, sentences and numbers as a reader can bear them."""

from __future__ import annotations

import math

from counterrank.limits import NOISE
from counterrank.report.markup import Markup, element
from counterrank.screen import plain_zero, visible

SHOWN = 64  # characters of an id before it is cut


def ident(text: str, longest: int = 2000) -> Markup:
    """An id: a long one is cut and opens up to `longest` characters."""
    if len(text) <= SHOWN:
        return element("bdi", visible(text), class_="id")
    rest = visible(text[:longest]) + ("…" if len(text) > longest else "")
    return element(
        "details",
        element("summary", element("bdi", visible(text[:SHOWN]), "…", class_="id")),
        element("bdi", rest, class_="id whole"),
        element(
            "small", f"{len(text):,} characters" + (f", the first {longest:,} here" if len(text) > longest else "")
        ),
        class_="long",
    )


def sentence(text: str, longest: int = 700) -> str:
    """A sentence, which may hold an id of any length."""
    shown = visible(text)
    return shown if len(shown) <= longest else f"{shown[: longest // 2]} … {shown[-longest // 2 :]}"


def figure_of(value: float | None, digits: int = 4, sign: bool = False) -> str:
    """A number for people: as many digits as say something, a true minus.

    >>> figure_of(0.123456), figure_of(-1234.5678), figure_of(None), figure_of(0.5, sign=True), figure_of(1.2)
    ('0.1235', '−1,235', '–', '+0.5000', '1.200')
    """
    if value is None or value != value:
        return "–"
    if abs(value) < NOISE:
        return "0"
    if abs(value) >= 1e15:
        text = f"{value:+.{digits - 1}g}"
    elif abs(value) >= 10**digits or abs(value) < 1e-4:
        text = f"{value:+,.0f}" if abs(value) >= 1 else f"{value:+.{digits - 1}g}"
    else:
        whole = len(str(int(abs(value)))) if abs(value) >= 1 else 0
        text = f"{value:+,.{max(digits - whole, 0)}f}"
    return (text if sign or text[0] == "-" else text[1:]).replace("-", "−")


def spread_of(value: float | None, lower: float | None, upper: float | None) -> tuple[str, str, str]:
    """A number and its interval with the same digits: two more than the interval leaves open.

    >>> spread_of(1.20712, 1.18355, 1.2306), spread_of(-0.4, -61.2, 60.4)
    (('1.207', '1.184', '1.231'), ('−0.40', '−61.20', '60.40'))
    """
    if value is None or lower is None or upper is None or not 0 < upper - lower < math.inf:
        return figure_of(value), figure_of(lower), figure_of(upper)
    digits = max(1 - math.floor(math.log10((upper - lower) / 2)), 2 if abs(value) < 10 else 0)
    if digits > 6 or max(abs(lower), abs(upper)) >= 1e9:
        return figure_of(value), figure_of(lower), figure_of(upper)
    value_, lower_, upper_ = (plain_zero(f"{x:,.{digits}f}").replace("-", "−") for x in (value, lower, upper))
    return value_, lower_, upper_


def percent(share: float | None, digits: int = 1, sign: bool = False) -> str:
    """A share in percent, on one line.

    >>> percent(0.0823, sign=True), percent(1.0), percent(0.00001)
    ('+8.2\\xa0%', '100.0\\xa0%', '<\\xa00.1\\xa0%')
    """
    if share is None or share != share:
        return "–"
    least = 10.0 ** -(digits + 2)
    if 0 < abs(share) < least and not sign:
        return f"<\u00a0{100 * least:.{digits}f}\u00a0%"
    text = f"{100 * share:+,.{digits}f}" if sign else f"{100 * share:,.{digits}f}"
    return f"{plain_zero(text).replace('-', '−')}\u00a0%"
