"""The secret of a service: with it, users become keys that say nothing of them, and coins can be tossed again."""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import os
import secrets
from pathlib import Path

from counterrank.errors import InputError
from counterrank.service.small import small

LEAST = 16  # bytes of a file
ITSELF = "secret:"  # what follows is the secret: COUNTERRANK_SECRET names a file, or is it


def secret_path(store: str, sqlite: str | None) -> Path:
    """Where a secret is made: beside an SQLite file; for other stores in the user's own folder of states."""
    if sqlite is not None:
        return Path(f"{sqlite}-secret")
    states = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state") / "counterrank"
    return states / f"{hashlib.sha256(store.encode()).hexdigest()[:16]}-secret"


def from_environment(value: str | None) -> str | None:
    """COUNTERRANK_SECRET as a setting: the name of a file that is there, or the secret itself."""
    return value if value is None or os.path.isfile(value) else ITSELF + value


def read_secret(path: str | None, beside: Path) -> bytes:
    """The secret of a file, or as COUNTERRANK_SECRET has it, or made once beside the store."""
    if path is not None:
        return path.removeprefix(ITSELF).encode() if path.startswith(ITSELF) else _read(Path(path))
    if not beside.exists():
        _make(beside)
    return _read(beside)


def _make(path: Path) -> None:
    """Written whole and then given its name: of several services that begin at once, one wins."""
    new = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "w") as file:
            file.write(secrets.token_hex(32) + "\n")
            file.flush()
            os.fsync(file.fileno())
        with contextlib.suppress(FileExistsError):
            os.link(new, path)
        os.unlink(new)
    except OSError as error:
        raise InputError(f"{path}: no secret can be written ({error.strerror}): give `secret`") from None


def _read(path: Path) -> bytes:
    try:
        content = small(path).strip()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"{path}: no secret can be read ({reason}): give `secret` a file") from None
    if len(content) < LEAST:
        raise InputError(f"{path}: the secret has {len(content)} bytes: give at least {LEAST}")
    return content


def keyed(secret: bytes, *parts: str) -> bytes:
    """HMAC of parts, none of which can pass for two."""
    return hmac.digest(secret, b"".join(b"%d:%b" % (len(p), p) for p in (each.encode() for each in parts)), "sha256")
