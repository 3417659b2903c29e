"""Documents for a simulation: LETOR files, or a table of features with a column of labels."""

from __future__ import annotations

from collections.abc import Sequence
from glob import glob
from pathlib import Path
from typing import Any

import numpy as np

from counterrank.errors import InputError, near
from counterrank.log.features import read_features
from counterrank.log.letor import read_letor
from counterrank.simulate.sessions.corpus import Corpus, corpus_of, place_of


def read_corpus(
    letor: str | Path | Sequence[str | Path] | None = None,
    features: Any = None,
    labels: str | None = None,
    *,
    leave_out: Sequence[int | str] = (),
    drop_irrelevant: bool = False,
) -> Corpus:
    """The documents of LETOR files (paths, folders, globs), or of a table with columns query, item, labels, numbers.

    leave_out: features that rankers shall not see, by name or number from 1.

    >>> table = {"query": ["q", "q"], "item": ["a", "b"], "price": [1.0, 2.0], "grade": [0, 1]}
    >>> read_corpus(features=table, labels="grade").relevance.tolist()
    [0.1, 1.0]
    """
    if (letor is None) == (features is None):
        raise InputError("give documents by `letor`, or by `features` and `labels`: one of the two")
    if letor is not None:
        table = read_letor(_files([letor] if isinstance(letor, str | Path) else list(letor)))
        names = [name for name in table.column_names if name not in ("query", "item", "label")]
        values = np.stack([table[name].to_numpy() for name in names], axis=1) if names else np.zeros((len(table), 0))
        columns = (table["query"].combine_chunks(), table["item"].combine_chunks(), table["label"].to_numpy())
    else:
        if labels is None:
            raise InputError("`labels` is not given: name the column of `features` that holds the labels")
        found = read_features(features, missing=True)
        if labels not in found.names:
            came = ", ".join(found.names)
            raise InputError(f"there is no numeric column {labels!r}{near(labels, found.names)}; there are {came}")
        at = found.names.index(labels)
        names = [name for name in found.names if name != labels]
        values = np.delete(found.values, at, axis=1)
        columns = (found.query, found.item, found.values[:, at])
    kept = np.ones(len(names), dtype=bool)
    for each in leave_out:
        kept[place_of(each, names, "leave_out")] = False
    left = [name for name, good in zip(names, kept, strict=True) if good]
    return corpus_of(*columns, values[:, kept], left, columns=names, drop_irrelevant=drop_irrelevant)


def _files(paths: list[str | Path]) -> list[Path]:
    """Files, those of folders, and those that globs stand for."""
    out: list[Path] = []
    for each in map(str, paths):
        path = Path(each)
        if path.is_dir():
            out += sorted(file for file in path.iterdir() if file.is_file() and not file.name.startswith("."))
        elif not path.exists() and any(sign in each for sign in "*?["):
            out += sorted(map(Path, glob(each)))
        else:
            out.append(path)
    if not out:
        raise InputError(f"`letor` {', '.join(map(str, paths))}: no file is there")
    return out
