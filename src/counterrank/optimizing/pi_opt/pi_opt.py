"""PI-OPT: a ranking policy from page-level rewards, by regression on φ̂ (swaminathan2017, section 4.2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field

import numpy as np
from numpy.typing import NDArray

from counterrank.errors import unknown
from counterrank.ids import Codes
from counterrank.optimizing.pi_opt.examples import Examples, Matrix, Vector
from counterrank.optimizing.pi_opt.gains import slot_gains
from counterrank.optimizing.pi_opt.greedy import greedy
from counterrank.records import dataclass
from counterrank.regress import FOLDS, REGRESSIONS, Fitted, Training
from counterrank.statistics.pairs import Table

SLOTS = ("shared", "each")


@dataclass(frozen=True)
class PiOpt:
    """A learnt scoring of (item, position) pairs.

    `fits` has one regression for all positions, whose score counts `gains[j]` at position j + 1, or one per position.
    `scored`: each query's pairs as a model scores them that has not seen the query, where that was asked for.
    """

    fits: Sequence[Fitted]
    gains: Vector  # (K,)
    r2: float | None  # of φ̂'s variance within queries and positions, in queries not seen
    scored: Table | None = None  # (P, K)
    notes: list[str] = field(default_factory=list)

    @property
    def chosen(self) -> str:
        """The hyper-parameters, in words."""
        return ", ".join(dict.fromkeys(fit.chosen for fit in self.fits))

    def scores(self, features: Matrix) -> Table:
        """(P, K) what each item is predicted to add at each position, up to a constant per query and position."""
        return _scores(self.fits, self.gains, features)

    def rank(
        self, features: Matrix, starts: Codes, lengths: Codes, allowed: NDArray[np.bool_] | None = None
    ) -> tuple[Codes, Table]:
        """Rankings, (Q, K) rows of `features` or -1, and the scores; `allowed` (P, K): where an item may stand."""
        scores = self.scores(features)
        return greedy(lifted(scores, starts, allowed), starts, lengths), scores


def pi_opt(
    examples: Examples, model: str = "ridge", slots: str = "shared", *, folds: int = FOLDS, held_out: bool = False
) -> PiOpt:
    """Fit φ̂ by a regression whose hyper-parameter is chosen over folds of disjoint queries.

    φ̂ is first centred within each query and position: a constant there changes no order, and φ̂ does not tell positions
    apart by it. "shared": one score per item, from all positions, and a gain per position (`slot_gains`); "each": a
    regression of its own for each position, where items suit positions differently and the log is large. `held_out`:
    also score each query by models that were fitted without its fold.
    """
    if model not in REGRESSIONS:
        raise unknown("model", model, REGRESSIONS)
    if slots not in SLOTS:
        raise unknown("slots", slots, SLOTS)
    y, positions = examples.centred(examples.phi), examples.phi.shape[1]
    present = examples.folds if len(examples.folds) > 1 else np.zeros(0, dtype=np.int64)
    gains = np.ones(positions)
    if slots == "shared":
        trainings = [_training(model, examples, y, gains, folds)]
        scored = None
        if len(present):
            out = _held_out(trainings, examples, present)
            gains = slot_gains(examples, out[:, 0])
            scored = out * gains
            gains = gains / gains.max()
            trainings = [_training(model, examples, y, gains, folds)]
    else:
        trainings = [_training(model, examples, y[:, [j]], gains[:1], folds, j) for j in range(positions)]
        scored = _held_out(trainings, examples, present) if held_out and len(present) else None
    fits = [training.fit() for training in trainings]
    notes = list(dict.fromkeys(note for fit in fits for note in fit.notes))
    return PiOpt(fits, gains, _r2(examples, y, scored), scored, notes)


def lifted(scores: Table, starts: Codes, allowed: NDArray[np.bool_] | None = None) -> Table:
    """Scores counted from each query's lowest at each position, -inf where an item may not stand.

    It changes no ranking's worth against another's, and greedy choice then begins where most is at stake: with one
    score per item, the best item gets the position that counts most.
    """
    open_places = np.ones(scores.shape, dtype=bool) if allowed is None else allowed
    queries = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    least = np.full((len(starts) - 1, scores.shape[1]), np.inf)
    np.minimum.at(least, queries, np.where(open_places, scores, np.inf))
    return np.where(open_places, scores - np.where(np.isfinite(least), least, 0.0)[queries], -np.inf)


def _training(model: str, examples: Examples, y: Table, gains: Vector, folds: int, only: int | None = None) -> Training:
    """The examples of all positions, or of one. An item's examples come as one row, with the same least squares."""
    weight = examples.weight if only is None else examples.weight[:, [only]]
    mass = weight @ gains**2
    used = mass > 0
    target = (weight[used] * y[used]) @ gains / mass[used]
    training = REGRESSIONS[model](examples.features.shape[1], folds)
    training.add(examples.features[used], target, mass[used], examples.fold[examples.queries[used]])
    return training


def _held_out(trainings: Sequence[Training], examples: Examples, present: Codes) -> Table:
    """(P, fits): the scores of each fold's items by fits without it."""
    out = np.zeros((len(examples.features), len(trainings)))
    of = examples.fold[examples.queries]
    known = np.isfinite(examples.features).all(axis=1)
    for fold in present.tolist():
        rows = np.flatnonzero((of == fold) & known)
        for i, training in enumerate(trainings):
            out[rows, i] = training.fit(without=fold).predict(examples.features[rows])
    return out


def _scores(fits: Sequence[Fitted], gains: Vector, features: Matrix) -> Table:
    if len(fits) == 1:
        return np.asarray(fits[0].predict(features)[:, None] * gains)
    return np.stack([fit.predict(features) for fit in fits], axis=1)


def _r2(examples: Examples, y: Table, scored: Table | None) -> float | None:
    """How much of φ̂'s variance within queries and positions the models explain that have not seen the query."""
    whole = float((examples.weight * y**2).sum())
    if scored is None or whole <= 0:
        return None
    return float(1 - (examples.weight * (y - examples.centred(scored)) ** 2).sum() / whole)
