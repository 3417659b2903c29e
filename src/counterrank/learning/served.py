"""What is served: the gate's table, the special scores and the logging policy, as one policy."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from counterrank.learning.candidates import ACTS, Candidate, Chosen
from counterrank.learning.gate.bounds import FEWEST
from counterrank.learning.ground import Ground
from counterrank.learning.halves import Segments
from counterrank.policy import Policy, Scores, Table, Uniform
from counterrank.statistics.patterns import Patterns, joined
from counterrank.words import counted

NOTHING = "no impressions to judge by"
MOST_RANKINGS = 1 << 20  # of the logging policy, that are written down


def acting(chosen: Chosen, found: Sequence[Candidate], general: NDArray[np.bool_] | None) -> NDArray[np.str_]:
    """(Q,) who acts; `general`: where an active general policy has a ranking."""
    names = np.array([ACTS[each.name] for each in found])
    rest = np.zeros(len(chosen.acts), dtype=bool) if general is None else general
    return np.where(chosen.acts, names[chosen.which], np.where(rest, "general", "logging"))


def reasons(chosen: Chosen, acts: NDArray[np.str_], confidence: float | None) -> NDArray[np.str_]:
    """(Q,) why, in words."""
    found, wins = chosen.verdicts, chosen.acts
    none = found.impressions == 0
    if confidence is None:
        said = np.where(wins, "its estimate is above 0", "its estimate is not above 0")
        return np.where(none, NOTHING, said)
    with np.errstate(invalid="ignore"):
        same = (found.lower == 0) & (found.upper == 0)
        loses = found.upper < 0
    few = [f"{counted(clicks, 'click')} to judge by, at least {FEWEST} are needed" for clicks in range(FEWEST)]
    return np.select(
        [none, *(found.clicks == clicks for clicks in range(FEWEST)), wins, same, loses],
        [NOTHING, *few, "it wins with confidence", np.char.add("it ranks as ", acts), "it loses with confidence"],
        "undecided",
    )


def gate_table(chosen: Chosen, acts: NDArray[np.str_], why: NDArray[np.str_], keys: pa.Table) -> pa.Table:
    """The rows of gate.parquet."""
    found = chosen.verdicts
    numbers = {
        name: pa.array(getattr(found, name), mask=~np.isfinite(getattr(found, name)))
        for name in ("difference", "lower", "upper")
    }
    return pa.table(
        {name: keys[name] for name in keys.column_names}
        | {"impressions": pa.array(found.impressions), "clicks": pa.array(found.clicks)}
        | numbers
        | {"acts": _texts(acts), "reason": _texts(why)}
    )


def keys_of(ground: Ground, segments: Segments | None) -> pa.Table:
    """Query, and segment where there are such, of each row of the gate; ids as they came."""
    if segments is None:
        return pa.table({"query": ground.pairs.query_ids.column()})
    queries = segments.query_ids.column().take(pa.array(segments.query))
    return pa.table({"query": queries, "segment": segments.names})


def special_table(ground: Ground, chosen: Chosen, found: Sequence[Candidate], keys: pa.Table) -> pa.Table:
    """The rows of special.parquet: of each query the scores of the candidate that acts or came nearest to it."""
    rows = np.flatnonzero(ground.shown)
    query = ground.pairs.queries[rows]
    scores = np.stack([each.scores for each in found])[chosen.which[query], rows]
    columns = {name: keys[name].take(pa.array(query)) for name in keys.column_names}
    items = ground.pairs.item_ids.column().take(pa.array(ground.pairs.items[rows]))
    return pa.table(columns | {"item": items, "score": pa.array(scores)})


def logging_policy(ground: Ground, given: Policy | None) -> tuple[Policy | None, list[str]]:
    """The logging policy as one that can be written down, and what to say where there is none."""
    pairs = ground.pairs
    if isinstance(given, Uniform):
        rows = np.flatnonzero(ground.shown)
        queries = pairs.query_ids.texts.take(pa.array(pairs.queries[rows]))
        items = pairs.item_ids.texts.take(pa.array(pairs.items[rows]))
        return Scores(queries, items, np.zeros(len(rows))), []
    if given is not None:
        if given.rows() is not None:
            return given, []
        return None, [f"the logging policy {given!r} cannot be said as rankings or scores: it is not written down"]
    shown = _rankings([ground.train.patterns, ground.selection.patterns])
    if shown is None:
        return None, [
            f"the log has more than {MOST_RANKINGS:,} rankings, too many to write down as its logging policy: queries "
            "for which it acts have no ranking in what is written"
        ]
    queries, n = shown.queries, shown.impressions.astype(np.float64)
    total = np.bincount(queries, n, len(pairs.query_ids))
    rows = shown.rankings
    inside = rows >= 0
    offsets = pa.array(np.concatenate([[0], np.cumsum(inside.sum(axis=1))]), pa.int32())
    items = pairs.item_ids.texts.take(pa.array(pairs.items[rows[inside]]))
    names = pairs.query_ids.texts.take(pa.array(queries))
    return Table(names, pa.ListArray.from_arrays(offsets, items), n / total[queries]), []


def _rankings(parts: Sequence[Patterns]) -> Patterns | None:
    """The rankings of all parts as patterns without a click; None where they are too many."""
    found = []
    for part in parts:
        found.append(Patterns(part.queries, part.coded & ~1, part.impressions).merged())
        if len(found[-1]) > MOST_RANKINGS:
            return None
    whole = joined(found).merged()
    return whole if len(whole) <= MOST_RANKINGS else None


def _texts(values: NDArray[np.str_]) -> pa.Array:
    """A column of few different texts."""
    distinct, codes = np.unique(values, return_inverse=True)
    return pa.array(distinct.tolist(), pa.string()).take(pa.array(codes))
