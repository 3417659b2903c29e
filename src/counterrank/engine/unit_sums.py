"""What the second pass adds up beside its moments: terms by query, and by cluster."""

# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from counterrank.compiled import njit
from counterrank.engine.narrow import Kept
from counterrank.engine.plan import Coefficients
from counterrank.engine.sent_rows import SentRows
from counterrank.ids import Codes
from counterrank.statistics.cells import LookedUp, cell_at
from counterrank.statistics.cluster_terms import ClusterTerms
from counterrank.statistics.pairs import sum_by
from counterrank.statistics.query_terms import QueryUnits

Table = NDArray[np.float64]
LOOSE = 1 << 22  # rows that are gathered at a time


class UnitSums:
    """Fed with the parts of a log, in any order. Where it is not `clustered`, every impression is a unit."""

    def __init__(self, coefficients: Coefficients, clustered: bool, clusters: int) -> None:
        self.coefficients, self.clustered, self.clusters = coefficients, clustered, clusters
        estimators = len(coefficients.scale)
        self.size = np.zeros(clusters)
        self.influence, self.term = np.zeros((2, estimators, clusters))
        self.by_query: dict[int, list[QueryUnits]] = {e: [] for e in coefficients.by_query}
        self.loose = 0
        self.keys: list[tuple[Codes, Table, Table]] = []  # (query, cluster), impressions and terms

    def add(self, part: Kept | SentRows, cells: LookedUp, table: Table) -> None:
        """`cells` and `table` as `kernels.sum_moments` takes them."""
        wanted = self.coefficients
        if not (self.clustered or wanted.by_query):
            return
        rows, estimators = len(part), len(wanted.scale)
        query, (term, influence) = np.empty(rows, dtype=np.int64), np.empty((2, estimators, rows))
        weigh_rows(part.coded, cells, table, wanted.scale, wanted.constant, query, term, influence)
        self.put(part.impressions, part.cluster, query, term, influence)

    def put(
        self, impressions: Codes | None, clusters: Codes | None, query: Codes, term: Table, influence: Table
    ) -> None:
        """Rows that have been weighed: the query of each, -1 for one that was crossed out, and (E, n) of the others."""
        wanted, estimators = self.coefficients, len(term)
        used = np.flatnonzero(query >= 0)
        query, term, influence = query[used], term[:, used], influence[:, used]
        n = np.ones(len(used)) if impressions is None else impressions[used].astype(np.float64)
        if not self.clustered or clusters is None:
            for e, parts in self.by_query.items():
                parts.append(QueryUnits.of(query, term[e], n))
            self.loose += len(used)
            if self.loose > LOOSE:
                for parts in self.by_query.values():
                    parts[:] = [QueryUnits.joined(parts)]
                self.loose = 0
            return
        cluster = clusters[used]
        self.size += np.bincount(cluster, n, self.clusters)
        for e in range(estimators):
            self.influence[e] += np.bincount(cluster, n * influence[e], self.clusters)
            self.term[e] += np.bincount(cluster, n * term[e], self.clusters)
        if wanted.by_query:
            self.keys.append(_summed(query * self.clusters + cluster, n, n * term))

    def cluster_terms(self) -> list[ClusterTerms] | None:
        if not self.clustered:
            return None
        met = self.size > 0
        nowhere = np.zeros(int(met.sum()), dtype=np.int64)
        return [
            ClusterTerms(float(psi @ psi), QueryUnits.of(nowhere, term[met], None, self.size[met]))
            for psi, term in zip(self.influence, self.term, strict=True)
        ]

    def query_units(self) -> dict[int, QueryUnits]:
        if not self.by_query:
            return {}
        if not self.clustered:
            for parts in self.by_query.values():
                parts[:] = [QueryUnits.joined(parts)]
            return {e: parts[0] for e, parts in self.by_query.items()}
        key, n, term = (np.concatenate(each, axis=-1) for each in zip(*self.keys, strict=True))
        key, n, term = _summed(key, n, term)
        return {e: QueryUnits.of(key // self.clusters, term[e], None, n) for e in self.by_query}


def _summed(key: Codes, n: Table, term: Table) -> tuple[Codes, Table, Table]:
    """Sums by key."""
    distinct, place = np.unique(key, return_inverse=True)
    size = len(distinct)
    return distinct, sum_by(place, n, size), np.stack([sum_by(place, each, size) for each in term])


@njit(nogil=True)
def weigh_rows(coded, cells, table, scale, constant, query, term, influence):
    """The query of each row, -1 for one that was crossed out, and its term and influence by each estimator.

    As in `kernels.sum_moments`, whose tables it reads.
    """
    rows, pair_query, starts, positions, _ = cells
    for r in range(len(coded)):
        query[r] = -1
        if coded[r, 0] < 0:
            continue
        q = pair_query[coded[r, 0] >> 1]
        query[r] = q
        for e in range(len(scale)):
            value, offset = 0.0, 0.0
            for k in range(coded.shape[1]):
                v = coded[r, k]
                if v < 0:
                    break
                c = cell_at(starts, positions, rows[v >> 1], k)
                offset += table[c, len(scale) + e]
                if v & 1:
                    value += scale[e, k] * table[c, e]
            term[e, r] = value
            influence[e, r] = value - offset + constant[e, q]
