"""`clip="auto"`: the clip that a log itself suggests, for each estimator."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from counterrank.estimate import ESTIMATORS, Estimate, LinearEstimate
from counterrank.records import dataclass
from counterrank.setting.evidence import Evidence

AUTO = "auto"
GRID = 8  # clips to choose from, no clip included
GAIN = 0.05  # errors that differ by less are alike
STEP = 1.5  # one clip is at least so many times the next smaller one


@dataclass(frozen=True)
class ClipChoice:
    """A chosen clip (inf: none), which of the clips tried it is, and what it moves the estimate by."""

    clip: float
    number: int = 0
    moved: float = 0.0

    def words(self) -> str:
        return "none" if math.isinf(self.clip) else f"{self.clip:.3g}"


def grid_below(largest: float) -> list[float]:
    """No clip, then clips falling geometrically from the largest weight to 1, which is the mean weight.

    >>> [round(clip, 6) for clip in grid_below(100.0)[1:3]], len(grid_below(100.0))
    ([51.794747, 26.826958], 8)
    >>> grid_below(2.0), grid_below(0.5)
    ([inf, 1.3333333333333333], [inf])
    """
    if not (math.isfinite(largest) and largest > STEP):
        return [math.inf]
    step = max(largest ** (1 / (GRID - 1)), STEP)
    steps = int(math.log(largest) / math.log(step) + 1e-9)
    return [math.inf, *(largest / step**i for i in range(1, steps + 1))]


def choose(values: NDArray[np.float64], variances: NDArray[np.float64]) -> int:
    """Which of these estimates, the first of them without a clip, has the least estimated squared error.

    The error of a clip is its variance and the square of what it moves the estimate by. So a clip is taken where one
    or two heavy impressions bring more variance than value, and not where many agree. Of clips that are as good but for
    a twentieth, the largest is taken. Reference: Wang, Agarwal and Dudík (2017) choose SWITCH's threshold by variance
    and a bound on the bias.

    >>> choose(np.array([1.0, 0.9, 0.5]), np.array([0.5, 0.3, 0.2])), choose(np.array([1.0, 0.1]), np.array([0.5, 0.1]))
    (1, 0)
    """
    error = (values - values[0]) ** 2 + variances
    if not np.isfinite(error[0]):
        return 0
    return int(np.flatnonzero(error <= (1 + GAIN) * np.nanmin(error))[0])


def picked(clips: Sequence[float], found: Sequence[Estimate], impressions: int) -> ClipChoice:
    """The clip to take, given the estimate with each."""
    values = np.array([math.nan if e.value is None else e.value for e in found])
    seconds = np.array([math.nan if e.second_moment is None else e.second_moment for e in found])
    with np.errstate(over="ignore", invalid="ignore"):
        number = choose(values, np.maximum(seconds, 0.0) / impressions / max(impressions - 1, 1))
    return ClipChoice(clips[number], number, float(values[number] - values[0]))


class Grids:
    """Every clip of every estimator, to be weighed in one pass over the rows."""

    def __init__(self, names: Sequence[str], evidence: Evidence) -> None:
        self.evidence = evidence
        self.clips = {name: grid_below(ESTIMATORS[name].largest_weight(evidence)) for name in names}

    def drafts(self) -> dict[str, Estimate | LinearEstimate]:
        """By name and number of the clip."""
        return {
            key(name, i): ESTIMATORS[name].estimate(clipped(self.evidence, clip))
            for name, clips in self.clips.items()
            for i, clip in enumerate(clips)
        }

    def chosen(self, done: Mapping[str, Estimate]) -> dict[str, ClipChoice]:
        """The clip of each estimator."""
        return {
            name: picked(clips, [done[key(name, i)] for i in range(len(clips))], self.evidence.counts.total)
            for name, clips in self.clips.items()
        }


def clipped(evidence: Evidence, clip: float) -> Evidence:
    """The same evidence with another clip."""
    return evidence if clip == evidence.clip else replace(evidence, clip=clip)


def key(name: str, number: int) -> str:
    """What an estimate with one of several clips is called."""
    return f"{name} {number}"


def told(choices: Mapping[str, ClipChoice]) -> list[str]:
    """Which clip each estimator got."""
    named = ", ".join(f"{name} {choice.words()}" for name, choice in choices.items() if ESTIMATORS[name].clips)
    return [f"clips chosen by the data: {named}"] if named else []


def warning(choice: ClipChoice) -> list[str]:
    """What the interval of an estimate whose clip was chosen does not hold."""
    if math.isinf(choice.clip):
        return []
    way = "raises" if choice.moved > 0 else "lowers"
    return [
        f"the data chose the clip, which {way} the estimate by {abs(choice.moved):.3g}: the interval holds neither "
        "this nor what the choice adds"
    ]
