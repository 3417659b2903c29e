"""Sessions as rows: the trace, from which anyone can recompute a run, and the click log."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from counterrank.online import RANKERS
from counterrank.online.ebrank import EBRank
from counterrank.records import dataclass
from counterrank.simulate.files import Write, writer
from counterrank.simulate.sessions.corpus import Corpus
from counterrank.simulate.sessions.play import Played
from counterrank.simulate.sessions.script import PARTS, Script
from counterrank.simulate.sessions.setting import Asked
from counterrank.simulate.sessions.trial import Trial

CHUNK = 20_000  # sessions at a time
_HEAD = [("trial", pa.int64()), ("ranker", pa.string()), ("behaviour", pa.string())]
_NUMBERS = pa.list_(pa.float64())
TRACE = pa.schema(
    [
        *_HEAD, ("session", pa.int64()), ("query", pa.string()), ("part", pa.string()),
        ("candidates", pa.list_(pa.string())), ("items", pa.list_(pa.string())), ("alpha", _NUMBERS),
        ("beta", _NUMBERS), ("score", _NUMBERS), ("clicks", pa.list_(pa.int8())), ("ndcg", pa.float64()),
        ("exploration", pa.float64()), ("new_share", pa.float64()),
    ]
)  # fmt: skip
LOG = pa.schema(
    [
        ("query", pa.string()), ("items", pa.list_(pa.string())), ("clicks", pa.list_(pa.int8())), ("day", pa.int64()),
        *_HEAD, ("session", pa.int64()),
    ]
)  # fmt: skip


class Recorder:
    """Writes the sessions of runs as they are done."""

    def __init__(self, corpus: Corpus, asked: Asked, trace: str | Path | None, out: str | Path | None) -> None:
        self.corpus, self.asked, self.paths = corpus, asked, (trace, out)
        self.items = pa.array(corpus.items, pa.string())
        self.queries = pa.array(corpus.queries, pa.string())
        self.stack = ExitStack()
        self.trace: Write | None = None
        self.log: Write | None = None

    def __enter__(self) -> Recorder:
        trace, out = self.paths
        self.trace = self.stack.enter_context(writer(trace, TRACE)) if trace is not None else None
        self.log = self.stack.enter_context(writer(out, LOG)) if out is not None else None
        return self

    def __exit__(self, *error: Any) -> None:
        self.stack.__exit__(*error)

    def add(self, run: Any, script: Script, trial: Trial) -> None:
        """All sessions of a run, warm-up first."""
        size, before = len(self.corpus.queries), len(trial.warm_up.ndcg)
        asked = np.tile(np.arange(size), before // size if size else 0)
        day = 1 + np.searchsorted(trial.ends, np.arange(len(script.query)), side="right")
        first = Sessions(
            run=run, script=script, played=trial.warm_up, query=asked, candidates=script.start[asked],
            day=np.zeros(before, dtype=np.int64),
        )  # fmt: skip
        then = Sessions(
            run=run, script=script, played=trial.played, query=script.query, candidates=script.candidates, day=day,
            before=before, beliefs=trial.beliefs,
        )  # fmt: skip
        for part in (first, then):
            for low in range(0, len(part.query), CHUNK):
                self._write(part, np.arange(low, min(low + CHUNK, len(part.query))))

    def _write(self, part: Sessions, some: NDArray[np.int64]) -> None:
        """Some sessions as rows."""
        run, script, played, q = part.run, part.script, part.played, part.query[some]
        page = played.page[some]
        shown = page >= 0
        ends = pa.array(np.concatenate([[0], np.cumsum(shown.sum(axis=1))]).astype(np.int32))
        rows = (self.corpus.starts[q][:, None] + page)[shown]
        columns = {
            "query": self.queries.take(pa.array(q)),
            "items": pa.ListArray.from_arrays(ends, self.items.take(pa.array(script.document[rows]))),
            "clicks": pa.ListArray.from_arrays(ends, pa.array(played.clicks[some][shown])),
            "day": pa.array(part.day[some]),
            "trial": pa.array(np.full(len(some), run.trial + 1)),
            "ranker": pa.array([run.ranker] * len(some)),
            "behaviour": pa.array([run.behaviour] * len(some)),
            "session": pa.array(part.before + some + 1),
        }
        if self.log is not None:
            self.log(_batch(columns, LOG))
        if self.trace is not None:
            columns |= self._scores(part, some)
            columns["ndcg"] = pa.array(played.ndcg[some])
            columns["exploration"] = pa.array(np.full(len(some), run.exploration))
            columns["new_share"] = pa.array([run.new_share] * len(some), pa.float64())
            columns["part"] = pa.array(PARTS).take(pa.array(script.part[q]))
            self.trace(_batch(columns, TRACE))

    def _scores(self, part: Sessions, some: NDArray[np.int64]) -> dict[str, pa.Array]:
        """Candidates in the order of their arrival, with what was known of each and what they were sorted by."""
        many = part.candidates[some]
        ends = np.concatenate([[0], np.cumsum(many)])
        at = np.repeat(self.corpus.starts[part.query[some]] - ends[:-1], many) + np.arange(ends[-1])
        offsets = pa.array(ends.astype(np.int32))
        items = self.items.take(pa.array(part.script.document[at]))
        none = pa.nulls(len(some), _NUMBERS)
        out = {"candidates": pa.ListArray.from_arrays(offsets, items), "alpha": none, "beta": none, "score": none}
        if part.beliefs is None:
            return out
        first = part.played.offset[some[0]]
        out["score"] = pa.ListArray.from_arrays(offsets, pa.array(part.played.score[first : first + ends[-1]]))
        if issubclass(RANKERS[part.run.ranker], EBRank):
            known, learnt = np.empty((len(at), 2)), np.repeat(part.day[some] - 1, many)
            for number in np.unique(learnt):
                mine = learnt == number
                known[mine] = part.beliefs[number][at[mine]]
            for i, name in enumerate(("alpha", "beta")):
                out[name] = pa.ListArray.from_arrays(offsets, pa.array(known[:, i].copy()))
        return out


@dataclass(frozen=True, kw_only=True)
class Sessions:
    """Sessions of one run that were played in the same way."""

    run: Any
    script: Script
    played: Played
    query: NDArray[np.int64]  # (T,)
    candidates: NDArray[np.int64]  # (T,) how many
    day: NDArray[np.int64]  # (T,) the number of the last learning, 0 in the warm-up
    before: int = 0  # sessions that came before these
    beliefs: list[NDArray[np.float64]] | None = None  # by learning; none in the warm-up


def _batch(columns: dict[str, pa.Array], schema: pa.Schema) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays(
        [columns[name].cast(schema.field(name).type) for name in schema.names], schema=schema
    )
