"""How numbers are said: to people, in tables, remarks and messages."""

from __future__ import annotations

import math

from counterrank.limits import NOISE

ROUNDING = 1e-13  # by which a share may be off though nothing is wrong


def number(value: float | None, digits: int = 4) -> str:
    """A number for people: as many digits as say something.

    >>> number(0.123456), number(1234.5678), number(None), number(-5.283e-308), number(-2.5e21)
    ('0.1235', '1,235', '–', '0', '-2.5e+21')
    """
    if value is None:
        return "–"
    if abs(value) < NOISE:
        return "0"
    if 1000 <= abs(value) < 1e15:
        return f"{value:,.0f}"
    return f"{value:.{digits}g}"


def counted(number: int, one: str, many: str | None = None) -> str:
    """A number with its noun.

    >>> counted(1, "page"), counted(1951, "query", "queries")
    ('1 page', '1,951 queries')
    """
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def plain_zero(text: str) -> str:
    """A formatted number; one that was rounded to 0 has no sign.

    >>> plain_zero("-0.00"), plain_zero("+0.0%"), plain_zero("-0.01")
    ('0.00', '0.0%', '-0.01')
    """
    return text if any(digit in text for digit in "123456789") else text.lstrip("+-−")


def percent(share: float) -> str:
    """A share for people, told apart from none and all of it, but for rounding.

    >>> percent(0.1234), percent(0.00012), percent(1.0), percent(0.99952), percent(0.99999), percent(1.01658)
    ('12.3%', '0.012%', '100%', '99.95%', '99.999%', '101.7%')
    >>> percent(0.9999999999999998), percent(1.0000000000000002), percent(7.6e-34)
    ('100%', '100%', '0%')
    """
    if abs(share) < NOISE or abs(share - 1.0) < ROUNDING:
        return plain_zero(f"{share:.0%}")
    if 0.999 < share < 1.0:
        digits = next((digits for digits in range(2, 12) if round(100 * share, digits) < 100.0), 12)
        return f"{100 * share:.{digits}f}%"
    return f"{share:.1%}" if share >= 0.001 else f"{100 * share:.2g}%"


def change(share: float) -> str:
    """How much larger or smaller, in percent.

    >>> change(-0.1), change(0.00001), change(2.5e12)
    ('-10.0%', '0.0%', '+2.5e+14%')
    """
    return plain_zero(f"{share:+.1%}") if abs(share) < 1e12 else f"{100 * share:+.3g}%"


def level(confidence: float, unit: str = "%") -> str:
    """A confidence in percent, with all its digits; a page has a space before the unit.

    >>> level(0.95), level(0.9999, " %")
    ('95%', '99.99 %')
    """
    return f"{100 * confidence:.10g}{unit}"


def figure_of(value: float | None, digits: int = 4, sign: bool = False) -> str:
    """A number on a page: as many digits as say something, a true minus.

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


def share_of(share: float | None, digits: int = 1, sign: bool = False) -> str:
    """A share on a page, in percent on one line.

    >>> share_of(0.0823, sign=True), share_of(1.0), share_of(0.00001)
    ('+8.2\\xa0%', '100.0\\xa0%', '<\\xa00.1\\xa0%')
    """
    if share is None or share != share:
        return "–"
    least = 10.0 ** -(digits + 2)
    if 0 < abs(share) < least and not sign:
        return f"<\u00a0{100 * least:.{digits}f}\u00a0%"
    text = f"{100 * share:+,.{digits}f}" if sign else f"{100 * share:,.{digits}f}"
    return f"{plain_zero(text).replace('-', '−')}\u00a0%"
