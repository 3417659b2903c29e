"""The compiled session loop: a document arrives, the ranker scores, the page is shown, the user clicks, it counts."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np

from counterrank.compiled import njit
from counterrank.statistics.hashing import mix, uniform


class Stage(NamedTuple):
    """What the loop plays on, in the order of arrival: nothing here depends on what was shown."""

    begin: Any  # (Q,) first document of each query
    item: Any  # (P,) its code
    features: Any  # (P, F)
    belief: Any  # (P, 2) what the ranker's model says of each now
    relevance: Any  # (P,)
    ideal: Any  # (Q,) the best DCG
    examination: Any  # (K,)
    query: Any  # (T,)
    arrives: Any  # (T,)
    key: Any
    ranker_key: Any
    learns: Any  # (Q,) whether rankers may learn from its pages
    quota: Any  # places of a page for new items, and below how many impressions an item is new


class Played(NamedTuple):
    """What happened, by session; `score` follows the candidates of all sessions, and is empty where nobody asked."""

    page: Any  # (T, K) places in the query's block, −1 below the page's end
    clicks: Any  # (T, K)
    ndcg: Any  # (T,)
    fresh: Any  # (T,) places that new items had
    score: Any
    offset: Any  # (T,)


@njit()
def admit(rows, stage, q):  # type: ignore[no-untyped-def]
    """The query's next document arrives."""
    slot = rows.size[q]
    document, row = stage.begin[q] + slot, rows.begin[q] + slot
    rows.item[row] = stage.item[document]
    for b in range(rows.belief.shape[1]):
        rows.belief[row, b] = stage.belief[document, b]
    for f in range(rows.features.shape[1]):
        rows.features[row, f] = stage.features[document, f]
    rows.shown[row] = 0
    rows.clicked[row] = 0
    rows.size[q] = slot + 1


@njit()
def fill(rows, stage, q, scores, page):  # type: ignore[no-untyped-def]
    """The first places by score, ties by arrival. How many of them new items have."""
    size, k = rows.size[q], len(page)
    length = min(size, k)
    for i in range(size):
        if i >= k and not scores[i] > scores[page[k - 1]]:
            continue
        j = min(i, k - 1)
        while j > 0 and scores[i] > scores[page[j - 1]]:
            page[j] = page[j - 1]
            j -= 1
        page[j] = i
    for j in range(length, k):
        page[j] = -1
    if stage.quota[1] == 0:
        return 0
    fresh = 0
    for j in range(length):
        fresh += is_new(rows, rows.begin[q] + page[j], stage.quota[1])
    return fresh if fresh <= stage.quota[0] else hold_back(rows, stage, q, scores, page)


@njit()
def is_new(rows, row, below):  # type: ignore[no-untyped-def]
    """Whether an item has had fewer impressions than this."""
    n = 0
    for k in range(rows.shown.shape[1]):
        n += rows.shown[row, k]
    return n < below


@njit()
def hold_back(rows, stage, q, scores, page):  # type: ignore[no-untyped-def]
    """Walking down: once new items have their places, further ones come after all others."""
    size, first = rows.size[q], rows.begin[q]
    quota, below, fresh = stage.quota[0], stage.quota[1], 0
    for j in range(min(size, len(page))):
        best, best_late, best_new = -1, True, False
        for i in range(size):
            taken = False
            for other in range(j):
                taken = taken or page[other] == i
            if taken:
                continue
            new = is_new(rows, first + i, below)
            late = new and fresh >= quota
            if best < 0 or (best_late and not late) or (late == best_late and scores[i] > scores[best]):
                best, best_late, best_new = i, late, new
        page[j] = best
        fresh += best_new
    return fresh


@njit()
def react(rows, stage, q, key, page, clicks):  # type: ignore[no-untyped-def]
    """Clicks on a page, and its NDCG."""
    gain = 0.0
    for j in range(len(page)):
        if page[j] < 0:
            break
        chance = stage.relevance[stage.begin[q] + page[j]] * stage.examination[j]
        gain += chance
        clicks[j] = uniform(key, j) < chance
    return gain / stage.ideal[q]


@njit()
def count(rows, q, page, clicks):  # type: ignore[no-untyped-def]
    """What was shown and clicked becomes evidence."""
    for j in range(len(page)):
        if page[j] < 0:
            break
        rows.shown[rows.begin[q] + page[j], j] += 1
        rows.clicked[rows.begin[q] + page[j], j] += clicks[j]


@njit(nogil=True)
def warm_up(rows, stage, start, rounds, feature, played):  # type: ignore[no-untyped-def]
    """Each query's first documents arrive and are shown `rounds` times by one feature; they count as evidence."""
    queries = len(stage.begin)
    scores = np.empty(len(stage.item))
    for q in range(queries):
        for _ in range(start[q]):
            admit(rows, stage, q)
    for turn in range(rounds):
        for q in range(queries):
            t = turn * queries + q
            for i in range(rows.size[q]):
                value = stage.features[stage.begin[q] + i, feature]
                scores[i] = -np.inf if np.isnan(value) else value
            played.fresh[t] = fill(rows, stage, q, scores, played.page[t])
            key = mix(stage.key ^ mix(np.uint64(t)))
            played.ndcg[t] = react(rows, stage, q, key, played.page[t], played.clicks[t])
            count(rows, q, played.page[t], played.clicks[t])


@cache
def loop(score: Any, observe: Any) -> Any:
    """The loop around a ranker's own functions."""

    @njit(nogil=True)
    def play(rows, stage, params, first, stop, before, played):  # type: ignore[no-untyped-def]
        room = 0
        for q in range(len(rows.room)):
            room = max(room, rows.room[q])
        scores = np.empty(room)
        for t in range(first, stop):
            q = stage.query[t]
            if stage.arrives[t]:
                admit(rows, stage, q)
            begin, size = rows.begin[q], rows.size[q]
            drawn = mix(stage.ranker_key ^ mix(np.uint64(t)))
            score(rows, begin, size, stage.examination, params, drawn, scores)
            page, clicks = played.page[t], played.clicks[t]
            played.fresh[t] = fill(rows, stage, q, scores, page)
            key = mix(stage.key ^ mix(np.uint64(before + t)))
            played.ndcg[t] = react(rows, stage, q, key, page, clicks)
            if stage.learns[q]:
                observe(rows, begin, size, stage.examination, params, drawn, page, clicks)
            count(rows, q, page, clicks)
            if len(played.score):
                for i in range(size):
                    played.score[played.offset[t] + i] = scores[i]

    return play


@njit(nogil=True)
def worth(rows, stage, q, scores):  # type: ignore[no-untyped-def]
    """NDCG of a query's items in the order of these scores."""
    page, gain = np.empty(len(stage.examination), dtype=np.int64), 0.0
    fill(rows, stage, q, scores, page)
    for j in range(len(page)):
        if page[j] >= 0:
            gain += stage.relevance[stage.begin[q] + page[j]] * stage.examination[j]
    return gain / stage.ideal[q]


@njit(nogil=True)
def admit_all(rows, stage):  # type: ignore[no-untyped-def]
    """All documents that have not arrived yet."""
    for q in range(len(stage.begin)):
        while rows.size[q] < rows.room[q]:
            admit(rows, stage, q)
