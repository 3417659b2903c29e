"""Examples as a model takes them: those that something can be learnt of, or a plain word why there is nothing."""

from __future__ import annotations

from dataclasses import field

import numpy as np

from counterrank.errors import InputError, Unanswerable
from counterrank.learning.examples import Examples, Vector
from counterrank.records import dataclass
from counterrank.words import counted


@dataclass(frozen=True)
class Prepared:
    """Training and validation queries with all that is not known left out, and what to say of that."""

    train: Examples
    validation: Examples | None
    notes: list[str] = field(default_factory=list)


def prepared(train: Examples, validation: Examples | None, weights: Vector) -> Prepared:
    """The examples to learn from, checked."""
    if not len(weights) or not np.isfinite(weights).all() or (weights < 0).any():
        raise InputError("`weights` of positions are not all finite and at least 0: give a weight for each position")
    known, notes = train.known(), []
    left = len(train.worth) - len(known.worth)
    if left:
        notes.append(
            f"{counted(left, 'item of a query', 'items of queries')} of the training part left out: without features, "
            "or never looked at"
        )
    if not known.worth.any():
        raise Unanswerable(
            "the training part has no click on an item with features: there is nothing to learn from. Give more of "
            "the log, or a table of features that has its items"
        )
    if not differing(known).any():
        raise Unanswerable(
            "no query of the training part has two items of different worth: there is no order to learn. Give more of "
            "the log"
        )
    padded = np.concatenate([weights, [0.0]]) if known.longest > len(weights) else weights[: known.longest]
    if (padded == padded[0]).all():
        raise Unanswerable("all positions weigh the same, so every order is worth the same: give other `weights`")
    held = None if validation is None else validation.known()
    if held is not None and not differing(held).any():
        notes.append("the validation queries have no clicks that tell items apart: hyper-parameters are not chosen")
        held = None
    return Prepared(known, held, notes)


def differing(examples: Examples) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """(Q,) whether a query has two items of different worth."""
    some = examples.sizes > 0
    out = np.zeros(len(examples), dtype=bool)
    if some.any():
        at = examples.starts[:-1][some]
        out[some] = np.maximum.reduceat(examples.worth, at) > np.minimum.reduceat(examples.worth, at)
    return out
