"""How a worker and the process that writes for it speak: operations one way, outcomes the other, in the same order."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence

import msgspec
from msgspec import Struct

from counterrank.service.batch import Outcome
from counterrank.service.events import (
    Away,
    Change,
    Conflict,
    Given,
    NotOnPage,
    Outdated,
    Page,
    PolicySetting,
    Receipt,
    Replay,
    Shown,
    Superseded,
    UnknownImpression,
    Unstorable,
    change_of,
)

_LENGTH = struct.Struct("<I")
_PLAIN: dict[str, type[Exception]] = {
    each.__name__: each for each in (Conflict, UnknownImpression, NotOnPage, Unstorable, Away)
}


class Put(Struct, array_like=True, tag=0, gc=False):
    """An impression is written."""

    sequence: int


class Got(Struct, array_like=True, tag=1, gc=False):
    """A feedback is written, or was before."""

    receipt: Receipt
    change: Change | None


class Failed(Struct, array_like=True, tag=2, gc=False):
    """It is not written, and why."""

    kind: str
    text: str = ""
    answer: bytes = b""
    page: Page | None = None
    setting: PolicySetting | None = None


class Reply(Struct, array_like=True):
    """Outcomes of one transaction, the ranges of sequences it took, and how many it claimed by now."""

    outcomes: list[Put | Got | Failed]
    ranges: list[tuple[int, int]]
    claimed: int


_encode = msgspec.msgpack.Encoder().encode
_operations = msgspec.msgpack.Decoder(list[Shown | Given])
_reply = msgspec.msgpack.Decoder(Reply)


def asked(operations: Sequence[Shown | Given]) -> bytes:
    """Operations as a message."""
    content = _encode(operations)
    return _LENGTH.pack(len(content)) + content


def operations_of(content: bytes) -> list[Shown | Given]:
    """What `asked` made, without its length."""
    return _operations.decode(content)


def answered(outcomes: Sequence[Outcome], ranges: list[tuple[int, int]], claimed: int) -> bytes:
    """What became of operations, as a message."""
    content = _encode(Reply([_told(each) for each in outcomes], ranges, claimed))
    return _LENGTH.pack(len(content)) + content


def reply_of(content: bytes) -> Reply:
    """What `answered` made, without its length."""
    return _reply.decode(content)


def outcome_of(operation: Shown | Given, told: Put | Got | Failed) -> Outcome:
    """An outcome as the writer had it."""
    if type(told) is Put:
        assert type(operation) is Shown  # noqa: S101
        return Outcome(told.sequence, None, change_of(operation, told.sequence))
    if type(told) is Got:
        return Outcome(told.receipt, None, told.change)
    assert type(told) is Failed  # noqa: S101
    return Outcome(error=_error(told))


def _told(outcome: Outcome) -> Put | Got | Failed:
    error = outcome.error
    if error is None:
        result = outcome.result
        return Put(result) if type(result) is int else Got(result, outcome.change)
    if isinstance(error, Replay):
        return Failed("Replay", answer=error.answer)
    if isinstance(error, Superseded):
        return Failed("Superseded", page=error.page)
    if isinstance(error, Outdated):
        return Failed("Outdated", setting=error.setting)
    return Failed(type(error).__name__, str(error))


def _error(told: Failed) -> Exception:
    if told.kind == "Replay":
        return Replay(told.answer)
    if told.page is not None:
        return Superseded(told.page)
    if told.setting is not None:
        return Outdated(told.setting)
    return _PLAIN.get(told.kind, Away)(told.text)


class Messages:
    """Bytes as they come, cut into messages."""

    def __init__(self) -> None:
        self._left = bytearray()

    def take(self, some: bytes) -> Iterator[bytes]:
        """The messages that are whole by now."""
        left = self._left
        left += some
        begin = 0
        while len(left) - begin >= 4:
            end = begin + 4 + _LENGTH.unpack_from(left, begin)[0]
            if end > len(left):
                break
            yield bytes(left[begin + 4 : end])
            begin = end
        del left[:begin]
