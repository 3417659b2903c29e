"""What speaks for or against an answer, by name."""

from collections.abc import Mapping

from counterrank.estimate import Estimator
from counterrank.findings.below import below
from counterrank.findings.case import Case
from counterrank.findings.click_model import click_model
from counterrank.findings.diagnosis import Finding
from counterrank.findings.disagreement import disagreement
from counterrank.findings.drift import day_table, drift
from counterrank.findings.fitted import fitted
from counterrank.findings.moving import moving
from counterrank.findings.neighbours import neighbours, stopping
from counterrank.findings.overlap import balance, clipped, overlap
from counterrank.findings.possible import possible
from counterrank.findings.queries import queries
from counterrank.findings.rarity import rarity
from counterrank.findings.tested import Tested
from counterrank.findings.weights import size, skew, tails, ten
from counterrank.result.row import Row

FINDINGS = {
    "overlap": overlap,
    "clipped": clipped,
    "balance": balance,
    "rarity": rarity,
    "size": size,
    "tails": tails,
    "ten": ten,
    "skew": skew,
    "disagreement": disagreement,
    "click-model": click_model,
    "neighbours": neighbours,
    "stopping": stopping,
    "below": below,
    "moving": moving,
    "possible": possible,
    "fitted": fitted,
    "drift": drift,
    "queries": queries,
}
OF_USERS = (neighbours, stopping, below, moving)  # how clicks come about
OF_ESTIMATORS = (overlap, clipped, balance, rarity, size, tails, ten, skew, possible, fitted)  # each on its own


def assumptions(tested: Tested, estimators: Mapping[str, Estimator], rows: Mapping[str, Row]) -> list[Finding]:
    """What the sample says of what estimators assume."""
    return [finding for find in OF_USERS for finding in find(tested, estimators, rows)]


__all__ = [
    "FINDINGS",
    "OF_ESTIMATORS",
    "Case",
    "Tested",
    "assumptions",
    "click_model",
    "day_table",
    "disagreement",
    "drift",
    "queries",
]
