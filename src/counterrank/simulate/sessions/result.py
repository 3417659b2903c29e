"""What a simulation of sessions found: each ranker's metrics over the trials, and tests between rankers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, field
from typing import Any

import numpy as np

from counterrank.log.reading import Reading
from counterrank.records import dataclass
from counterrank.report import Curve, Picture, curves
from counterrank.result.answer import Answer
from counterrank.simulate.sessions.outcome import METRICS, Outcome
from counterrank.simulate.sessions.randomisation import by_query, randomisation

SHOWN = ("cold", "warm", "cumulative", "mean", "last_fifth")


@dataclass(frozen=True)
class Measured:
    """One number over the trials."""

    mean: float | None
    sd: float | None
    values: list[float | None]

    @classmethod
    def of(cls, values: Sequence[float | None]) -> Measured:
        known = [v for v in values if v is not None]
        mean = math.fsum(known) / len(known) if known else None
        sd = float(np.std(known, ddof=1)) if len(known) > 1 else None
        return cls(mean, sd, list(values))


@dataclass(frozen=True, kw_only=True)
class RankerRow:
    """One ranker."""

    ranker: str
    behaviour: str
    exploration: float
    new_share: float | None
    cold: Measured
    warm: Measured
    cumulative: Measured
    mean: Measured
    last_fifth: Measured
    new_places: Measured
    uncertainty: Measured
    fit_seconds: float
    serve_seconds: float
    outcomes: list[Outcome] = field(repr=False)

    @classmethod
    def of(
        cls, ranker: str, behaviour: str, exploration: float, new_share: float | None, outcomes: list[Outcome]
    ) -> RankerRow:
        names = (*SHOWN, "new_places", "uncertainty")
        measured = {name: Measured.of([getattr(each, name) for each in outcomes]) for name in names}
        return cls(
            ranker=ranker,
            behaviour=behaviour,
            exploration=exploration,
            new_share=new_share,
            fit_seconds=sum(each.fit_seconds for each in outcomes) / len(outcomes),
            serve_seconds=sum(each.serve_seconds for each in outcomes) / len(outcomes),
            outcomes=outcomes,
            **measured,
        )

    @property
    def label(self) -> str:
        more = [] if self.behaviour == "none" else [self.behaviour]
        more += [] if self.new_share is None else [f"at most {self.new_share:g} new"]
        return f"{self.ranker} ({', '.join(more)})" if more else self.ranker

    def curve(self, label: str | None = None) -> Curve:
        """NDCG over the sessions, with a band of one standard deviation over the trials."""
        every = np.array([[np.nan if v is None else v for v in each.curve] for each in self.outcomes])
        known = (~np.isnan(every)).sum(axis=0)
        total = np.where(known > 0, np.nansum(every, axis=0) / np.maximum(known, 1), np.nan)
        spread = np.sqrt(np.nansum((every - total) ** 2, axis=0) / np.maximum(known - 1, 1))
        values = [None if np.isnan(v) else float(v) for v in total]
        return Curve(label or self.label, values, spread.tolist() if len(every) > 1 else None)

    def to_dict(self) -> dict[str, Any]:
        names = (*SHOWN, "new_places", "uncertainty")
        head = {name: getattr(self, name) for name in ("ranker", "behaviour", "exploration", "new_share")}
        seconds = {"fit": self.fit_seconds, "serve": self.serve_seconds}
        return head | {name: asdict(getattr(self, name)) for name in names} | {"seconds": seconds}


@dataclass(frozen=True)
class Test:
    """How far two rankers differ in a metric, and Fisher's p for it."""

    a: str
    b: str
    metric: str
    difference: float
    p: float


def tests_of(rows: Sequence[RankerRow]) -> list[Test]:
    """Each pair of rankers in each metric: per test query, averaged over the trials."""
    pairs = [(one, other) for i, one in enumerate(rows) for other in rows[i + 1 :]]
    if not pairs:
        return []
    queries = sorted({q for each in rows[0].outcomes for q in each.queries})
    at = {query: place for place, query in enumerate(queries)}
    table: dict[tuple[int, str], np.ndarray[Any, np.dtype[np.float64]]] = {}
    for number, row in enumerate(rows):
        for metric in METRICS:
            found = by_query([each.shares[metric] for each in row.outcomes], [each.queries for each in row.outcomes])
            column = np.zeros(len(queries))
            for query, value in found.items():
                column[at[query]] = value
            table[number, metric] = column
    number_of = {id(row): number for number, row in enumerate(rows)}
    asked = [(one, other, metric) for one, other in pairs for metric in METRICS]
    differences = np.stack(
        [table[number_of[id(one)], metric] - table[number_of[id(other)], metric] for one, other, metric in asked],
        axis=1,
    )
    p = randomisation(differences)
    return [
        Test(one.label, other.label, metric, float(differences[:, i].sum()), float(p[i]))
        for i, (one, other, metric) in enumerate(asked)
    ]


@dataclass(frozen=True, repr=False, kw_only=True)
class Simulation(Answer):
    """Rankers that played the same service. `plot()` draws NDCG over the sessions."""

    listed = "rankers"
    sessions: int
    queries: int
    trials: int
    rankers: list[RankerRow]
    tests: list[Test]
    settings: dict[str, Any]
    reading: Reading  # the documents
    notes: list[str] = field(default_factory=list)

    def row(self, ranker: str, behaviour: str | None = None, new_share: float | None = None) -> RankerRow:
        """The row of a ranker."""
        for each in self.rankers:
            if each.ranker == ranker and behaviour in (None, each.behaviour) and each.new_share == new_share:
                return each
        raise KeyError(ranker)

    def to_dict(self) -> dict[str, Any]:
        return {
            "sessions": self.sessions,
            "queries": self.queries,
            "trials": self.trials,
            "rankers": [each.to_dict() for each in self.rankers],
            "tests": [asdict(each) for each in self.tests],
            "settings": self.settings,
            "rows": self.reading.rows,
            "rejected": self.reading.rejected,
            "notes": self.notes,
        }

    def summary(self) -> str:
        return f"{self.sessions:,} sessions of {self.queries:,} queries, {self.trials} trials; NDCG on test queries"

    def cells(self) -> tuple[list[str], list[list[str]]]:
        header = [
            "ranker",
            "exploration",
            "cold",
            "warm",
            "cumulative",
            "mean",
            "last fifth",
            "new items",
            "fit",
            "serve",
        ]
        body = []
        for each in self.rankers:
            numbers = [_told(getattr(each, name), 1 if name == "cumulative" else 3) for name in SHOWN]
            places = "–" if each.new_places.mean is None else f"{each.new_places.mean:.1%}"
            times = [f"{each.fit_seconds:.2f} s", f"{each.serve_seconds:.2f} s"]
            body.append([each.label, f"{each.exploration:g}", *numbers, places, *times])
        return header, body

    def remarks(self) -> list[str]:
        out = list(self.notes)
        best = self._best()
        if best is not None:
            out.append(best)
        out += self._budgets()
        unsure = [(each.label, each.uncertainty.mean) for each in self.rankers if each.uncertainty.mean is not None]
        if unsure:
            said = ", ".join(f"{label} {value:.3f}" for label, value in unsure)
            out.append(f"uncertainty left at the end, U(q) of a test query: {said}")
        return [*out, self.reading.line()]

    def _best(self) -> str | None:
        """Who leads by the plain mean over test sessions, and over whom that is sure."""
        known = [each for each in self.rankers if each.mean.mean is not None and each.ranker != "truth"]
        if len(known) < 2:
            return None
        first, second = sorted(known, key=lambda each: -(each.mean.mean or 0.0))[:2]
        for test in self.tests:
            if {test.a, test.b} == {first.label, second.label} and test.metric == "mean":
                return (
                    f"by mean session NDCG {first.label} leads {second.label} by {abs(test.difference):.4f} "
                    f"(Fisher's p = {test.p:.4f})"
                )
        return None

    def _budgets(self) -> list[str]:
        """What a limit on new items costs, and what it saves."""
        out = []
        for each in self.rankers:
            if each.new_share is None:
                continue
            free = self.row(each.ranker, each.behaviour)
            if None in (each.mean.mean, free.mean.mean):
                continue
            lost = (each.mean.mean or 0.0) - (free.mean.mean or 0.0)
            first = _early(each) - _early(free)
            out.append(
                f"{each.label}: mean session NDCG {lost:+.4f}, in the first fifth of the sessions {first:+.4f}; "
                f"new items had {each.new_places.mean:.1%} of the places instead of {free.new_places.mean:.1%}"
            )
        return out

    def plot(self) -> Picture:
        """NDCG over the sessions, a line per ranker with a band of one standard deviation over the trials: SVG."""
        bins = len(self.rankers[0].outcomes[0].curve)
        places = [self.sessions * (i + 1) // bins for i in range(bins)]
        return curves(
            "NDCG of what was shown, over the sessions",
            [float(each) for each in places],
            [each.curve() for each in self.rankers],
            "sessions",
        )

    def _repr_html_(self) -> str:
        return super()._repr_html_() + self.plot().svg


def _early(row: RankerRow) -> float:
    """Mean over the first fifth of the curve."""
    values = [v for each in row.outcomes for v in each.curve[: len(each.curve) // 5] if v is not None]
    return sum(values) / len(values) if values else 0.0


def _told(measured: Measured, digits: int) -> str:
    if measured.mean is None:
        return "–"
    return f"{measured.mean:.{digits}f}" + (f" ± {measured.sd:.{digits}f}" if measured.sd is not None else "")
