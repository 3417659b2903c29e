"""What speaks for or against an answer, by name."""

from counterrank.findings.case import Case
from counterrank.findings.click_model import click_model
from counterrank.findings.disagreement import disagreement
from counterrank.findings.drift import day_table, drift
from counterrank.findings.overlap import balance, clipped, overlap
from counterrank.findings.queries import queries
from counterrank.findings.rarity import rarity
from counterrank.findings.weights import size, skew, tails, ten

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
    "drift": drift,
    "queries": queries,
}
OF_ESTIMATORS = (overlap, clipped, balance, rarity, size, tails, ten, skew)  # each estimator on its own

__all__ = ["FINDINGS", "OF_ESTIMATORS", "Case", "click_model", "day_table", "disagreement", "drift", "queries"]
