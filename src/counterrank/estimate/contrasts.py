"""Which estimators differ by one assumption: where they disagree, it fails."""

from __future__ import annotations

from counterrank.records import dataclass


@dataclass(frozen=True)
class Contrast:
    """Two estimators, of which the first assumes more, and what fails where they differ."""

    more: str
    less: str
    says: str
    doubted: tuple[str, ...]  # estimators that assume it too


CONTRASTS = (
    Contrast("item", "ip", "position matters", ("item",)),
    Contrast("pbm", "ip", "the examination curve is wrong, or a click is not examination times attraction", ("pbm",)),
    Contrast("ip", "list", "the rest of the list matters for a click", ("ip", "wip", "pbm", "item")),
    Contrast("ip", "pi", "the rest of the list matters for a click", ("ip", "wip", "pbm", "item")),
    Contrast("pi", "list", "a page's reward is not a sum over its positions", ("pi", "wpi")),
    Contrast("dm", "dr", "the regression misses what the log shows", ("dm",)),
)
