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


@njit(nogil=True)
def all_defined(data, count, level):
    """Whether every value has the highest level of definition, 3 at most: none is missing, and no list is empty."""
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
def look_up(data, words, at, known, values, first, count):
    """Write the known values that the codes of a page stand for; False where something is wrong with the codes.

    `words` are the bytes eight at a time.
    """
    if at >= len(data) or data[at] > 32:
        return False
    width, last = np.int64(data[at]), len(values)
    mask = (np.uint64(1) << np.uint64(width)) - np.uint64(1)
    at += 1
    done = first
    while done < first + count:
        head, at = _head(data, at)
        many = min(head >> 1 if head & 1 == 0 else (head >> 1) * 8, first + count - done)
        size = (many * width + 7) // 8 if head & 1 else (width + 7) // 8
        if many <= 0 or at + size > len(data) or done + many > last:
            return False
        bit = at * 8
        if head & 1:
            quick = min(many, (len(words) * 64 - 64 - bit) // max(width, 1))
            for i in range(quick):
                word, shift = bit >> 6, np.uint64(bit & 63)
                code = ((words[word] >> shift) | ((words[word + 1] << np.uint64(1)) << (np.uint64(63) - shift))) & mask
                bit += width
                if code >= np.uint64(len(known)):
                    return False
                values[done + i] = known[np.int64(code)]
            for i in range(max(quick, 0), many):
                code = _code(data, bit, width)
                bit += width
                if code >= len(known):
                    return False
                values[done + i] = known[code]
            at += (head >> 1) * width
        else:
            code = _code(data, bit, width)
            if code >= len(known):
                return False
            for i in range(many):
                values[done + i] = known[code]
            at += size
        done += many
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
