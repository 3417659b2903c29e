"""What `check` tells of page-level questions: up to which K which rankings could be judged."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from counterrank.estimate.pseudoinverse.span import span
from counterrank.statistics.counts import Counts

MOST = 0.9  # of the impressions: how far the summary goes


def page_level(counts: Counts, distinct: NDArray[np.float64]) -> tuple[list[dict[str, Any]], list[str]]:
    """A row per K, and what they come to; `distinct` is how many different rankings each query has."""
    found, n = span(counts, distinct), counts.impressions.astype(np.float64)
    rows = []
    for k in range(counts.pairs.positions):
        examined = float(n[found.examined[:, k]].sum())
        rows.append(
            {
                "positions": k + 1,
                "examined": examined / float(n.sum()),
                "supported": float(n[found.items[:, k]].sum()) / examined if examined else None,
                "supported_pairs": float(n[found.cells[:, k]].sum()) / examined if examined else None,
                "parameters": float(np.average(found.parameters[:, k], weights=n)),
                "impressions_per_parameter": float(n.sum() / found.parameters[:, k].sum()),
            }
        )
    return rows, _words(rows)


def _words(rows: list[dict[str, Any]]) -> list[str]:
    what = "page-level rewards (pi, wpi)"
    known = [row for row in rows if row["examined"]]
    good = [row for row in known if row["supported_pairs"] * row["examined"] >= MOST] or known[:1]
    if not any(row["supported_pairs"] for row in known):
        return [f"{what}: for no query did rankings vary enough to judge all that their items and positions allow"]
    row = good[-1]
    k = row["positions"]
    said = [
        f"{what}: up to K = {k} any ranking of items at positions where they were logged can be judged for "
        f"{row['supported_pairs']:.1%} of the impressions, any ranking of logged items for {row['supported']:.1%}",
        f"pi has {row['parameters']:.4g} parameters a query at K = {k}, with {row['impressions_per_parameter']:.3g} "
        "impressions for each",
    ]
    if k < len(rows) and (more := rows[k])["examined"] >= MOST:
        said[0] += f"; up to K = {k + 1} for {more['supported_pairs']:.1%} and {more['supported']:.1%}"
    if (least := min(row["examined"] for row in rows)) < 1:
        said.append(
            f"queries with {1 - least:.1%} of the impressions are too large to look into at every K: left out there"
        )
    return said
