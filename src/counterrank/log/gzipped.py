"""Gzip files that are whole: DuckDB reads a gzip without looking at its checksum."""

from __future__ import annotations

import zlib
from pathlib import Path

from counterrank.errors import InputError

_READ = 1 << 16  # bytes at a time; unpacked they may be a thousand times as many


def check_gzip(path: Path) -> None:
    """Refuse a gzip file that was cut or changed. Several members one after another are one file."""
    try:
        _unpack(path)
    except (zlib.error, EOFError) as error:
        why = "it was cut short" if isinstance(error, EOFError) else "its checksum or structure is wrong"
        raise InputError(f"{path}: the gzip file is damaged ({why}): make or fetch it anew") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror or error}): check the file") from None


def _unpack(path: Path) -> None:
    """Unpack and forget: zlib compares length and checksum at the end of each member."""
    with path.open("rb") as file:
        rest = file.read(_READ)
        while rest:
            member = zlib.decompressobj(wbits=31)
            while not member.eof:
                if not rest:
                    raise EOFError
                member.decompress(rest)
                rest = member.unused_data or file.read(_READ)
