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
        size = len(self.corpus.queries)
        before = len(trial.warm_up.ndcg)
        rounds = before // size if size else 0
        asked = np.tile(np.arange(size), rounds)
        self._part(run, script, trial.warm_up, asked, script.start[asked], 0, None, np.zeros(before, dtype=np.int64))
        day = 1 + np.searchsorted(trial.ends, np.arange(len(script.query)), side="right")
        self._part(run, script, trial.played, script.query, script.candidates, before, trial, day)

    def _part(
        self, run: Any, script: Script, played: Played, query: NDArray[np.int64], candidates: NDArray[np.int64],
        before: int, trial: Trial | None, day: NDArray[np.int64],
    ) -> None:  # fmt: skip
        for low in range(0, len(query), CHUNK):
            some = np.arange(low, min(low + CHUNK, len(query)))
            q, many = query[some], candidates[some]
            page = played.page[some]
            shown = page >= 0
            ends = pa.array(np.concatenate([[0], np.cumsum(shown.sum(axis=1))]).astype(np.int32))
            rows = (self.corpus.starts[q][:, None] + page)[shown]
            columns = {
                "query": self.queries.take(pa.array(q)),
                "items": pa.ListArray.from_arrays(ends, self.items.take(pa.array(script.document[rows]))),
                "clicks": pa.ListArray.from_arrays(ends, pa.array(played.clicks[some][shown])),
                "day": pa.array(day[some]),
                "trial": pa.array(np.full(len(some), run.trial + 1)),
                "ranker": pa.array([run.ranker] * len(some)),
                "behaviour": pa.array([run.behaviour] * len(some)),
                "session": pa.array(before + some + 1),
            }
            if self.log is not None:
                self.log(_batch(columns, LOG))
            if self.trace is not None:
                columns |= self._scores(run, script, trial, q, many, some, day[some])
                columns["ndcg"] = pa.array(played.ndcg[some])
                columns["exploration"] = pa.array(np.full(len(some), run.exploration))
                columns["new_share"] = pa.array([run.new_share] * len(some), pa.float64())
                columns["part"] = pa.array(PARTS).take(pa.array(script.part[q]))
                self.trace(_batch(columns, TRACE))

    def _scores(
        self, run: Any, script: Script, trial: Trial | None, q: NDArray[np.int64], many: NDArray[np.int64],
        some: NDArray[np.int64], day: NDArray[np.int64],
    ) -> dict[str, pa.Array]:  # fmt: skip
        """Candidates in the order of their arrival, with what was known of each and what they were sorted by."""
        ends = np.concatenate([[0], np.cumsum(many)])
        at = np.repeat(self.corpus.starts[q] - ends[:-1], many) + np.arange(ends[-1])
        offsets = pa.array(ends.astype(np.int32))
        out = {"candidates": pa.ListArray.from_arrays(offsets, self.items.take(pa.array(script.document[at])))}
        none = pa.nulls(len(some), _NUMBERS)
        out |= {"alpha": none, "beta": none, "score": none}
        if trial is None:
            return out
        first = trial.played.offset[some[0]]
        out["score"] = pa.ListArray.from_arrays(offsets, pa.array(trial.played.score[first : first + ends[-1]]))
        if issubclass(RANKERS[run.ranker], EBRank):
            known = np.empty((len(at), 2))
            learnt = np.repeat(day - 1, many)
            for number in np.unique(learnt):
                mine = learnt == number
                known[mine] = trial.beliefs[number][at[mine]]
            out["alpha"], out["beta"] = (
                pa.ListArray.from_arrays(offsets, pa.array(known[:, i].copy())) for i in (0, 1)
            )
        return out


def _batch(columns: dict[str, pa.Array], schema: pa.Schema) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays(
        [columns[name].cast(schema.field(name).type) for name in schema.names], schema=schema
    )
