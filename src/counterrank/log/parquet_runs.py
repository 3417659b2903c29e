"""The compiled loops that read what is in a page of Parquet.

Levels, and the codes of values that stand in a dictionary, are stored as runs: a value and how often it is repeated, or
so many values side by side, each of as many bits as the largest needs. A loop that meets what cannot be says so.
"""

# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

import numpy as np

from counterrank.compiled import njit


@njit(nogil=True)
def _head(data, at):
    """The head of a run of the hybrid encoding, and where the run begins; -1 where there is none."""
    head, shift = np.int64(0), 0
    while at < len(data) and shift < 35:
        head |= (np.int64(data[at]) & 127) << shift
        at += 1
        if data[at - 1] < 128:
            return head, at
        shift += 7
    return -1, at


@njit(nogil=True)
def row_starts(data, count, before, starts, begun):
    """Where rows begin: at values whose level of repetition is 0. How many have begun by now; -1 for what is wrong."""
    at = done = 0
    while done < count:
        head, at = _head(data, at)
        many = min(head >> 1 if head & 1 == 0 else (head >> 1) * 8, count - done)
        if many <= 0 or at >= len(data) or (head & 1 and at + (many + 7) // 8 > len(data)):
            return -1
        if head & 1:
            for i in range(0, many, 8):
                zeros = ~np.int64(data[at + (i >> 3)]) & ((1 << min(many - i, 8)) - 1)
                bit = 0
                while zeros:
                    while zeros & 1 == 0:
                        zeros >>= 1
                        bit += 1
                    if begun >= len(starts):
                        return -1
                    starts[begun] = before + done + i + bit
                    begun += 1
                    zeros >>= 1
                    bit += 1
            at += head >> 1
        else:
            if data[at] == 0:
                if begun + many > len(starts):
                    return -1
                for i in range(many):
                    starts[begun + i] = before + done + i
                begun += many
            at += 1
        done += many
    return begun


@njit()
def all_defined(data, count, level):
    """Whether every value has the highest level of definition, 3 at most: none is missing, and no list is empty.

    Of a plain chunk that takes a microsecond, less than to let go of the interpreter.
    """
    width = 1 if level == 1 else 2
    at = done = 0
    while done < count:
        head, at = _head(data, at)
        many = min(head >> 1 if head & 1 == 0 else (head >> 1) * 8, count - done)
        if many <= 0 or at >= len(data) or (head & 1 and at + (many * width + 7) // 8 > len(data)):
            return False
        if head & 1:
            for i in range(many):
                bit = i * width
                if (data[at + (bit >> 3)] >> (bit & 7)) & ((1 << width) - 1) != level:
                    return False
            at += (head >> 1) * width
        else:
            if data[at] != level:
                return False
            at += 1
        done += many
    return True


@njit(nogil=True)
def read_codes(data, words, at, codes, first, count):
    """Write the codes of a page from place `first` on; the largest of them, -1 where something is wrong.

    `words[i]` is the eight bytes of the page from the i-th on. Eight codes at a time begin at a whole byte. Indices
    have no sign, so that nobody asks whether they count from the end.
    """
    if at >= len(data) or data[at] > 32:
        return np.int64(-1)
    width = np.int64(data[at])
    mask = (np.uint64(1) << np.uint64(width)) - np.uint64(1)
    at += 1
    done, largest = first, np.uint64(0)
    while done < first + count:
        head, at = _head(data, at)
        many = min(head >> 1 if head & 1 == 0 else (head >> 1) * 8, first + count - done)
        size = (many * width + 7) // 8 if head & 1 else (width + 7) // 8
        if many <= 0 or at + size > len(data) or done + many > len(codes):
            return np.int64(-1)
        if head & 1:
            eights = max(min(many >> 3, (len(words) - at) // max(width, 1) - 1), 0)
            each, begin, to = np.uint64(width), np.uint64(at), np.uint64(done)
            for _ in range(eights):
                for i in range(np.uint64(8)):
                    bit = i * each
                    code = (words[begin + (bit >> np.uint64(3))] >> (bit & np.uint64(7))) & mask
                    largest = max(largest, code)
                    codes[to + i] = np.int32(code)
                begin += each
                to += np.uint64(8)
            for i in range(8 * eights, many):
                code = np.uint64(_code(data, at * 8 + i * width, width))
                largest = max(largest, code)
                codes[done + i] = np.int32(code)
            at += (head >> 1) * width
        else:
            code = np.uint64(_code(data, at * 8, width))
            largest = max(largest, code)
            for i in range(many):
                codes[done + i] = np.int32(code)
            at += size
        done += many
    return np.int64(largest)


@njit(nogil=True)
def read_flags(data, at, spelt, flags, eights, first, count):
    """Write what the codes of a page stand for that are 0 or 1, from place `first` on; False where something is wrong.

    `flags` are filled with what 0 stands for, `eights[i]` is eight of them from the i-th on, and `spelt[b]` is what the
    eight bits of the byte b stand for.
    """
    if at >= len(data) or data[at] != 1 or first + count > len(flags):
        return False
    one, eight = np.uint64(1), np.uint64(8)
    a, size, done, end = np.uint64(at + 1), np.uint64(len(data)), np.uint64(first), np.uint64(first + count)
    while done < end:
        if a >= size:
            return False
        head = np.uint64(data[a])
        a += one
        if head > np.uint64(127):
            long, after = _head(data, np.int64(a) - 1)
            if long < 0:
                return False
            head, a = np.uint64(long), np.uint64(after)
        many = head >> one
        if many == np.uint64(0) or a >= size:
            return False
        if head & one:
            whole = min(many, (end - done) >> np.uint64(3))
            if a + min(many, whole + one) > size:
                return False
            for i in range(whole):
                eights[done + eight * i] = spelt[data[a + i]]
            done += eight * whole
            if whole < many:  # the last of the page, fewer than eight
                bits = spelt[data[a + whole]]
                for last in range(done, end):
                    flags[last] = np.int8((bits >> (eight * (last - done))) & np.uint64(255))
                done = end
            a += many
        else:
            many = min(many, end - done)
            if data[a] > 1:
                return False
            if data[a] == 1:
                flag = np.int8(spelt[1] & np.uint64(255))
                for same in range(done, done + many):
                    flags[same] = flag
            done += many
            a += one
    return True


@njit(nogil=True)
def _code(data, bit, width):
    """The number that so many bits are."""
    code = 0
    for b in range(bit, bit + width):
        code |= ((np.int64(data[b >> 3]) >> (b & 7)) & 1) << (b - bit)
    return code


@njit(nogil=True)
def cut_texts(data, ends, texts):
    """Texts, each after its length in four bytes, without the lengths; False where they do not fit."""
    at = used = 0
    ends[0] = 0
    for i in range(len(ends) - 1):
        if at + 4 > len(data):
            return False
        size = _code(data, 8 * at, 32)
        at += 4
        if size > len(data) - at:
            return False
        for b in range(size):
            texts[used + b] = data[at + b]
        at, used = at + size, used + size
        ends[i + 1] = used
    return True
