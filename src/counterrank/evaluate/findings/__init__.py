"""What speaks for or against an answer, by name."""

from counterrank.evaluate.findings.case import Case
from counterrank.evaluate.findings.click_model import click_model
from counterrank.evaluate.findings.disagreement import disagreement
from counterrank.evaluate.findings.drift import day_table, drift
from counterrank.evaluate.findings.overlap import balance, clipped, overlap
from counterrank.evaluate.findings.queries import queries
from counterrank.evaluate.findings.rarity import rarity
from counterrank.evaluate.findings.weights import size, skew, tails, ten

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
