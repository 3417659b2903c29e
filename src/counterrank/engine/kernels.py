"""The compiled loops of the embedded engine: look ids up, count rows, sum moments.

Hash tables are open-addressed `int64` arrays whose size is a power of two; a value of 0 marks a free slot, so codes
are kept plus one. A kernel that runs out of room returns the row it stopped at; the caller makes room and goes on.
"""

# mypy: disable-error-code="no-untyped-def, assignment"
from __future__ import annotations

import numpy as np

from counterrank.compiled import njit
from counterrank.statistics.cells import cell_at
from counterrank.statistics.hashing import mix, next_key, start_key
from counterrank.statistics.histogram import BUCKETS, NUDGE, SHIFT

ABREAST = 8  # columns that are written at a time


@njit(nogil=True)
def encode(keys, slots, size, insert, codes, fresh, secret):
    """The code of each key; unknown keys get the next codes (insert) or -1. Returns (size, how many were read)."""
    mask = np.uint64(len(slots) // 2 - 1)
    room = len(slots) // 4
    for i in range(len(keys)):
        key = keys[i]
        at = np.int64(_home(key, secret) & mask)
        while slots[2 * at + 1] != 0 and slots[2 * at] != key:
            at = np.int64((np.uint64(at) + np.uint64(1)) & mask)
        if slots[2 * at + 1] == 0:
            if not insert:
                codes[i] = -1
                continue
            if size >= room:
                return size, i
            slots[2 * at] = key
            slots[2 * at + 1] = size + 1
            fresh[size] = i
            size += 1
        codes[i] = slots[2 * at + 1] - 1
    return size, len(keys)


@njit(nogil=True)
def rehash(old, new, secret):
    """Move the entries of one table into a larger one."""
    mask = np.uint64(len(new) // 2 - 1)
    for i in range(len(old) // 2):
        if old[2 * i + 1] == 0:
            continue
        at = np.int64(_home(old[2 * i], secret) & mask)
        while new[2 * at + 1] != 0:
            at = np.int64((np.uint64(at) + np.uint64(1)) & mask)
        new[2 * at], new[2 * at + 1] = old[2 * i], old[2 * i + 1]


@njit(nogil=True)
def _home(key, secret):
    """Where a key belongs: nobody who does not know the secret can find keys that all belong to one place."""
    return mix(np.uint64(key) * secret[0] + secret[1])


@njit(nogil=True)
def by_query(codes, queries):
    """Where each row goes in the order of queries, in which what is counted for one stays in the processor's cache.

    Also where each query's rows begin and end in that order; empty where queries are too many to sort by.
    """
    place = np.empty(len(codes), dtype=np.int64)
    if queries > 4 * len(codes):
        for r in range(len(codes)):
            place[r] = r
        return place, np.zeros(0, dtype=np.int64)
    starts = np.zeros(queries + 3, dtype=np.int64)
    for r in range(len(codes)):
        starts[codes[r] + 3] += 1  # the unknown query, -1, comes first
    for q in range(1, queries + 3):
        starts[q] += starts[q - 1]
    for r in range(len(codes)):
        place[r] = starts[codes[r] + 2]
        starts[codes[r] + 2] += 1
    return place, starts[1 : queries + 2]


@njit(nogil=True)
def is_in(key, keys, mask):
    """Whether a set that `fill_set` made holds the key."""
    at = np.int64(key & mask)
    while keys[at] != 0 and keys[at] != key:
        at = np.int64((np.uint64(at) + np.uint64(1)) & mask)
    return keys[at] == key


# what the numbers in the coder's `size` count
PAIRS, ITEMS, SLOTS = 0, 1, 2
# what the table of a query's pairs is: where its slots begin, 64 less the bits of their number, and how many are taken
BEGIN, SHIFT_BY, TAKEN = 0, 1, 2


@njit(nogil=True)
def _slot(key, begin, shift, slots, secret):
    """The slot of an item key in the table of a query: taken by it, or free."""
    hashed = np.uint64(key) * secret[0]
    hashed = (hashed ^ (hashed >> np.uint64(32))) * secret[2]
    at = np.int64(hashed >> np.uint64(shift))
    while slots[begin + at, 0] != key and slots[begin + at, 1] != 0:
        at = (at + 1) & ((np.int64(1) << (64 - shift)) - 1)
    return begin + at


@njit(nogil=True)
def _widen(q, least, size, tables, slots, secret):
    """Move a query's pairs to a table with room for more, at least so many; False where there are no slots for it."""
    begin, shift, taken = tables[q, BEGIN], tables[q, SHIFT_BY], tables[q, TAKEN]
    bits = 64 - shift + 1 if taken > 0 else 2
    while (3 << bits) < 4 * least:
        bits += 1
    if size[SLOTS] + (1 << bits) > len(slots):
        return False
    tables[q, BEGIN], tables[q, SHIFT_BY] = size[SLOTS], 64 - bits
    size[SLOTS] += 1 << bits
    if taken > 0:
        for old in range(begin, begin + (1 << (64 - shift))):
            if slots[old, 1] != 0:
                at = _slot(slots[old, 0], tables[q, BEGIN], tables[q, SHIFT_BY], slots, secret)
                slots[at, 0], slots[at, 1] = slots[old, 0], slots[old, 1]
    return True


@njit(nogil=True)
def code_known(first, last, shown, place, top, register_all, pairs, coded, left, secret):
    """Rows first to last as 2·pair + click per position, each to its place in `coded`; nothing is changed but that.

    Returns how many show a pair that is new: these are in `left`, and nothing of them counts as coded. Indices have no
    sign here and below, so that nobody asks whether they count from the end.
    """
    query_codes, offsets, keys, _, clicks = shown
    slots, tables = pairs.slots, pairs.tables
    flat, width = coded.reshape(-1), np.uint64(coded.shape[1])
    some, clicked = 0, len(clicks) > 0
    for r in range(np.uint64(first), np.uint64(last)):
        q, to = query_codes[r], np.uint64(place[r]) * width
        if q < 0:
            flat[to] = -1
            continue
        begin, shift, at = tables[q, BEGIN], tables[q, SHIFT_BY], np.uint64(offsets[r])
        length = np.uint64(offsets[r + np.uint64(1)]) - at
        cut = min(length, np.uint64(top))
        for k in range(length if register_all else cut):
            pair = slots[np.uint64(_slot(keys[at + k], begin, shift, slots, secret)), np.uint64(1)]
            if pair == 0:
                left[some] = r
                some += 1
                break
            if k < cut:
                flat[to + k] = np.int32(2 * (pair - 1) + (clicks[at + k] & 1 if clicked else 0))
        if cut < width:
            flat[to + cut] = -1  # the end of the row; what stands behind it is not read
    return some


@njit(nogil=True)
def code_indexed(first, last, shown, place, top, register_all, pairs, lately, coded, left, secret):
    """The same where items are given by their places, which is quicker as long as most are shown for one query only.

    lately[i] is of the item i the query and the pair it had last: (query + 1)·2³² + 2·pair. Returns also how often an
    item was shown for another query than last.
    """
    query_codes, offsets, keys, places, clicks = shown
    slots, tables = pairs.slots, pairs.tables
    flat, width = coded.reshape(-1), np.uint64(coded.shape[1])
    some, moved, clicked = 0, 0, len(clicks) > 0
    for r in range(np.uint64(first), np.uint64(last)):
        q, to = query_codes[r], np.uint64(place[r]) * width
        if q < 0:
            flat[to] = -1
            continue
        at, mine = np.uint64(offsets[r]), (q + 1) << 32
        length = np.uint64(offsets[r + np.uint64(1)]) - at
        cut = min(length, np.uint64(top))
        for k in range(length if register_all else cut):
            i = np.uint64(places[at + k])
            found = lately[i]
            if (found ^ mine) >> 32 != 0:
                moved += found != 0
                pair = slots[_slot(keys[i], tables[q, BEGIN], tables[q, SHIFT_BY], slots, secret), 1]
                if pair == 0:
                    left[some] = r
                    some += 1
                    break
                found = mine | (2 * (pair - 1))
                lately[i] = found
            if k < cut:
                flat[to + k] = np.int32(found) + np.int32(clicks[at + k] & 1 if clicked else 0)
        if cut < width:
            flat[to + cut] = -1
    return some, moved


@njit(nogil=True)
def code_rows(start, order, shown, place, top, register_all, size, pairs, fresh_items, coded, secret):
    """The same from the `start`-th row in order; new pairs and items get the next codes.

    Returns the place in order that it had no room for.
    """
    query_codes, offsets, keys, places, clicks = shown
    slots, tables, pair_query, pair_item, pair_place, item_slots = pairs
    item_mask = np.uint64(len(item_slots) // 2 - 1)
    indexed, clicked = len(places) > 0, len(clicks) > 0
    for i in range(start, len(order)):
        r = order[i]
        q, to = query_codes[r], place[r]
        if q < 0:
            coded[to, 0] = -1
            continue
        first = offsets[r]
        length = offsets[r + 1] - first
        if size[PAIRS] + length > len(pair_query) or 2 * (size[ITEMS] + length) > item_mask:
            return i
        cut = min(length, top)
        begin, shift = tables[q, BEGIN], tables[q, SHIFT_BY]
        for k in range(length if register_all else cut):
            key = keys[places[first + k]] if indexed else keys[first + k]
            at = _slot(key, begin, shift, slots, secret)
            p = slots[at, 1] - 1
            if p < 0:
                taken = tables[q, TAKEN]
                if taken == 0 or 4 * (taken + 1) > np.int64(3) << (64 - shift):
                    if not _widen(q, max(taken + 1, length - k), size, tables, slots, secret):
                        return i
                    begin, shift = tables[q, BEGIN], tables[q, SHIFT_BY]
                    at = _slot(key, begin, shift, slots, secret)
                item = np.int64(_home(key, secret) & item_mask)
                while item_slots[2 * item + 1] != 0 and item_slots[2 * item] != key:
                    item = np.int64((np.uint64(item) + np.uint64(1)) & item_mask)
                if item_slots[2 * item + 1] == 0:
                    item_slots[2 * item] = key
                    item_slots[2 * item + 1] = size[ITEMS] + 1
                    fresh_items[size[ITEMS]] = first + k
                    size[ITEMS] += 1
                p = size[PAIRS]
                size[PAIRS] += 1
                slots[at, 0], slots[at, 1] = key, p + 1
                pair_query[p], pair_place[p] = q, tables[q, TAKEN]
                tables[q, TAKEN] += 1
                pair_item[p] = item_slots[2 * item + 1] - 1
            if k < cut:
                coded[to, k] = 2 * p + (clicks[first + k] & 1 if clicked else 0)
        if cut < coded.shape[1]:
            coded[to, cut] = -1
    return len(order)


@njit(nogil=True)
def lay_out(offsets, values, out):
    """The values of each row, down to as many as `out` has room for."""
    for r in range(len(out)):
        for k in range(min(offsets[r + 1] - offsets[r], out.shape[1])):
            out[r, k] = values[offsets[r] + k]


@njit(nogil=True)
def tally_rows(first, last, batch, wanted, sums):
    """Count coded rows first to last: pairs by position, sums by query and by day. Returns the longest list's length.

    In the order of queries, whose cells then stay in the processor's cache, and which two threads can share. Rows of
    queries that were not asked for are crossed out.
    """
    query_codes, lengths, impressions, reward, _, _, days, coded = batch
    covered, theta, has_reward, _, _, _, _ = wanted
    tally, per_query, per_day = sums
    dense = len(tally) > 0  # else cells are counted elsewhere
    flat, cells, width, depth = (
        coded.reshape(-1),
        tally.reshape(-1),
        np.uint64(coded.shape[1]),
        np.uint64(tally.shape[1]),
    )
    one, longest = np.uint64(1), np.int64(0)
    for r in range(np.uint64(first), np.uint64(last)):
        if query_codes[r] < 0:
            continue
        q, m = np.uint64(query_codes[r]), impressions[r]
        value = 0.0
        cut = np.uint64(0)
        for k in range(width):
            v = flat[r * width + k]
            if v < 0:
                break
            cut += one
            clicked = v & 1
            value += theta[k] * clicked
            if dense:
                cell = ((np.uint64(v) >> one) * depth + k) << one
                cells[cell] += m
                cells[cell + one] += m * clicked
        if has_reward:
            value = reward[r]
        per_query[q, 0] += m
        per_query[q, 1] += m * value
        per_query[q, 2] += m * value * value
        per_query[q, 3] = max(per_query[q, 3], cut)
        if not covered[q]:
            flat[r * width] = -1
            continue
        longest = max(longest, lengths[r])
        if len(days) > 0 and days[r] >= 0:
            per_day[days[r], 0] += m
            per_day[days[r], 1] += m * value
            per_day[days[r], 2] += m * value * value
    return longest


@njit(nogil=True)
def group_rows(start, met, batch, wanted, pair_item, groups, secret):
    """Gather the rankings that are wanted from the `start`-th of rows that were tallied, having met so many.

    Returns the row that it had no room for, and how many rankings were met.
    """
    query_codes, _, impressions, reward, propensity, bits, _, coded = batch
    covered, theta, has_reward, by_propensity, groups_wanted, wanted_keys, begins = wanted
    group_slots, group_query, group_rows, group_sums, group_propensity = groups
    group_mask = np.uint64(len(group_slots) // 2 - 1)
    wanted_mask = np.uint64(len(wanted_keys) - 1)
    flat, width, one = coded.reshape(-1), np.uint64(coded.shape[1]), np.uint64(1)
    for r in range(np.uint64(start), np.uint64(len(query_codes))):
        if query_codes[r] < 0 or not covered[np.uint64(query_codes[r])]:
            continue
        head = flat[r * width]
        if groups_wanted == 1 and (head < 0 or not begins[np.uint64(head) >> one]):
            continue
        if met + 1 > len(group_query):
            return np.int64(r), met
        q, m = np.uint64(query_codes[r]), impressions[r]
        value, cut, group = 0.0, np.uint64(0), start_key(q, secret)
        for k in range(width):
            v = flat[r * width + k]
            if v < 0:
                break
            cut += one
            value += theta[k] * (v & 1)
            group = next_key(group, pair_item[np.uint64(v) >> one], secret)
        if groups_wanted == 1 and not is_in(group, wanted_keys, wanted_mask):
            continue
        if has_reward:
            value = reward[r]
        if by_propensity:
            group = mix(group ^ bits[r])
        at = np.int64(_home(np.int64(group), secret) & group_mask)
        while group_slots[2 * at + 1] != 0 and np.uint64(group_slots[2 * at]) != group:
            at = np.int64((np.uint64(at) + np.uint64(1)) & group_mask)
        g = group_slots[2 * at + 1] - 1
        if g < 0:
            g = met
            met += 1
            group_slots[2 * at] = np.int64(group)
            group_slots[2 * at + 1] = g + 1
            group_query[g] = q
            group_propensity[g] = propensity[r] if by_propensity else 0.0
            group_sums[g, :] = 0.0
            for k in range(group_rows.shape[1]):
                group_rows[g, k] = coded[r, k] >> 1 if k < cut else -1
        group_sums[g, 0] += m
        group_sums[g, 1] += m * value
        group_sums[g, 2] += m * value * value
    return len(query_codes), met


@njit(nogil=True)
def prefix_keys(queries, offsets, items, depth, out, secret):
    """The key of every beginning, down to `depth` items, of each ranking; returns how many there are."""
    size = 0
    for g in range(len(queries)):
        if queries[g] < 0:
            continue
        key = start_key(queries[g], secret)
        for at in range(offsets[g], min(offsets[g + 1], offsets[g] + depth)):
            if items[at] < 0:
                break
            key = next_key(key, items[at], secret)
            out[size] = key
            size += 1
    return size


@njit(nogil=True)
def note_beginnings(first, last, pair_query, pair_item, keys, secret, out):
    """Of pairs first to last, whether a ranking whose beginnings are among the keys begins with it."""
    mask = np.uint64(len(keys) - 1)
    for p in range(first, last):
        out[p] = is_in(next_key(start_key(pair_query[p], secret), pair_item[p], secret), keys, mask)


@njit(nogil=True)
def fill_set(keys, out):
    """Keys as an open-addressed set; 0 marks a free place."""
    mask = np.uint64(len(out) - 1)
    for key in keys:
        at = np.int64(key & mask)
        while out[at] != 0 and out[at] != key:
            at = np.int64((np.uint64(at) + np.uint64(1)) & mask)
        out[at] = key


@njit(nogil=True)
def rows_of(codes, starts):
    """The rows of these queries, query after query, in a batch that is in the order of its queries."""
    size = 0
    last = len(starts) - 1
    for q in codes:
        size += starts[min(q + 1, last)] - starts[min(q, last)]
    out = np.empty(size, dtype=np.int64)
    at = 0
    for q in codes:
        for r in range(starts[min(q, last)], starts[min(q + 1, last)]):
            out[at] = r
            at += 1
    return out


@njit(nogil=True)
def read_pages(picked, coded, impressions, reward, theta, pair_rows, pair_query, low, high, room):
    """Those of the picked rows, which are coded so, that are of the queries low to high: rows of pairs, impressions,
    Σ reward, Σ reward²."""
    used, one = np.uint64(0), np.uint64(1)
    flat, width = coded.reshape(-1), np.uint64(coded.shape[1])
    shown, depth = room.rows.reshape(-1), np.uint64(room.rows.shape[1])
    for i in range(np.uint64(len(picked))):
        r, begin, to = picked[i], i * width, used * depth
        if flat[begin] < 0:
            continue
        q = pair_query[np.uint64(flat[begin]) >> one]
        if q < low or q >= high:
            continue
        value, cut = 0.0, np.uint64(0)
        for k in range(width):
            v = flat[begin + k]
            if v < 0:
                break
            shown[to + k] = pair_rows[np.uint64(v) >> one]
            value += theta[k] * (v & 1)
            cut += one
        for k in range(cut, depth):
            shown[to + k] = -1
        if len(reward) > 0:
            value = reward[r]
        m = float(impressions[r]) if len(impressions) > 0 else 1.0
        room.queries[used] = q
        room.impressions[used], room.reward[used], room.reward2[used] = m, m * value, m * value * value
        used += one
    return np.int64(used)


@njit(nogil=True)
def decode_rows(coded, pair_rows, pair_query, out, queries):
    """Rows under the pairs' final codes, -1 from their end on, and the query of each."""
    for r in range(len(coded)):
        queries[r] = pair_query[coded[r, 0] >> 1]
        for k in range(coded.shape[1]):
            v = coded[r, k]
            if v < 0:
                break
            out[r, k] = 2 * pair_rows[v >> 1] + (v & 1)


@njit(nogil=True)
def put_abreast(table, at, many, columns, first, last):
    """Write these columns, eight of which so many count, into those of the table from `at` on, rows first to last."""
    c0, c1, c2, c3, c4, c5, c6, c7 = columns
    for r in range(first, last):
        table[r, at] = c0[r]
        if many > 1:
            table[r, at + 1] = c1[r]
        if many > 2:
            table[r, at + 2] = c2[r]
        if many > 3:
            table[r, at + 3] = c3[r]
        if many > 4:
            table[r, at + 4] = c4[r]
        if many > 5:
            table[r, at + 5] = c5[r]
        if many > 6:
            table[r, at + 6] = c6[r]
        if many > 7:
            table[r, at + 7] = c7[r]


@njit(nogil=True)
def sum_moments(coded, end, runs, counted, cells, table, scale, constant, out, cross, spread):
    """Of all rows of runs, add Σr, Σr², Σw̄, Σw̄² per query and estimator, Σ r·r' of two, and fill histograms.

    An impression's r = Σₖ scaleₖ·wₖ·clickₖ − offsetₖ; table[c] holds the weights of all estimators, then their offsets,
    c being a cell; w̄ is the mean weight over the positions. spread[e, i, b] holds count and sum in bucket b of
    influences (i = 0), terms (1) and mean weights (2). `runs` and `end` are as in `engine.runs`.
    """
    rows, pair_query, starts, positions, listed = cells
    firsts, lasts, begins = runs
    impressions, weighted = counted
    estimators, one = np.uint64(scale.shape[0]), np.uint64(1)
    two, three, four = np.uint64(2), np.uint64(3), np.uint64(4)
    flat, width, depth, is_listed = (
        coded.reshape(-1),
        np.uint64(coded.shape[1]),
        np.uint64(listed.shape[1]),
        len(listed) > 0,
    )
    numbers, weights, scales, sums = listed.reshape(-1), table.reshape(-1), scale.reshape(-1), out.reshape(-1)
    products, buckets, shift = cross.reshape(-1), spread.reshape(-1), np.uint64(SHIFT)
    reach, nudged = np.uint64(scale.shape[1]), np.empty((scale.shape[0], 3))
    bits = nudged.view(np.uint64)
    total, term, weight = np.empty(scale.shape[0]), np.empty(scale.shape[0]), np.empty(scale.shape[0])
    places, clicked = np.empty(coded.shape[1], dtype=np.uint64), np.empty(coded.shape[1], dtype=np.bool_)
    for run in range(np.uint64(len(firsts))):
        pairs = np.uint64(begins[run])
        for r in range(np.uint64(firsts[run]), np.uint64(lasts[run])):
            begin, length = r * width, np.uint64(0)
            if flat[begin] == end:
                continue
            q = np.uint64(pair_query[pairs + (np.uint64(flat[begin]) >> one)])
            for k in range(width):
                v = flat[begin + k]
                if v == end:
                    break
                row = np.uint64(rows[pairs + (np.uint64(v) >> one)])
                c = np.uint64(numbers[row * depth + k]) if is_listed else np.uint64(cell_at(starts, positions, row, k))
                places[k], clicked[k], length = c * two * estimators, v & 1, k + one
            e = np.uint64(0)
            while e + four <= estimators:  # four at a time, whose sums stay in registers; the last four may overlap
                w0, w1, w2, w3 = 0.0, 0.0, 0.0, 0.0
                t0, t1, t2, t3 = 0.0, 0.0, 0.0, 0.0
                r0, r1, r2, r3 = 0.0, 0.0, 0.0, 0.0
                for k in range(length):
                    c = places[k] + e
                    o = c + estimators
                    w0, w1 = w0 + weights[c], w1 + weights[c + one]
                    w2, w3 = w2 + weights[c + two], w3 + weights[c + three]
                    r0, r1 = r0 - weights[o], r1 - weights[o + one]
                    r2, r3 = r2 - weights[o + two], r3 - weights[o + three]
                    if clicked[k]:
                        s = e * reach + k
                        t0 += scales[s] * weights[c]
                        t1 += scales[s + reach] * weights[c + one]
                        t2 += scales[s + two * reach] * weights[c + two]
                        t3 += scales[s + three * reach] * weights[c + three]
                weight[e], weight[e + one], weight[e + two], weight[e + three] = w0, w1, w2, w3
                term[e], term[e + one], term[e + two], term[e + three] = t0, t1, t2, t3
                total[e], total[e + one], total[e + two], total[e + three] = r0 + t0, r1 + t1, r2 + t2, r3 + t3
                e = e + four if e + four == estimators else min(e + four, estimators - four)
            for e in range(np.uint64(0), estimators if estimators < four else np.uint64(0)):
                w0, t0, r0 = 0.0, 0.0, 0.0
                for k in range(length):
                    c = places[k] + e
                    w0 += weights[c]
                    r0 -= weights[c + estimators]
                    if clicked[k]:
                        t0 += scales[e * reach + k] * weights[c]
                weight[e], term[e], total[e] = w0, t0, r0 + t0
            m = float(impressions[r]) if weighted else 1.0
            for e in range(estimators):
                mean, value = weight[e] / length, total[e]
                values, means = m * value, m * mean
                for other in range(e + one):
                    products[e * estimators + other] += values * total[other]
                at = (q * estimators + e) * four
                sums[at] += values
                sums[at + one] += values * value
                sums[at + two] += means
                sums[at + three] += means * mean
                weight[e] = mean
            for e in range(estimators):
                total[e] += constant[e, q]
                nudged[e, 0], nudged[e, 1], nudged[e, 2] = total[e] * NUDGE, term[e] * NUDGE, weight[e] * NUDGE
                for i in range(three):
                    number = total[e] if i == 0 else term[e] if i == 1 else weight[e]
                    at = ((e * three + i) * np.uint64(BUCKETS) + (bits[e, i] >> shift)) * two
                    buckets[at] += m
                    buckets[at + one] += m * number
