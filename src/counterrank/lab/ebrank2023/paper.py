"""What the paper prints in table 3 for MQ2007, and how its rows are called here."""

from __future__ import annotations

from typing import NamedTuple


class Printed(NamedTuple):
    """A row of table 3."""

    setting: str
    name: str
    ranker: str
    behaviour: str
    cold: float
    warm: float
    cumulative: float


WITHOUT, CONCAT, OWN = "W/o-Behav", "W/-Behav (concat)", "W/-Behav (non-concat)"
TABLE3 = [
    Printed(WITHOUT, "BM25", "bm25", "none", 0.474, 0.474, 94.38),
    Printed(WITHOUT, "DBGD", "dbgd", "none", 0.557, 0.557, 110.6),
    Printed(WITHOUT, "MGD", "mgd", "none", 0.562, 0.562, 110.9),
    Printed(WITHOUT, "PDGD", "pdgd", "none", 0.599, 0.599, 115.0),
    Printed(WITHOUT, "CFTopK", "cftopk", "none", 0.591, 0.591, 116.7),
    Printed(WITHOUT, "CFRandomK", "cfrandomk", "none", 0.589, 0.589, 87.69),
    Printed(WITHOUT, "CFEpsilon", "cfepsilon", "none", 0.589, 0.589, 94.39),
    Printed(CONCAT, "DBGD", "dbgd", "concat", 0.514, 0.729, 144.7),
    Printed(CONCAT, "MGD", "mgd", "concat", 0.523, 0.725, 142.1),
    Printed(CONCAT, "PDGD", "pdgd", "concat", 0.574, 0.745, 147.6),
    Printed(CONCAT, "CFTopK", "cftopk", "concat", 0.385, 0.579, 113.5),
    Printed(CONCAT, "CFRandomK", "cfrandomk", "concat", 0.377, 0.771, 87.11),
    Printed(CONCAT, "CFEpsilon", "cfepsilon", "concat", 0.387, 0.789, 143.8),
    Printed(CONCAT, "PRIOR", "prior", "concat", 0.597, 0.791, 158.7),
    Printed(OWN, "UCBRank", "ucbrank", "none", 0.593, 0.799, 158.9),
    Printed(OWN, "EBRank", "ebrank", "none", 0.596, 0.849, 171.3),
]
BESIDE = [  # rows of our own
    Printed(OWN, "UCBRank, c/√(n+1)", "ucbrank-plus-one", "none", *([float("nan")] * 3)),
    Printed(OWN, "Thompson sampling", "thompson", "none", *([float("nan")] * 3)),
    Printed(OWN, "pessimistic", "pessimistic", "none", *([float("nan")] * 3)),
    Printed("bounds", "random order", "random", "none", *([float("nan")] * 3)),
    Printed("bounds", "true order", "truth", "none", *([float("nan")] * 3)),
]
ROWS = [*TABLE3, *BESIDE]
