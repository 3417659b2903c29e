"""How a service is set up: flags, then the environment, then a file, then what is usual."""

from __future__ import annotations

import ipaddress
import math
import os
import re
import socket
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from counterrank.errors import InputError, unknown
from counterrank.service.secret import from_environment
from counterrank.service.small import small

POSITIONS = 100  # of the longest page
MOST_POOL = 1000  # beyond, chances of long pages are too small for a number
EVIDENCE = ("exposure", "ips")
PREFIX = "COUNTERRANK_"
_SIZE = re.compile(r"(\d+)\s*(|B|K|KB|KiB|M|MB|MiB|G|GB|GiB)", re.IGNORECASE)
_UNITS = {"": 1, "b": 1, "k": 1 << 10, "kib": 1 << 10, "kb": 1000, "m": 1 << 20, "mib": 1 << 20, "mb": 10**6}
_UNITS |= {"g": 1 << 30, "gib": 1 << 30, "gb": 10**9}


@dataclass(frozen=True, kw_only=True)
class Settings:
    """All settings of a service, checked."""

    store: str = "sqlite:///counterrank.db"
    host: str = "127.0.0.1"
    port: int = 8080
    workers: int = 1
    policy: str = "ebrank"
    policies: str | None = None
    k: int = 10
    examination: str = "log"
    evidence: str = "exposure"
    exploration: float = 20.0
    randomise: float = 0.05
    pool: int = 20
    new_share: float = 0.2
    new_below: int = 20
    retrain_every: int = 10_000
    retrain_hours: float | None = None
    tokens: str | None = None
    secret: str | None = None
    max_items: int = 1000
    max_body: str = "1MiB"
    rate: float | None = None
    keep_days: int | None = None
    crawlers: int = 1000
    queue: int = 8192
    fail_open: bool = False

    def __post_init__(self) -> None:
        for name, low, high in _WHOLE:
            _within(name, getattr(self, name), low, high)
        for name, least, most in _NUMBERS:
            _within(name, getattr(self, name), least, most)
        if self.evidence not in EVIDENCE:
            raise unknown("evidence", self.evidence, EVIDENCE)
        if self.k > len(self.curve()):
            raise InputError(f"`k` is {self.k}, but `examination` has {len(self.curve())} positions: give more of them")
        self.body_bytes()

    def curve(self) -> list[float]:
        """The chance that a position is looked at, from the first on."""
        if self.examination == "log":
            return [1 / math.log2(k + 1) for k in range(1, POSITIONS + 1)]
        if self.examination == "reciprocal":
            return [1 / k for k in range(1, POSITIONS + 1)]
        try:
            given = [float(each) for each in self.examination.split(",")]
        except ValueError:
            given = []
        if not given or not all(0 < each <= 1 for each in given):
            raise InputError(
                f"`examination` is {self.examination!r}: give log, reciprocal, or chances above 0 and up to 1, "
                "separated by commas"
            )
        return given[:POSITIONS]

    def body_bytes(self) -> int:
        """The largest body, in bytes."""
        found = _SIZE.fullmatch(self.max_body.strip())
        size = int(found[1]) * _UNITS[found[2].lower()] if found else 0
        if not 0 < size <= 1 << 32:
            raise InputError(f"`max_body` is {self.max_body!r}: give a size such as 1MiB or 200000")
        return size

    def check_host(self) -> None:
        """Without tokens only this machine may call."""
        if self.tokens is None and not _is_loopback(self.host):
            raise InputError(
                f"`host` is {self.host}, but without `tokens` everybody who reaches it would have all rights: give "
                "`tokens`, or a loopback address"
            )


_WHOLE = (
    ("port", 0, 65535), ("workers", 1, 255), ("k", 1, POSITIONS), ("pool", 1, MOST_POOL), ("new_below", 0, 10**9),
    ("retrain_every", 0, 10**12), ("max_items", 1, 10**6), ("keep_days", 1, 10**5), ("crawlers", 0, 10**9),
    ("queue", 1, 10**6),
)  # fmt: skip
_NUMBERS = (
    ("exploration", 0.0, 1e12), ("randomise", 0.0, 1.0), ("new_share", 0.0, 1.0), ("retrain_hours", 0.01, 1e5),
    ("rate", 0.01, 1e9),
)  # fmt: skip


def _within(name: str, value: Any, least: float, most: float) -> None:
    if value is not None and not least <= value <= most:
        raise InputError(f"`{name}` is {value}: expected {least:g} to {most:g}")


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        pass
    try:
        found = {str(each[4][0]) for each in socket.getaddrinfo(host, None)}
    except OSError:
        raise InputError(f"`host` is {host!r}, which has no address here: give one of this machine's") from None
    return bool(found) and all(ipaddress.ip_address(each.split("%")[0]).is_loopback for each in found)


def read_settings(
    flags: Mapping[str, Any], config: str | Path | None = None, environment: Mapping[str, str] | None = None
) -> Settings:
    """Settings from flags (None: not given), else the environment (COUNTERRANK_STORE, …), else the file.

    >>> read_settings({"k": 5}, environment={"COUNTERRANK_K": "7", "COUNTERRANK_POOL": "30"}).pool
    30
    """
    environment = os.environ if environment is None else environment
    config = config if config is not None else environment.get(f"{PREFIX}CONFIG")
    found: dict[str, Any] = {}
    for name, value in (_file(Path(config)) if config is not None else {}).items():
        found[name] = _typed(name, value, f"{config}: {name}")
    for field in fields(Settings):
        if (value := environment.get(PREFIX + field.name.upper())) is not None:
            found[field.name] = _typed(field.name, value, PREFIX + field.name.upper())
    if "secret" in found:
        found["secret"] = from_environment(environment.get(f"{PREFIX}SECRET")) or found["secret"]
    found |= {name: value for name, value in flags.items() if value is not None}
    return Settings(**found)


def _file(path: Path) -> dict[str, Any]:
    try:
        given = tomllib.loads(small(path).decode())
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error).splitlines()[0]
        raise InputError(f"{path}: no settings can be read from it ({reason}): give a TOML file") from None
    given = given.get("serve", given) if isinstance(given.get("serve", given), dict) else given
    names = [field.name for field in fields(Settings)]
    plain = {name.replace("-", "_"): value for name, value in given.items()}
    for name in plain:
        if name not in names:
            raise unknown(f"setting in {path}", name, names)
    return plain


def _typed(name: str, value: Any, place: str) -> Any:
    """A value as its setting wants it; text from the environment is read as such."""
    kind = str(next(field.type for field in fields(Settings) if field.name == name)).split(" ")[0]
    try:
        if kind == "bool":
            return _truth(value)
        if isinstance(value, bool) or not isinstance(value, str | int | float | list):
            raise ValueError
        if kind == "str":
            return ",".join(map(str, value)) if isinstance(value, list) else str(value)
        number = float(str(value))
        if kind == "int" and number != int(number):
            raise ValueError
        return int(number) if kind == "int" else number
    except (ValueError, TypeError, OverflowError):
        wanted = {"bool": "true or false", "int": "a whole number", "float": "a number", "str": "text"}[kind]
        raise InputError(f"{place} is {value!r}: expected {wanted}") from None


def _truth(value: Any) -> bool:
    words = {"true": True, "1": True, "yes": True, "on": True, "false": False, "0": False, "no": False, "off": False}
    if isinstance(value, bool):
        return value
    if str(value).lower() not in words:
        raise ValueError
    return words[str(value).lower()]
