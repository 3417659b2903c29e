"""What to say of a gate's decisions: what they rest on, what is not promised, and what looks odd."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from counterrank.learning.candidates import Candidate, Chosen
from counterrank.learning.gate.bounds import FEWEST
from counterrank.words import counted, percent

if TYPE_CHECKING:
    from counterrank.learning.asked import How
    from counterrank.learning.general import General
    from counterrank.learning.learn import Level

CORRELATED = (
    "the bound takes the items of a page as independent; where clicks of a page go together it is not the bound it says"
)
ASSUMED = "it is assumed that a click is the examination of the position times the attraction of the item"
AVERAGE = "safe on average over queries, not for each: a query whose special policy was let through by chance may lose"
UNBOUNDED = "no bound at all: whatever looks better on the selection part acts, and much of it only looks so"


def remarks(level: Level, how: How, general: General | None, found: Sequence[Candidate], chosen: Chosen) -> list[str]:
    """All there is to say, the most important first."""
    ground = level.special
    said = [UNBOUNDED if how.confidence is None else AVERAGE, ASSUMED]
    if how.gate != "betting" and how.confidence is not None:
        said.append(CORRELATED)
    clicks = int(level.ground.selection.clicks.sum())
    if clicks < FEWEST and how.confidence is not None:
        said.append(f"the selection part has {counted(clicks, 'click')}: a bound needs at least {FEWEST}")
    said += [*level.evidence.fitted, *level.evidence.told]
    if level.evidence.examination_kind not in ("given", "reciprocal") and how.confidence is not None:
        said.append("the examination curve was fitted to the log: the bounds take it as known")
    blind, lost = level.ground.lost
    if blind:
        said.append(
            f"{counted(blind, 'shown (query, item) pair')} without a propensity, as the logging policy and the "
            f"examination have it, were left out, with {counted(lost, 'click')}"
        )
    if level.halves.clustered:
        said.append("a cluster falls into one part as a whole, and is one term of a betting bound")
    said += _of_general(level, general)
    for each in found:
        if each.worse:
            said.append(
                f"for {counted(each.worse, 'query', 'queries')} the {each.name} policy that is served looks worse, on "
                "all impressions, than the one that was judged"
            )
    alone = int((ground.selection.impressions == 0).sum())
    if alone:
        said.append(f"{counted(alone, 'query', 'queries')} without impressions in the selection part stay undecided")
    return said


def _of_general(level: Level, general: General | None) -> list[str]:
    if general is None:
        return []
    ground, said = level.ground, list(general.notes)
    lacks = int((~general.judged.has).sum())
    if lacks and general.model == "given":
        said.append(f"the general policy has no ranking for {counted(lacks, 'query', 'queries')}: logging acts there")
    own = np.where(general.judged.has[ground.pairs.queries], general.judged.weight, 0.0)
    n = ground.selection.impressions[ground.pairs.queries]
    whole = float((own * n).sum())
    unseen = float((own * n)[~ground.shown].sum()) / whole if whole > 0 else 0.0
    if unseen > 1e-9:
        said.append(f"the log never shows {percent(unseen)} of what the general policy shows: it counts as 0")
    if general.model != "given":
        gained = float(ground.value(ground.whole, general.served.weight - general.judged.weight).sum())
        if gained < 0:
            said.append(
                "the general model that is served looks worse, on all impressions, than the one that was judged"
            )
    return said
