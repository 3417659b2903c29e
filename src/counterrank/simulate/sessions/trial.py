"""One ranker in one trial: it serves, and learns now and then; what that was worth."""

from __future__ import annotations

import time
from dataclasses import field

import numpy as np
from numpy.typing import NDArray

from counterrank.online import RANKERS, Memory, Options, Ranker
from counterrank.online.memory import TRAINING
from counterrank.online.ranker import EXPLORATION
from counterrank.records import dataclass
from counterrank.simulate.sessions.corpus import Corpus, Vector
from counterrank.simulate.sessions.play import Played, Stage, admit_all, loop, warm_up, worth
from counterrank.simulate.sessions.script import Script, key_of

TEST = 2
OFFLINE = 1 << 62  # keys of rankings outside sessions


@dataclass(frozen=True, kw_only=True)
class Serving:
    """How a service is played, beside who ranks."""

    options: Options
    warmup: int = 20
    retrain: int = 20
    new_share: float | None = None  # most of a page that may go to new items
    new_below: int = 20  # impressions


@dataclass(frozen=True, kw_only=True)
class Trial:
    """What one ranker did in one trial."""

    played: Played
    warm_up: Played
    cold: Vector  # NDCG of each test query without clicks, in the order of `tested`
    warm: Vector  # and with them
    tested: NDArray[np.int64]
    uncertainty: float | None  # mean over test queries of U(q), eq. 8; None where a ranker has no posterior
    fit_seconds: float
    serve_seconds: float
    beliefs: list[NDArray[np.float64]] = field(default_factory=list)  # by learning, where it is traced
    ends: list[int] = field(default_factory=list)


def play(corpus: Corpus, script: Script, name: str, serving: Serving, *, traced: bool = False) -> Trial:
    """Serve all sessions of a script with one ranker."""
    ranker = RANKERS[name](serving.options)
    stage, memory = _stage(corpus, script, serving), _state(corpus, script, serving)
    sessions, k = len(script.query), len(serving.options.examination)
    queries = len(corpus.queries)
    before = _played(serving.warmup * queries, k, None)
    warm_up(memory.rows, stage, script.start, serving.warmup, serving.options.feature, before)
    played = _played(sessions, k, script.candidates if traced else None)
    run = loop(type(ranker).score, type(ranker).observe)
    beliefs, ends, fit, serve = [], [], 0.0, 0.0
    for part in range(serving.retrain):
        first, stop = (sessions * at // serving.retrain for at in (part, part + 1))
        start = time.perf_counter()
        stage = _learn(ranker, memory, stage)
        middle = time.perf_counter()
        run(memory.rows, stage, ranker.params, first, stop, len(before.ndcg), played)
        fit, serve = fit + middle - start, serve + time.perf_counter() - middle
        if traced:
            beliefs.append(stage.belief)
            ends.append(stop)
    tested = np.flatnonzero(script.part == TEST)
    unsure = ranker.uncertainty(memory, tested)
    cold, warm = _offline(ranker, memory, stage, tested)
    return Trial(
        played=played, warm_up=before, cold=cold, warm=warm, tested=tested, uncertainty=unsure, fit_seconds=fit,
        serve_seconds=serve, beliefs=beliefs, ends=ends,
    )  # fmt: skip


def _learn(ranker: Ranker, memory: Memory, stage: Stage) -> Stage:
    """The ranker learns, and says what it thinks of documents, those to come too."""
    ranker.fit(memory)
    belief = ranker.beliefs(stage.features)
    if ranker.told:
        belief = np.column_stack([stage.relevance, np.zeros(len(stage.relevance))])
    at, begin = memory.rows_of(), stage.begin
    assert (memory.rows.begin[: len(begin)] == begin).all()  # noqa: S101 - blocks were made for all that will come
    memory.rows.belief[at] = belief[at]
    return stage._replace(belief=belief)


def _offline(ranker: Ranker, memory: Memory, stage: Stage, tested: NDArray[np.int64]) -> tuple[Vector, Vector]:
    """NDCG of all documents of the test queries without exploration: cold, as if nobody had clicked, and warm."""
    admit_all(memory.rows, stage)
    params = ranker.params.copy()
    params[EXPLORATION] = 0.0
    free = stage._replace(quota=np.zeros(2, dtype=np.int64))
    empty = memory.rows._replace(shown=np.zeros_like(memory.rows.shown), clicked=np.zeros_like(memory.rows.clicked))
    scores = np.empty(int(memory.rows.room.max()))
    both = []
    for rows in (empty, memory.rows):
        found = np.empty(len(tested))
        for at, q in enumerate(tested):
            key = np.uint64(key_of(int(stage.ranker_key), OFFLINE + int(q)))
            type(ranker).score(rows, rows.begin[q], rows.size[q], stage.examination, params, key, scores)
            found[at] = worth(rows, free, q, scores)
        both.append(found)
    return both[0], both[1]


def _stage(corpus: Corpus, script: Script, serving: Serving) -> Stage:
    examination = serving.options.examination
    k = len(examination)
    share = 1.0 if serving.new_share is None else serving.new_share
    quota = np.array([np.ceil(share * k - 1e-9), serving.new_below], dtype=np.int64)
    return Stage(
        begin=corpus.starts[:-1],
        item=script.document,
        features=corpus.features[script.document],
        belief=np.zeros((len(corpus.items), 2)),
        relevance=corpus.relevance[script.document],
        ideal=corpus.ideal(examination),
        examination=examination,
        query=script.query,
        arrives=script.arrives,
        key=script.key,
        ranker_key=script.ranker_key,
        learns=script.part == TRAINING,
        quota=quota,
    )


def _state(corpus: Corpus, script: Script, serving: Serving) -> Memory:
    """An empty memory with a block for each query, as large as it will ever need."""
    memory = Memory(len(serving.options.examination), corpus.names)
    for query, part, size in zip(corpus.queries, script.part, corpus.sizes, strict=True):
        memory.query(query, int(part), int(size))
    return memory


def _played(sessions: int, k: int, candidates: NDArray[np.int64] | None) -> Played:
    ends = np.zeros(1, dtype=np.int64) if candidates is None else np.concatenate([[0], np.cumsum(candidates)])
    return Played(
        page=np.full((sessions, k), -1, dtype=np.int64),
        clicks=np.zeros((sessions, k), dtype=np.int8),
        ndcg=np.zeros(sessions),
        fresh=np.zeros(sessions, dtype=np.int64),
        score=np.zeros(int(ends[-1])),
        offset=ends,
    )
