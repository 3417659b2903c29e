"""Hashes: keyed anew in every process to tell things apart, and without a key to draw by content.

A keyed hash only says which things are equal; no result depends on the key. Nobody who writes a log knows it, so
nobody can make two ids, or two rankings, that count as one, nor ids that all fall into one place of a table.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from counterrank.compiled import njit
from counterrank.ids import Codes

_CHARS = 256  # of four bytes: a text is hashed a kibibyte at a time
SECRET = np.frombuffer(os.urandom(8 * 4), dtype=np.uint64) | np.uint64(1)  # of codes and whole numbers
_TEXT_SECRET = np.frombuffer(os.urandom(16 * (_CHARS + 4)), dtype=np.uint64).reshape(-1, 2).copy()  # of texts


@njit(inline="always")
def mix(value):  # type: ignore[no-untyped-def]
    """The finaliser of splitmix64: every input bit reaches every output bit."""
    z = np.uint64(value) + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@njit(inline="always")
def uniform(key, number):  # type: ignore[no-untyped-def]
    """The `number`-th draw from [0, 1) of a key: the same whenever it is asked for, whoever asked for others."""
    return (mix(np.uint64(key) ^ mix(np.uint64(number))) >> np.uint64(11)) * 2.0**-53


@njit(nogil=True)
def start_key(query, secret):  # type: ignore[no-untyped-def]
    """The key of a query's empty ranking."""
    return mix(np.uint64(query) * secret[0] + secret[1])


@njit(nogil=True)
def next_key(key, code, secret):  # type: ignore[no-untyped-def]
    """The key of a ranking that has one more item."""
    return mix(key ^ (np.uint64(code) * secret[0]))


@njit()
def _keys(queries, items, lengths, secret, out):  # type: ignore[no-untyped-def]
    for g in range(len(queries)):
        key = start_key(queries[g], secret)
        for k in range(lengths[g]):
            key = next_key(key, items[g, k], secret)
        out[g] = key


def ranking_keys(queries: Codes, items: Codes, lengths: Codes) -> NDArray[np.uint64]:
    """The key of each ranking: items is (G, K) item codes, of which the first lengths[g] count.

    Two rankings share a key with a chance of about 2⁻⁶⁴. Keys differ from process to process: their order says nothing.
    """
    out = np.empty(len(queries), dtype=np.uint64)
    _keys(np.asarray(queries, np.int64), np.asarray(items, np.int64), np.asarray(lengths, np.int64), SECRET, out)
    return out


def distinct(keys: NDArray[np.uint64]) -> tuple[Codes, Codes]:
    """Where each distinct key comes first, in the order they are met, and the number of each key among these."""
    slots = np.zeros(1 << max(4, (2 * len(keys)).bit_length()), dtype=np.int64)
    first, number = np.empty(len(keys), dtype=np.int64), np.empty(len(keys), dtype=np.int64)
    return first[: _number(keys, slots, first, number, SECRET)].copy(), number


@njit(nogil=True)
def _number(keys, slots, first, number, secret):  # type: ignore[no-untyped-def]
    """How many keys are distinct; slots hold the number of a key plus one."""
    mask, size = np.uint64(len(slots) - 1), 0
    for i in range(len(keys)):
        at = mix(keys[i] * secret[0] + secret[1]) & mask
        while slots[at] != 0 and keys[first[slots[at] - 1]] != keys[i]:
            at = (at + np.uint64(1)) & mask
        if slots[at] == 0:
            first[size] = i
            size += 1
            slots[at] = size
        number[i] = slots[at] - 1
    return size


@njit(inline="always")
def _four(data, at):  # type: ignore[no-untyped-def]
    """Four bytes as one number."""
    low = np.uint64(data[at]) | (np.uint64(data[at + np.uint64(1)]) << np.uint64(8))
    high = np.uint64(data[at + np.uint64(2)]) | (np.uint64(data[at + np.uint64(3)]) << np.uint64(8))
    return low | (high << np.uint64(16))


@njit(nogil=True)
def _hash_texts(offsets, data, secret, out):  # type: ignore[no-untyped-def]
    upper = np.uint64(0xFFFFFFFF00000000)
    shift = np.uint64(32)
    for i in range(len(out)):
        at, end = np.uint64(offsets[i]), np.uint64(offsets[i + 1])
        length = end - at
        one = secret[0, 0] + length * secret[1, 0]
        two = secret[0, 1] + length * secret[1, 1]
        k = 4
        while end - at >= np.uint64(4):
            char = _four(data, at)
            one += char * secret[k, 0]
            two += char * secret[k, 1]
            at += np.uint64(4)
            k += 1
            if k == len(secret):
                low, high = one >> shift, two >> shift
                one = secret[0, 0] + length * secret[1, 0] + low * secret[2, 0] + high * secret[3, 0]
                two = secret[0, 1] + length * secret[1, 1] + low * secret[2, 1] + high * secret[3, 1]
                k = 4
        char = np.uint64(0)
        place = np.uint64(0)
        while at < end:
            char |= np.uint64(data[at]) << place
            place += np.uint64(8)
            at += np.uint64(1)
        one += char * secret[k, 0]
        two += char * secret[k, 1]
        out[i] = np.int64((one >> shift) | (two & upper))


@njit(nogil=True)
def _stable_texts(offsets, data, out):  # type: ignore[no-untyped-def]
    for i in range(len(out)):
        start = offsets[i]
        end = offsets[i + 1]
        key = np.uint64(end - start) * np.uint64(0x9E3779B97F4A7C15)
        word = np.uint64(0)
        filled = 0
        for at in range(start, end):
            word = (word << np.uint64(8)) | np.uint64(data[at])
            filled += 1
            if filled == 8:
                key = mix(key ^ word)
                word = np.uint64(0)
                filled = 0
        out[i] = np.int64(mix(key ^ word))


def text_keys(texts: pa.Array) -> NDArray[np.int64]:
    """A 64-bit key per text, of this process only.

    Each half is Σ charᵢ·secretᵢ, cut to its upper 32 bits: any two texts of up to a kibibyte share both halves with a
    chance of 2⁻⁶⁴, whoever wrote them (multilinear hashing: Lemire and Kaser 2014). So of 10⁷ texts two share a key
    with a chance of 3·10⁻⁶; they would then count as one, in that run only.
    """
    out = np.empty(len(texts), dtype=np.int64)
    if len(texts):
        _hash_texts(*_buffers(texts), _TEXT_SECRET, out)
    return out


def content_keys(texts: pa.Array) -> NDArray[np.uint64]:
    """A 64-bit hash per text that is always the same: for what is drawn by content, never to tell texts apart."""
    out = np.empty(len(texts), dtype=np.int64)
    if len(texts):
        _stable_texts(*_buffers(texts), out)
    return out.view(np.uint64)


def _buffers(texts: pa.Array) -> tuple[NDArray[Any], NDArray[np.uint8]]:
    _, offsets, data = texts.buffers()
    ends = np.frombuffer(offsets, dtype=np.int32)[texts.offset : texts.offset + len(texts) + 1]
    return ends, np.frombuffer(data, dtype=np.uint8) if data is not None else np.zeros(0, dtype=np.uint8)
