"""Two policies, one of them drawn for each ranking."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from counterrank.errors import InputError
from counterrank.ids import Codes
from counterrank.policy._pairs import PairMarginals
from counterrank.policy.base import BoundPolicy, Policy, missing_query
from counterrank.policy.stored import Stored
from counterrank.policy.uniform import Uniform
from counterrank.statistics.pairs import Pairs
from counterrank.statistics.pairs import Table as PairTable


class Mixture(Policy):
    """(1 - share) · base + share · other, on the queries that both have; other is `Uniform()` unless given.

    Assumption: which of the two ranks is drawn anew for each impression. With a uniform other it is κ-uniform mixing,
    which bounds every importance weight from above (swaminathan2017, definition 1 and below, where share is κ).

    >>> from counterrank.policy.table import Table
    >>> policy = Mixture(Table(["q"], [["a", "b"]]), share=0.5)
    >>> policy.probability("q", ["a", "b"]), policy.probability("q", ["b", "a"])
    (0.75, 0.25)
    """

    kind: ClassVar[str] = "mixture"

    def __init__(self, base: Policy, share: float, other: Policy | None = None) -> None:
        if not 0 <= share <= 1:  # also refuses NaN
            raise InputError(f"the share of a mixture is {share}: give a number from 0 to 1")
        self.base, self.share, self.other = base, float(share), Uniform() if other is None else other

    def stored(self) -> Stored:
        return Stored.of(self.kind, settings={"share": self.share}, parts={"base": self.base, "other": self.other})

    @classmethod
    def restored(cls, stored: Stored) -> Mixture:
        parts = stored.parts()
        if set(parts) != {"base", "other"}:
            raise InputError(f"a mixture has the parts {', '.join(parts)}: expected base and other")
        return cls(parts["base"], stored.number("share"), parts["other"])

    @property
    def scores_features(self) -> bool:  # type: ignore[override]
        return self.base.scores_features or self.other.scores_features

    def scoring(self, features: Any) -> Policy:
        return Mixture(self.base.scoring(features), self.share, self.other.scoring(features))

    @property
    def notes(self) -> list[str]:
        return [*self.source_notes, *self.base.notes, *self.other.notes]

    def narrowed(self, candidates: Policy) -> Policy:
        return Mixture(self.base.narrowed(candidates), self.share, self.other.narrowed(candidates))

    @property
    def ranks_all(self) -> bool:  # type: ignore[override]
        return self.base.ranks_all or self.other.ranks_all

    def queries(self) -> pa.Array | None:
        mine, others = self.base.queries(), self.other.queries()
        if mine is None or others is None:
            return others if mine is None else mine
        return mine.filter(pc.is_in(mine, value_set=others))

    def items(self) -> tuple[pa.Array, pa.Array]:
        (queries, items), (more_queries, more_items) = self.base.items(), self.other.items()
        return pa.concat_arrays([queries, more_queries]), pa.concat_arrays([items, more_items])

    def bind(self, pairs: Pairs) -> BoundMixture:
        known = self.queries()
        has = np.ones(len(pairs.query_ids), dtype=bool)
        if known is not None:
            has = pc.is_in(pairs.query_ids.texts, value_set=known).to_numpy(zero_copy_only=False)
        return BoundMixture(self.base.bind(pairs), self.share, self.other.bind(pairs), has)

    def __repr__(self) -> str:
        return f"Mixture({self.base!r}, share={self.share:g}, other={self.other!r})"


class BoundMixture(BoundPolicy):
    """Two bound policies and the share of the second; `has` says of which queries (all, unless given)."""

    def __init__(
        self, base: BoundPolicy, share: float, other: BoundPolicy, has: NDArray[np.bool_] | None = None
    ) -> None:
        self.pairs = base.pairs
        self.base, self.share, self.other = base, share, other
        self._has = np.ones(len(self.pairs.query_ids), dtype=bool) if has is None else has

    def part(self, first: int, last: int) -> PairTable:
        mixed = (1 - self.share) * self.base.part(first, last) + self.share * self.other.part(first, last)
        has = np.repeat(self._has[first:last], self.pairs.sizes[first:last])
        return np.asarray(mixed * has[:, None])

    def at(self, rows: Codes, positions: Codes) -> NDArray[np.float64]:
        mixed = (1 - self.share) * self.base.at(rows, positions) + self.share * self.other.at(rows, positions)
        return np.asarray(mixed * self._has[self.pairs.queries[rows]])

    def exposure(self, looks: NDArray[np.float64]) -> NDArray[np.float64]:
        mixed = (1 - self.share) * self.base.exposure(looks) + self.share * self.other.exposure(looks)
        return np.asarray(mixed * self._has[self.pairs.queries])

    def probability(self, queries: Codes, rankings: Codes) -> NDArray[np.float64]:
        base, other = (part.probability(queries, rankings) for part in (self.base, self.other))
        return np.asarray(((1 - self.share) * base + self.share * other) * self._has[queries])

    def pair_marginals(self, query: int) -> PairMarginals:
        has = float(self._has[query])
        parts = [(has * (1 - self.share), self.base), (has * self.share, self.other)]
        found = [(weight, part.pair_marginals(query)) for weight, part in parts if weight > 0]
        drawn = tuple((weight * share, cells) for weight, of in found for share, cells in of.drawn)
        blank = 0.0 * self.base.pair_marginals(query).matrix if not found else np.zeros(())
        return PairMarginals(sum((weight * of.matrix for weight, of in found), blank), drawn)

    def sample(self, queries: Codes, rng: np.random.Generator) -> Codes:
        self._check(queries)
        other = rng.random(len(queries)) < self.share
        out = np.empty((len(queries), self.pairs.positions), dtype=np.int64)
        out[~other] = self.base.sample(queries[~other], rng)
        out[other] = self.other.sample(queries[other], rng)
        return out

    def best(self, queries: Codes) -> Codes:
        """The likelier, under the mixture, of the two parts' most likely rankings."""
        self._check(queries)
        base, other = self.base.best(queries), self.other.best(queries)
        wins = self.probability(queries, other) > self.probability(queries, base)
        return np.where(wins[:, None], other, base)

    def _check(self, queries: Codes) -> None:
        if not self._has[queries].all():
            raise missing_query(self.pairs, queries[~self._has[queries]])
