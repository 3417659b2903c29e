"""Who may call: bearer tokens with rights, compared in constant time, and how often each may call."""

from __future__ import annotations

import hashlib
import hmac
import json
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from counterrank.errors import InputError
from counterrank.service.bodies import Refused
from counterrank.service.small import small

RIGHTS = ("rank", "feedback", "admin")
ALL = frozenset(RIGHTS)


@dataclass(frozen=True)
class Caller:
    """Whose request it is: a number for its rate, and its rights."""

    number: int
    rights: frozenset[str]

    def need(self, right: str | None) -> None:
        if right is not None and right not in self.rights:
            raise Refused(403, "forbidden", f"this token lacks the right {right!r}")


ANYBODY = Caller(0, ALL)


class Tokens:
    """The tokens of a service, as digests. Without any, every caller has all rights.

    >>> tokens = Tokens({"a-token-of-some-length": {"rank"}})
    >>> sorted(tokens.caller(b"Bearer a-token-of-some-length").rights)
    ['rank']
    """

    def __init__(self, given: dict[str, set[str]] | None = None) -> None:
        self.known = [
            (_digest(token.encode()), Caller(number, frozenset(rights)))
            for number, (token, rights) in enumerate((given or {}).items())
        ]
        self.open = given is None

    def caller(self, header: bytes | None) -> Caller:
        """Who calls, by the header `Authorization`. Every token is compared, whichever matches."""
        if self.open:
            return ANYBODY
        kind, _, token = (header or b"").partition(b" ")
        found = None
        if kind.lower() == b"bearer" and token:
            came = _digest(token.strip())
            for digest, caller in self.known:
                if hmac.compare_digest(digest, came):
                    found = caller
        if found is None:
            raise Refused(401, "unauthorized", "a token is needed: send Authorization: Bearer TOKEN")
        return found


def _digest(token: bytes) -> bytes:
    return hashlib.sha256(token).digest()


def read_tokens(path: str | None) -> Tokens:
    """Tokens of a file: lines `TOKEN right,right`, or in .toml and .json a table of token and list of rights."""
    if path is None:
        return Tokens()
    try:
        text = small(Path(path)).decode()
        given: Any = _lines(text)
        if path.endswith(".toml"):
            given = tomllib.loads(text)
        elif path.endswith(".json"):
            given = json.loads(text)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "it is not well-formed"
        raise InputError(f"{path}: no tokens can be read from it ({reason})") from None
    if isinstance(given, dict) and isinstance(given.get("tokens"), dict):
        given = given["tokens"]
    if not isinstance(given, dict) or not given:
        raise InputError(f"{path} has no tokens: give lines such as TOKEN rank,feedback")
    return Tokens({token: _rights(path, token, rights) for token, rights in given.items()})


def _lines(text: str) -> dict[str, list[str]]:
    words = [line.split(maxsplit=1) for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    return {each[0]: each[1].replace(",", " ").split() if len(each) > 1 else [] for each in words}


def _rights(path: str, token: str, rights: Any) -> set[str]:
    listed = rights.replace(",", " ").split() if isinstance(rights, str) else rights
    if not isinstance(listed, list) or not listed or not set(listed) <= ALL:
        raise InputError(f"{path}: a token has rights {rights!r}: give some of {', '.join(RIGHTS)}")
    return set(listed)
