"""What one ranker's trial was worth: four kinds of NDCG, by test query so that rankers can be compared."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from counterrank.records import dataclass
from counterrank.simulate.sessions.script import Script
from counterrank.simulate.sessions.trial import Trial

METRICS = ("cold", "warm", "cumulative", "mean")  # those that are tested
BINS = 50  # points of a curve over the sessions
VALIDATION, TEST = 1, 2


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """The metrics of one trial. `shares`: what each test query adds to each metric, so that a metric is their sum."""

    cold: float
    warm: float
    cumulative: float
    mean: float | None
    last_fifth: float | None
    validation: float | None  # mean session NDCG of the validation queries: what exploration is tuned by
    new_places: float  # share of the test pages' places that new items had
    uncertainty: float | None  # U(q) of eq. 8 at the end, the mean over test queries
    curve: list[float | None]  # mean NDCG of the test sessions in each of the bins
    queries: list[int]  # the test queries
    shares: dict[str, list[float]]
    fit_seconds: float
    serve_seconds: float

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def outcome_of(trial: Trial, script: Script, discount: float) -> Outcome:
    """The metrics of a trial. Warm-up sessions do not count.

    cold, warm: NDCG of all documents ranked without exploration, without and with clicks. cumulative:
    Σ discount^(t − τ) · NDCG over the test sessions (eq. 7). mean: the plain mean over them.
    """
    part, ndcg = script.part[script.query], trial.played.ndcg
    tested = np.flatnonzero(part == TEST)
    weights = discount ** np.arange(len(tested))[::-1].astype(np.float64)
    values, queries = ndcg[tested], script.query[tested]
    size, places = len(script.part), max(int((trial.played.page[tested] >= 0).sum()), 1)

    def by_query(each: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(np.bincount(queries, weights=each, minlength=size), dtype=np.float64)[trial.tested]

    shares = {
        "cold": trial.cold / len(trial.tested),
        "warm": trial.warm / len(trial.tested),
        "cumulative": by_query(weights * values),
        "mean": by_query(values / max(len(tested), 1)),
    }
    return Outcome(
        cold=float(trial.cold.mean()),
        warm=float(trial.warm.mean()),
        cumulative=float(weights @ values),
        mean=_mean(values),
        last_fifth=_mean(ndcg[tested[tested >= len(ndcg) * 4 // 5]]),
        validation=_mean(ndcg[part == VALIDATION]),
        new_places=float(trial.played.fresh[tested].sum()) / places,
        uncertainty=trial.uncertainty,
        curve=[_mean(values[(tested >= low) & (tested < high)]) for low, high in _edges(len(ndcg))],
        queries=trial.tested.tolist(),
        shares={name: each.tolist() for name, each in shares.items()},
        fit_seconds=trial.fit_seconds,
        serve_seconds=trial.serve_seconds,
    )


def _edges(sessions: int) -> list[tuple[int, int]]:
    return [(sessions * i // BINS, sessions * (i + 1) // BINS) for i in range(BINS)]


def _mean(values: NDArray[np.float64]) -> float | None:
    return float(values.mean()) if len(values) else None
