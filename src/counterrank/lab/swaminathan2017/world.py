"""The contextual bandit that the paper makes of MQ2008 (section 4.1): candidates, rewards, target, logging policy."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from counterrank.ids import Codes, Ids
from counterrank.lab.swaminathan2017.documents import Documents
from counterrank.policy import PlackettLuce, Policy, Scores, Uniform
from counterrank.policy.base import BoundPolicy
from counterrank.records import dataclass
from counterrank.regress.base import Matrix, Vector
from counterrank.statistics.pairs import Pairs, Table, sum_by

CANDIDATES = 20  # m


@dataclass(frozen=True, kw_only=True)
class SlateWorld:
    """Queries come uniformly at random. A slate is ℓ different candidates; its reward is Σₖ φ(aₖ, k), its NDCG.

    Logging draws slates without replacement in proportion to exp(α·title score), the target shows the slate with the
    best body scores. Rows of all arrays are those of `pairs`.
    """

    pairs: Pairs
    kept: Codes  # (Q,) the queries, as codes of the documents
    features: Matrix  # (P, F)
    phi: Table  # (P, ℓ)
    slates: Codes  # (Q, ℓ) the target's
    title: Vector  # (P,)
    alpha: float

    @property
    def slots(self) -> int:
        return self.pairs.positions

    @property
    def queries(self) -> int:
        return len(self.kept)

    @cached_property
    def target(self) -> Table:
        """(P, ℓ): 1 where the target shows the candidate."""
        out = np.zeros(self.phi.shape)
        out[self.slates, np.arange(self.slots)] = 1.0
        return out

    @cached_property
    def values(self) -> Vector:
        """(Q,): the reward of the target's slate."""
        return self.worth(self.slates)

    @property
    def value(self) -> float:
        """The value of the target."""
        return float(self.values.mean())

    @cached_property
    def logging(self) -> Policy:
        """The logging policy, as a user would give it."""
        query = self.pairs.query_ids.texts.take(pa.array(self.pairs.queries))
        item = self.pairs.item_ids.texts.take(pa.array(self.pairs.items))
        if self.alpha == 0:
            return Uniform(pa.table({"query": query, "item": item}))
        return PlackettLuce(Scores(query, item, self.title), temperature=1 / self.alpha)

    @cached_property
    def bound(self) -> BoundPolicy:
        return self.logging.bind(self.pairs)

    @cached_property
    def rates(self) -> Vector:
        """(P,): what logging draws in proportion to; all 1 where it is uniform."""
        best = np.maximum.reduceat(self.title, self.pairs.starts[:-1])
        return np.asarray(np.exp(self.alpha * (self.title - best[self.pairs.queries])))

    def only(self, kept: NDArray[np.bool_]) -> SlateWorld:
        """The world of these queries, (Q,)."""
        rows, old = kept[self.pairs.queries], self.pairs
        queries = (np.cumsum(kept) - 1)[old.queries[rows]]
        ids = Ids(old.query_ids.texts.filter(pa.array(kept)))
        pairs = Pairs.build(ids, old.item_ids, queries, old.items[rows], old.lengths[kept], old.positions)
        slates = (np.cumsum(rows) - 1)[self.slates[kept]]
        return SlateWorld(
            pairs=pairs,
            kept=self.kept[kept],
            features=self.features[rows],
            phi=self.phi[rows],
            slates=slates,
            title=self.title[rows],
            alpha=self.alpha,
        )

    def worth(self, slates: Codes) -> Vector:
        """(Q,): the reward of a slate for each query, as rows of the pairs."""
        return np.asarray(self.phi[slates, np.arange(self.slots)].sum(axis=1))

    def logged_value(self) -> Vector:
        """(Q,): the mean reward of logging."""
        return sum_by(self.pairs.queries, (self.bound.marginals() * self.phi).sum(axis=1), self.queries)


def make_world(
    documents: Documents, chosen_by: Vector, body: Vector, *, slots: int, alpha: float = 0.0, least: int = 0
) -> SlateWorld:
    """The world with the best `CANDIDATES` documents of each query by `chosen_by`, which logging draws by too.

    Queries with fewer than ℓ (or `least`) documents are left out: they have no slate.
    """
    sizes = documents.sizes
    kept = np.flatnonzero(sizes >= max(slots, least))
    order = np.lexsort((np.arange(len(chosen_by)), -chosen_by, documents.queries))
    starts = np.concatenate([[0], np.cumsum(sizes)])
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order)) - np.repeat(starts[:-1], sizes)
    code = np.full(len(sizes), -1)
    code[kept] = np.arange(len(kept))
    mine = np.flatnonzero((place < CANDIDATES) & (code[documents.queries] >= 0))
    mine = mine[np.lexsort((documents.items[mine], documents.queries[mine]))]
    pairs = Pairs.build(
        Ids(documents.query_ids.texts.take(pa.array(kept))), documents.item_ids, code[documents.queries[mine]],
        documents.items[mine], np.full(len(kept), slots), slots,
    )  # fmt: skip
    gain = 2.0 ** documents.labels[mine] - 1
    by_body = np.lexsort((place[mine], -body[mine], pairs.queries))
    return SlateWorld(
        pairs=pairs,
        kept=kept,
        features=documents.features[mine],
        phi=_intrinsic(pairs, gain),
        slates=by_body[pairs.starts[:-1, None] + np.arange(slots)],
        title=chosen_by[mine],
        alpha=alpha,
    )


def _intrinsic(pairs: Pairs, gain: Vector) -> Table:
    """φ(a, k) = gain / (log2(k + 1)·DCG*), DCG* being the best slate's; 0 where no candidate is relevant."""
    discount = 1 / np.log2(np.arange(2, pairs.positions + 2))
    best = np.lexsort((-gain, pairs.queries))[pairs.starts[:-1, None] + np.arange(pairs.positions)]
    ideal = (gain[best] @ discount)[pairs.queries]
    return np.asarray(gain[:, None] * discount / np.where(ideal > 0, ideal, 1.0)[:, None])
