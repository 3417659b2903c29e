"""Policies to files, in the forms that `read_policy` reads."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa

from counterrank.errors import InputError
from counterrank.log.write import write_table
from counterrank.policy.base import Policy
from counterrank.policy.plackett_luce import PlackettLuce
from counterrank.policy.scores import Scores
from counterrank.policy.slots import Slots
from counterrank.policy.table import Table


def write_policy(policy: Policy, path: str | Path) -> None:
    """Write scores as (query, item, score) rows, tables as (query, items, probability), slots also with the position.

    Plackett–Luce is written as its scores divided by its temperature: read it back with temperature 1.
    """
    write_table(policy_rows(policy), Path(path))


def policy_rows(policy: Policy) -> pa.Table:
    """The rows of a policy file.

    >>> policy_rows(Scores(["q"], ["a"], [2.0])).to_pylist()
    [{'query': 'q', 'item': 'a', 'score': 2.0}]
    """
    if isinstance(policy, Table):
        rows = np.arange(len(policy._queries))
        offsets = pa.array(policy._offsets, pa.int32())
        items = pa.ListArray.from_arrays(offsets, policy._items.take(np.arange(len(policy._items))))
        return pa.table(
            {"query": policy._queries.take(rows), "items": items, "probability": pa.array(policy._probabilities)}
        )
    if isinstance(policy, Slots):
        queries, items = policy.items()
        positions = pa.array(policy._positions + 1)
        return pa.table(
            {"query": queries, "position": positions, "item": items, "probability": pa.array(policy._probabilities)}
        )
    if isinstance(policy, Scores | PlackettLuce):
        scores, heat = (policy, 1.0) if isinstance(policy, Scores) else (policy.scores, policy.temperature)
        queries, items = scores.items()
        return pa.table({"query": queries, "item": items, "score": pa.array(scores._scores / heat)})
    raise InputError(f"a {type(policy).__name__} policy has no file form: write its Table, its Scores or its Slots")
