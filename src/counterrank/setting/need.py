"""What a question can ask of the log and of its user, beyond counts of queries."""

from __future__ import annotations

from enum import Enum


class Need(Enum):
    """What an estimator must have counted or be given."""

    CLICKS = "single clicks: a page-level reward is not enough"
    MARGINALS = "the chance of each item at each position, under both policies"
    RANKINGS = "the rankings of the log that the target can show"
    PAGES = "all rankings of the log"
    PATTERNS = "all rankings of the log with their clicks"
    FEATURES = "features of items, for a regression"
    EXAMINATION = "how likely each position is looked at"
