"""Labelled queries as the paper uses its own: fold 1 of data sets that can be had."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa

from counterrank.lab import need
from counterrank.log.letor import read_letor
from counterrank.log.reading import Reading
from counterrank.simulate.labelled import Labelled, Split

ALPHAS = {  # the paper's 0.2 and 0.025 for labels 0 to 4; twice that for labels 0 to 2
    "mq2008": (0.4, 0.05),
    "mq2007-partial": (0.4, 0.05),
    "mslr-sample": (0.2, 0.025),
}
MQ2008 = tuple(f"mq2008/S{part}.txt.gz" for part in range(1, 6))
MQ2007 = "mq2007-partial/mq2007.txt.gz"
PARTS = (339, 339, 339, 339, 336)  # queries of mq2007-partial, sorted by number
MSLR = {  # 60 queries: too few to learn from, enough to see that it runs
    "train": ("mslr_fold1_valid_sample", "martinpetlus_train"),
    "validation": ("martinpetlus_pairwise_test",),
    "test": ("mslr_fold1_test_sample",),
}


def read(data: Path | None, name: str) -> tuple[Split, Reading]:
    """Three parts to train on, one to validate on, one to test on; and what was read."""
    made = {"mq2008": _mq2008, "mq2007-partial": _mq2007, "mslr-sample": _mslr}[name](data)
    documents = sum(len(part.labels) for part in (made.train, made.validation, made.test))
    return made, Reading(rows=documents, rejected=0)


def _mq2008(data: Path | None) -> Split:
    paths = need(data, *MQ2008)
    return Split(
        Labelled.of(read_letor(paths[:3])), Labelled.of(read_letor(paths[3:4])), Labelled.of(read_letor(paths[4:]))
    )


def _mq2007(data: Path | None) -> Split:
    whole = Labelled.of(read_letor(need(data, MQ2007)))
    order = np.argsort([int(query) for query in whole.ids], kind="stable")
    shares = np.cumsum(PARTS) / sum(PARTS)  # the same numbers for the whole file, and sense for a piece of it
    ends = np.round(shares * len(whole)).astype(int)
    return Split(whole.some(order[: ends[2]]), whole.some(order[ends[2] : ends[3]]), whole.some(order[ends[3] :]))


def _mslr(data: Path | None) -> Split:
    """Ids of different files have nothing to do with each other."""
    tables = {}
    for part, names in MSLR.items():
        for name in names:
            (path,) = need(data, f"mslr-sample/{name}.txt.gz")
            table = read_letor([path])
            query = pa.array([f"{name}:{each}" for each in table["query"].to_pylist()])
            tables[part, name] = table.set_column(0, "query", query)
    return Split(*(Labelled.of(pa.concat_tables([t for (at, _), t in tables.items() if at == part])) for part in MSLR))
