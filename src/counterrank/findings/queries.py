"""Which queries carry a result?"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from counterrank.findings.diagnosis import Finding
from counterrank.statistics.counts import Counts
from counterrank.words import percent

MANY = 20  # queries, below which a few carry any result
NAMED = 3
HALF, QUARTER = 0.5, 0.25
_SHOWN = 40  # characters of a query's name


def queries(counts: Counts, per_query: NDArray[np.float64], of: str, names: list[str]) -> list[Finding]:
    """The share of Σ|value · impressions| that the three queries with the largest bring.

    A caution where, of twenty queries or more, three bring half of it with less than a quarter of the impressions.
    """
    brought = np.where(np.isfinite(per_query), np.abs(per_query), 0.0) * counts.impressions
    total = float(brought.sum())
    if total <= 0 or not np.isfinite(total):
        return []
    order = np.argsort(-brought, kind="stable")
    number = int(np.searchsorted(np.cumsum(brought[order]), HALF * total * (1 - 1e-12))) + 1
    top = order[:NAMED]
    texts = counts.pairs.query_ids.texts
    shares = [
        {"query": texts[int(q)].as_py(), "share": float(brought[q] / total),
         "impressions": float(counts.impressions[q] / counts.total)}
        for q in top
    ]  # fmt: skip
    share, seen = (sum(each[name] for each in shares) for name in ("share", "impressions"))
    numbers: dict[str, Any] = {"queries": len(brought), "half": min(number, len(brought)), "largest": shares}
    if len(brought) < 2:
        return []
    quoted = ", ".join(f"{_short(each['query'])!r} {percent(each['share'])}" for each in shares)
    few = len(brought) >= MANY and share >= HALF and seen < QUARTER
    words = f"{len(shares)} of {len(brought):,} queries bring {percent(share)} of {of} ({quoted})"
    if few:
        words += f", with {percent(seen)} of the impressions"
    return [Finding("queries", "caution" if few else "trust", words, names, numbers)]


def _short(name: str) -> str:
    return name if len(name) <= _SHOWN else name[: _SHOWN - 1] + "…"
