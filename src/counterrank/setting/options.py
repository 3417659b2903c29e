"""Options of an evaluation, as users write them, made into arrays."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from counterrank.errors import InputError, unknown
from counterrank.limits import CONFIDENT, LARGEST, LEAST, reasonable

Vector = NDArray[np.float64]
WEIGHTS = ("clicks", "dcg")
EXAMINATIONS = ("auto", "reciprocal", "eb", "em")
FITTED = ("auto", "eb", "em")  # to the log
MOST_POSITIONS = 1_000_000  # that one may ask for; a log may have more


def numbers(text: str, option: str, names: Sequence[str]) -> str | list[float]:
    """One of the names, or comma-separated numbers."""
    if text in names:
        return text
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        kinds = ", ".join(names)
        if not any(c.isdigit() for c in text):
            raise unknown(option, text, [*names, "or numbers such as 1,0.5,0.25"]) from None
        raise InputError(f"{option} got {text!r}: expected {kinds}, or numbers such as 1,0.5,0.25") from None


def position_weights(given: str | Sequence[float]) -> Callable[[int], Vector]:
    """θ for K positions: clicks (1 each), DCG (1/log₂(1+k)), or the numbers given."""
    if isinstance(given, str):
        if given == "clicks":
            return lambda k: np.ones(k)
        if given == "dcg":
            return lambda k: 1 / np.log2(np.arange(2, k + 2))
        raise unknown("weights", given, WEIGHTS)
    values = _checked(given, "weights")

    def padded(k: int) -> Vector:
        return np.concatenate([values, np.zeros(max(k - len(values), 0))])[:k]

    return padded


def check_length(given: str | Sequence[float], positions: int, what: str) -> None:
    """Numbers given per position may be more than K, not fewer."""
    if not isinstance(given, str) and len(given) < positions:
        raise InputError(
            f"{what} gives {len(given)} numbers, but rankings have {positions} positions: "
            f"give at least {positions}, or cut with `top={len(given)}`"
        )


def is_fitted(examination: str | Sequence[float]) -> bool:
    """Whether the curve comes from the log."""
    return isinstance(examination, str) and examination in FITTED


def examination_curve(given: str | Sequence[float], positions: int) -> Vector:
    """p for K positions: 1/k, or the numbers given."""
    if isinstance(given, str):
        if given != "reciprocal":
            raise unknown("examination", given, EXAMINATIONS)
        return 1 / np.arange(1, positions + 1)
    check_length(given, positions, "examination")
    curve = _checked(given, "examination")
    if abs(curve[0] - 1) > 1e-9:
        raise InputError(
            f"examination begins with {curve[0]:g}: a curve is 1 at position 1; divide its numbers by the first"
        )
    return curve[:positions]


def _checked(given: Sequence[float], what: str) -> Vector:
    try:
        values = np.asarray(list(given), dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{what} must be numbers, one per position, but came as {given!r}") from None
    if values.ndim != 1 or len(values) == 0 or not np.isfinite(values).all() or (values < 0).any():
        raise InputError(f"{what} must be finite numbers of 0 or more, one per position, but came as {list(given)!r}")
    if ((values > LARGEST) | ((values > 0) & (values < LEAST))).any():
        raise InputError(f"{what} must be 0 or from {LEAST:g} to {LARGEST:g}, but came as {list(given)!r}")
    if not values.any():
        raise InputError(f"{what} are all 0: at least one position must count")
    return values


def check_top(top: int | None, option: str = "`top`") -> int | None:
    if top is not None and (not isinstance(top, int | np.integer) or not 1 <= top <= MOST_POSITIONS):
        raise InputError(f"{option} is {top}: expected a whole number of positions, from 1 to {MOST_POSITIONS:,}")
    return top


def check_clip(clip: Any, expected: str = "a positive number", name: str = "clip") -> float:
    if clip is None:
        return math.inf
    try:
        value = float(clip)
    except (TypeError, ValueError):
        raise InputError(f"`{name}` is {clip!r}: expected {expected}") from None
    if math.isnan(value) or value <= 0:
        raise InputError(f"`{name}` is {clip}: expected {expected}")
    if value < LEAST or (value > LARGEST and not math.isinf(value)):
        raise InputError(f"`{name}` is {clip}: expected a number from {LEAST:g} to {LARGEST:g}, or leave it out")
    return value


def read_clip(text: str | None) -> float | str | None:
    """`clip` as a number, or auto; none is none."""
    if text is None or text == "none":
        return None
    if text == "auto":
        return text
    clip = check_clip(text)
    return None if math.isinf(clip) else clip


def number_of(clip: float | str | None) -> float | None:
    """A clip that is a number; one that the data choose has none yet."""
    return None if clip is None or clip == "auto" else check_clip(clip, "a positive number, or auto")


def check_confidence(confidence: float) -> float:
    if not 0 < confidence <= CONFIDENT:
        raise InputError(
            f"`confidence` is {confidence}: expected a number between 0 and 1, e.g. 0.95, and at most 1 - 1e-9"
        )
    if confidence < LEAST:
        raise InputError(f"`confidence` is {confidence}: expected a number of at least {LEAST:g}, e.g. 0.95")
    return confidence


def check_range(given: Any) -> tuple[float, float] | None:
    """The least and the largest reward, from two numbers or "LO,HI"."""
    if given is None:
        return None
    try:
        low, high = (float(part) for part in (given.split(",") if isinstance(given, str) else given))
    except (TypeError, ValueError):
        low, high = math.nan, math.nan
    if not (reasonable(low) and reasonable(high) and low <= high):
        raise InputError(
            f"`reward_range` is {given!r}: expected two numbers, the lower one first, e.g. 0,1 (up to {LARGEST:g})"
        )
    return low, high


def check_inside(limits: tuple[float, float] | None, seen: tuple[float, float] | None) -> None:
    """Refuse a range of rewards that the log's own are not in: bounds by it would be wrong."""
    if limits is not None and seen is not None and not (limits[0] <= seen[0] and seen[1] <= limits[1]):
        raise InputError(
            f"`reward_range` is {limits[0]:g},{limits[1]:g}, but the log has rewards from {seen[0]:g} to {seen[1]:g}: "
            "give a range that holds them"
        )
