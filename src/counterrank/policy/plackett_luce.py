"""A policy that draws items one after the other, in proportion to exp(score / temperature)."""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from counterrank.beside import in_two
from counterrank.errors import InputError
from counterrank.ids import Codes
from counterrank.policy import _race, sets
from counterrank.policy._pairs import PairMarginals, spread
from counterrank.policy.base import Policy
from counterrank.policy.ordered import OrderedCandidates
from counterrank.policy.scores import Scores
from counterrank.policy.stored import Stored
from counterrank.statistics.pairs import Pairs
from counterrank.statistics.pairs import Table as PairTable

WORTH = 1 << 12  # rankings from which a second thread is worth its start
KEPT = 1 << 26  # chances that are kept once they were computed: 512 MB at most; long lists take seconds a query


class PlackettLuce(Policy):
    """The next item is drawn from those left with probability in proportion to λ = exp(score / temperature).

    Assumption: independence of irrelevant alternatives. P(ranking) = Π_k λ_k / Σ_{not yet shown} λ. The chance of an
    item at a position is an integral over the arrival times of an exponential race, taken by the trapezoid rule: not
    sampled, with an absolute error below 1e-12 for any number of items (bound and proof idea in `_race.py`; 1e-14 is
    typical). As the temperature grows the policy becomes uniform, as it falls to 0 it becomes `Scores`.
    Reference: Plackett (1975), The analysis of permutations; swaminathan2017, section 4, logs by it.

    >>> policy = PlackettLuce({"q": {"a": math.log(2), "b": 0.0}}, temperature=1)
    >>> round(policy.probability("q", ["b", "a"]), 12)
    0.333333333333
    >>> policy.marginals("q")["a"].round(12).tolist()
    [0.666666666667, 0.333333333333]
    """

    kind: ClassVar[str] = "plackett_luce"

    def __init__(self, scores: Any, temperature: float = 1.0) -> None:
        if not (math.isfinite(temperature) and temperature > 0):
            raise InputError(
                f"the temperature of Plackett–Luce is {temperature}: give a positive number, or sort with Scores (0)"
            )
        self.scores = scores if isinstance(scores, Scores) else _read(scores)
        self.temperature = float(temperature)

    def queries(self) -> pa.Array:
        return self.scores.queries()

    def items(self) -> tuple[pa.Array, pa.Array]:
        return self.scores.items()

    @property
    def notes(self) -> list[str]:
        return [*self.source_notes, *self.scores.notes]

    def stored(self) -> Stored:
        """Its scores and its temperature. A plain file has no place for the temperature: see `at_temperature_1`."""
        return Stored.of(
            self.kind, settings={"temperature": self.temperature}, tables={"policy.parquet": self.scores.rows()}
        )

    @classmethod
    def restored(cls, stored: Stored) -> PlackettLuce:
        return cls(Scores.restored(stored), stored.number("temperature"))

    def at_temperature_1(self) -> Scores:
        """The scores with which the same policy has the temperature 1: they can be saved as a plain file.

        >>> PlackettLuce({"q": {"a": 3.0}}, temperature=2).at_temperature_1().rows()["score"].to_pylist()
        [1.5]
        """
        return self.scores.divided(self.temperature)

    def bind(self, pairs: Pairs) -> BoundPlackettLuce:
        return BoundPlackettLuce(pairs, *self.scores.candidates(pairs), self.temperature)

    def __repr__(self) -> str:
        return f"PlackettLuce({self.scores!r}, temperature={self.temperature:g})"


def _read(source: Any) -> Scores:
    """Scores from {query: {item: score}}, a table or a file."""
    from counterrank.policy.read import read_policy  # which makes Plackett–Luce policies itself

    policy = read_policy(source)
    if not isinstance(policy, Scores):
        raise InputError(f"Plackett–Luce needs scores, but {policy!r} came: give rows of query, item and score")
    return policy


class BoundPlackettLuce(OrderedCandidates):
    """Candidates by descending score, with the logarithms of their rates."""

    def __init__(self, pairs: Pairs, rows: Codes, worth: NDArray[np.float64], temperature: float) -> None:
        super().__init__(pairs, rows, worth)
        best = self.worth[self.starts[self.queries]]
        with np.errstate(over="ignore"):
            self._logs: NDArray[np.float64] = (self.worth - best) / temperature
        if not np.isfinite(self._logs).all() or np.abs(self._logs).max(initial=0) > 1e12:
            raise InputError(
                f"scores differ by more than 1e12 times the temperature {temperature:g}: sort them with temperature 0"
            )

    def part(self, first: int, last: int) -> PairTable:
        if len(self.pairs) * self.pairs.positions > KEPT:
            return self._raced(first, last)
        return self._table[self.pairs.starts[first] : self.pairs.starts[last]]

    @cached_property
    def _table(self) -> PairTable:
        return self._raced(0, len(self.shown))

    def _raced(self, first: int, last: int) -> PairTable:
        start, mine = self.pairs.starts[first], slice(self.starts[first], self.starts[last])
        out = np.zeros((self.pairs.starts[last] - start, self.pairs.positions))
        starts, rows = self.starts[first : last + 1] - mine.start, self.rows[mine] - start
        steps = _race.steps(int(self.shown[first:last].max(initial=0)))
        logs, shown = self._logs[mine], self.shown[first:last]

        def run(begin: int, end: int) -> None:
            _race.marginals(starts[begin : end + 1], rows, logs, shown[begin:end], steps, out)

        in_two(run, last - first, 2)
        return out

    def probability(self, queries: Codes, rankings: Codes) -> NDArray[np.float64]:
        out = np.zeros(len(queries))

        def run(first: int, last: int) -> None:
            _race.probability(
                first, last, self.starts, self.shown, self.place, self._logs, self._rates, queries, rankings, out
            )

        in_two(run, len(queries), WORTH)
        return out

    @cached_property
    def _rates(self) -> NDArray[np.float64]:
        out = np.empty(len(self._logs))
        _race.rates(self.starts, self._logs, out)
        return out

    def pair_marginals(self, query: int) -> PairMarginals:
        """Exact by recursion over sets where these are few enough (`sets.py`), else drawn."""
        mine = slice(self.starts[query], self.starts[query + 1])
        shown = int(self.shown[query])
        if not sets.feasible(int(self.sizes[query]), shown):
            return super().pair_marginals(query)
        small = sets.pair_marginals(self._logs[mine], shown)
        return PairMarginals(spread(self.pairs, query, self.rows[mine], small))

    def arrivals(self, candidates: Codes, rng: np.random.Generator) -> NDArray[np.float64]:
        waits = np.maximum(rng.standard_exponential(len(candidates)), np.finfo(np.float64).tiny)
        return np.asarray(np.log(waits) - self._logs[candidates])
