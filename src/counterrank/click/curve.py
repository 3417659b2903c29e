"""The examination curve of a log by name: fitted, or 1/k where the log cannot tell."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from counterrank.click.base import Floats
from counterrank.click.empirical import EmpiricalFit, empirical_of
from counterrank.click.examination import ExaminationFit, fit_examination, tally_of
from counterrank.click.harvest import harvest_of
from counterrank.errors import Unanswerable, unknown
from counterrank.records import dataclass
from counterrank.statistics.cells import Tally
from counterrank.threads import side_by_side

FITTED = ("auto", "eb", "em")  # the names of curves that are fitted to a log
CHECKED = 20  # positions at which a harvested curve is looked at
WORTH = 0.01  # the share of the clicks from which a position is looked at
AGREES = 0.05  # how far the harvested curve may lie from the fitted one, and how far it may be from sure


@dataclass(frozen=True, kw_only=True)
class Curve:
    """How likely each position is looked at, relative to position 1, and how that is known."""

    kind: str  # eb, em, reciprocal or given
    examination: Floats  # (K,)
    covariance: Floats | None = None  # (K, K) where it is fitted
    told: str = ""  # how it was chosen, where the log was asked
    notes: tuple[str, ...] = ()  # what is wrong with it

    def over(self, positions: int) -> Curve:
        """The same on so many positions; those that the log does not have are not looked at."""
        size = min(positions, len(self.examination))
        examination, covariance = np.zeros(positions), None
        examination[:size] = self.examination[:size]
        if self.covariance is not None:
            covariance = np.zeros((positions, positions))
            covariance[:size, :size] = np.nan_to_num(self.covariance[:size, :size])
        return replace(self, examination=examination, covariance=covariance)


def reciprocal(positions: int) -> Floats:
    """1/k."""
    return 1 / np.arange(1, positions + 1)


def fit_curve(kind: str, shown: ArrayLike, clicked: ArrayLike) -> Curve:
    """As `curve_of`, from (P, K) counts of the whole log."""
    return curve_of(kind, tally_of(shown, clicked))


def curve_of(kind: str, counted: Tally) -> Curve:
    """The curve by empirical Bayes (eb), by maximum likelihood (em), or (auto) by eb where the log can tell, else 1/k.

    The log can tell where the same (query, item) pairs stand at several positions, so that a curve can be harvested
    from these experiments alone: eb is taken if the harvested curve is sure to 0.05 (a standard error) and lies within
    0.05 of it at each of the first 20 positions that have a hundredth of the clicks. A logging policy that puts
    attractive items first bends the curve of eb, but not the harvested one.

    `counted` is of the whole log.
    """
    if kind == "em":
        em = fit_examination(*counted.clicked_tables())
        return Curve(
            kind="em", examination=em.examination, covariance=em.covariance,
            notes=(*em.notes, *_doubts(em, counted)),
        )  # fmt: skip
    if kind == "eb":
        return _empirical(empirical_of(counted))
    if kind != "auto":
        raise unknown("examination", kind, FITTED)
    positions = counted.cells.depth
    if positions < 2:
        return Curve(kind="reciprocal", examination=reciprocal(positions))
    try:
        fitted, harvested = side_by_side(lambda: empirical_of(counted), lambda: harvest_of(counted, CHECKED))
    except Unanswerable as reason:
        short = str(reason).split(": give")[0]
        return Curve(kind="reciprocal", examination=reciprocal(positions), told=f"1/k, as the log cannot tell: {short}")
    return _agreed(fitted, harvested, counted.cells.by_position(counted.clicked))


def _empirical(fit: EmpiricalFit) -> Curve:
    return Curve(kind="eb", examination=fit.examination, covariance=fit.covariance, notes=fit.notes)


def _agreed(fitted: EmpiricalFit, harvested: ExaminationFit, clicks_at: Floats) -> Curve:
    """The fitted curve if the harvested one agrees, and what became of it."""
    size = len(harvested.examination)
    looked = (clicks_at[:size] >= WORTH * clicks_at.sum()) & (np.arange(size) > 0)
    apart, error = fitted.examination[:size] - harvested.examination, harvested.stderr
    positions = len(fitted.examination)
    if not looked.any():
        return replace(_empirical(fitted), told="by empirical Bayes: next to all clicks are at position 1")
    far = int(np.argmax(np.where(looked, np.abs(apart), -1.0)))
    least = int(np.argmax(np.where(looked, np.nan_to_num(error, nan=np.inf), -1.0)))
    differ = abs(apart[far]) > max(AGREES, 2 * error[far])
    if not (differ or (harvested.linked[looked].all() and error[looked].max() <= AGREES)):
        where = f"the experiments in the log leave position {least + 1} unsure"
        known = f" (± {error[least]:.2f})" if np.isfinite(error[least]) else ""
        told = f"1/k, as the log cannot tell: {where}{known}"
        return Curve(kind="reciprocal", examination=reciprocal(positions), told=told)
    unsure = f" ± {error[far]:.3f}" if np.isfinite(error[far]) else ""
    said = f"{abs(apart[far]):.3f}{unsure} at position {far + 1}"
    if abs(apart[far]) <= AGREES:
        return replace(_empirical(fitted), told=f"by empirical Bayes; the harvested curve is within {said}")
    shape = ",".join(f"{x:.2g}" for x in harvested.examination)
    told = (
        f"1/k, as two ways to tell differ: by empirical Bayes position {far + 1} is examined with chance "
        f"{fitted.examination[far]:.2f}, by the same items at several positions {harvested.examination[far]:.2f}"
        f"{unsure}: the logging policy may put attractive items first; `examination='{shape}'` is the latter"
    )
    return Curve(kind="reciprocal", examination=reciprocal(positions), told=told)


def _doubts(fit: ExaminationFit, counted: Tally) -> list[str]:
    """What to say of maximum likelihood on thin logs."""
    said = []
    seen = fit.examination > 0
    if seen.sum() > 1 and (np.abs(fit.examination[seen][1:] - 1.0) < 1e-3).any():
        where = ", ".join(str(k + 1) for k in np.flatnonzero(seen & (np.abs(fit.examination - 1.0) < 1e-3)) if k)
        said.append(
            f"the examination of position {where} ended on an edge, 1: on thin logs `examination='em'` collapses; "
            "`examination='eb'` does not"
        )
    if not (counted.cells.by_pair(counted.shown > 0) > 1).any():
        said.append(
            "every item stands at one position only: `examination='em'` cannot tell examination from attraction; give "
            "numbers"
        )
    return said
