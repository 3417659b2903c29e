"""The data as the paper uses it: result pages with clicks, and labelled documents with made-up pages."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa

from counterrank.lab import need
from counterrank.lab.cief2024.pages import PATTERNS, Floats, Integers, K, Pages, by_query, in_parts
from counterrank.lab.cief2024.truth import Truth
from counterrank.log.foreign import FORMATS
from counterrank.log.letor import read_letor
from counterrank.log.reading import Reading

RARE = 50  # the second truth: without pages that show an item fewer times than this
LISTS = 100  # of labelled data: lists of each query
NAVIGATIONAL = {  # Hofmann et al. 2013: the chance of a click on an examined document, by its label
    3: (0.05, 0.5, 0.95),
    5: (0.05, 0.3, 0.5, 0.7, 0.95),
}
EXAMINED = np.array([0.68, 0.61, 0.48, 0.34])  # Joachims et al.'s eye tracking, the first four results
LABELLED = {
    "mq2008": tuple(f"mq2008/S{part}.txt.gz" for part in range(1, 6)),
    "mq2007-partial": ("mq2007-partial/mq2007.txt.gz",),
    "mslr-sample": tuple(
        f"mslr-sample/{name}.txt.gz"
        for name in (
            "martinpetlus_pairwise_test",
            "martinpetlus_train",
            "mslr_fold1_test_sample",
            "mslr_fold1_valid_sample",
        )
    ),
}


def read_yandex(data: Path | None) -> tuple[list[Pages], list[list[Pages]], Reading]:
    """The pages of `yandex-sample` by query; the same in two parts, its two files; and what was read."""
    paths = need(data, "yandex-sample/trainSample.gz", "yandex-sample/testSample.gz")
    parts = [FORMATS["yandex"]([path], time_unit=None) for path in paths]
    table = pa.concat_tables([part.table for part in parts])
    queries, items, clicks = (table[name].to_pylist() for name in ("query", "items", "clicks"))
    part = np.repeat(np.arange(2), [each.table.num_rows for each in parts])
    reading = _reading("yandex-sample", items, [note for each in parts for note in each.notes])
    return by_query(queries, items, clicks), in_parts(queries, items, clicks, part, 2), reading


def read_clara2(data: Path | None) -> tuple[list[Pages], Reading]:
    (path,) = need(data, "clara2/search-log.tsv.gz")
    found = FORMATS["yandex"]([path], time_unit=None)
    queries, items, clicks = (found.table[name].to_pylist() for name in ("query", "items", "clicks"))
    return by_query(queries, items, clicks), _reading("clara2", items, found.notes)


def _reading(name: str, items: Sequence[Sequence[str]], repairs: Sequence[str]) -> Reading:
    """The pages of a log; a page that cannot be read stops the run."""
    short = sum(len(page) < K for page in items)
    left = [f"{short:,} of {len(items):,} pages have fewer than {K} items and are left out"] if short else []
    return Reading(rows=len(items), rejected=0, notes=tuple(f"{name}: {note}" for note in (*repairs, *left)))


def read_labels(data: Path | None, name: str) -> tuple[list[tuple[str, Floats]], Reading]:
    """The queries of a set with four documents or more, the attraction of each document, and what was read."""
    table = read_letor(need(data, *LABELLED[name]))
    label = table["label"].to_numpy()
    by_label = np.array(NAVIGATIONAL[3 if label.max() <= 2 else 5])
    code = table["query"].combine_chunks().dictionary_encode()
    order = np.argsort(code.indices.to_numpy(), kind="stable")
    ends = np.cumsum(np.bincount(code.indices.to_numpy()))
    documents = np.split(by_label[label[order]], ends[:-1])
    every = list(zip(code.dictionary.to_pylist(), documents, strict=True))
    kept = [(query, found) for query, found in every if len(found) >= K]
    few = len(every) - len(kept)
    left = f"{name}: {few:,} of {len(every):,} queries have fewer than {K} documents and are left out"
    return kept, Reading(rows=len(label), rejected=0, notes=(left,) if few else ())


def labelled(queries: Sequence[tuple[str, Floats]], model: str, most: int, rng: np.random.Generator) -> list[Truth]:
    """Some queries at random; the lists of each drawn with the weights of one Dirichlet draw."""
    chosen = np.sort(rng.permutation(len(queries))[:most])
    return [_made_up(queries[q][0], queries[q][1], model, rng) for q in chosen]


def positions(model: str) -> Floats:
    """1 − λ with λ_k = 1 − exp((0.5 − k)/0.5), or examination."""
    if model == "pbm":
        return EXAMINED
    return np.exp((0.5 - np.arange(1, K + 1)) / 0.5) if model == "dcm" else np.ones(K)


def _made_up(query: str, attraction: Floats, model: str, rng: np.random.Generator) -> Truth:
    weights = np.maximum(rng.dirichlet(attraction), 1e-300)
    keys = np.log(weights) + rng.gumbel(size=(LISTS, len(weights)))  # one after the other, without repeats
    drawn: Integers = np.argsort(-keys, axis=1)[:, :K]
    lists, often = np.unique(drawn, axis=0, return_counts=True)
    seen = np.zeros((len(lists), len(PATTERNS)), dtype=np.int64)
    seen[:, 0] = often  # lists only: clicks come from the model
    return Truth(model, Pages(query, lists, seen, len(weights)), attraction, positions(model))


def truths(pages: Sequence[Pages], model: str, least: int = 0) -> list[Truth]:
    """What is called true for each query; `least`: without pages of items shown fewer times."""
    kept = [each.common(least) if least else each for each in pages]
    return [Truth.fit(model, each) for each in kept if each is not None]
