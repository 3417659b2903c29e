"""A policy as small files: what each kind gives to be written, and takes to be read back."""

from __future__ import annotations

import io
import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from counterrank.errors import InputError
from counterrank.records import dataclass

if TYPE_CHECKING:
    from counterrank.policy.base import Policy

_PART = re.compile(r"[A-Za-z0-9_\-]{1,40}")


@dataclass(frozen=True)
class Stored:
    """A kind, its settings (small JSON values), its files by name, and the features that it scores.

    A policy made of others holds theirs too: the files of part p are named p.NAME, and `settings["parts"][p]` has the
    part's kind, settings and features. Only JSON, Parquet and plain text are ever read from it.
    """

    kind: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    files: Mapping[str, bytes] = field(default_factory=dict)
    features: Sequence[str] = ()

    @classmethod
    def of(
        cls,
        kind: str,
        *,
        settings: Mapping[str, Any] | None = None,
        tables: Mapping[str, pa.Table] | None = None,
        texts: Mapping[str, str] | None = None,
        parts: Mapping[str, Policy] | None = None,
        features: Sequence[str] = (),
    ) -> Stored:
        """From tables, texts and the policies that it is made of."""
        files = {name: as_parquet(table) for name, table in (tables or {}).items()}
        files |= {name: text.encode() for name, text in (texts or {}).items()}
        said, held = dict(settings or {}), {name: part.stored() for name, part in (parts or {}).items()}
        if parts is not None:
            said["parts"] = {
                name: {"kind": of.kind, "settings": dict(of.settings), "features": list(of.features)}
                for name, of in held.items()
            }
        for name, of in held.items():
            check_part(name)
            files |= {f"{name}.{inner}": data for inner, data in of.files.items()}
            features = list(dict.fromkeys([*features, *of.features]))
        return cls(kind, said, files, list(features))

    def policy(self) -> Policy:
        """The policy that this holds."""
        from counterrank.policy import POLICIES  # whose members make such things

        if self.kind not in POLICIES:
            raise POLICIES.unknown(self.kind)
        return POLICIES[self.kind].restored(self)

    def parts(self, *own: str) -> dict[str, Policy]:
        """The policies that it is made of; `own`: the files that belong to no part."""
        given = self.settings.get("parts")
        if not isinstance(given, dict) or not given:
            raise InputError("settings lack the policy's parts: expected a kind for each")
        left = set(self.files)
        found = {}
        for name, of in given.items():
            check_part(name)
            if not isinstance(of, dict) or not {"kind", "settings", "features"} <= set(of):
                raise InputError(f"part {name!r} lacks kind, settings or features")
            mine = {file: data for file, data in self.files.items() if file.startswith(f"{name}.")}
            left -= set(mine)
            inner = {file.removeprefix(f"{name}."): data for file, data in mine.items()}
            found[name] = Stored(
                checked_text(of["kind"], "kind"), checked_object(of["settings"]), inner, checked_names(of["features"])
            ).policy()
        if left - set(own):
            raise InputError(f"file {min(left - set(own))!r} belongs to no part of this {self.kind} policy")
        return found

    def only(self, *names: str) -> None:
        """Refuse files that this kind of policy does not have, and the lack of those it must have (without `?`)."""
        known = {name.removesuffix("?") for name in names}
        foreign = sorted(set(self.files) - known)
        if foreign:
            raise InputError(
                f"a {self.kind} policy has no file {foreign[0]!r}: it has {', '.join(sorted(known)) or 'none'}"
            )
        absent = sorted(name for name in names if not name.endswith("?") and name not in self.files)
        if absent:
            raise InputError(f"a {self.kind} policy has a file {absent[0]!r}, which is not there")

    def table(self, name: str) -> pa.Table:
        """A Parquet file."""
        try:
            table = pq.read_table(io.BytesIO(self.files[name]))
            table.validate(full=True)  # also that texts, and names of columns, are UTF-8
            return table.rename_columns(table.column_names)
        except (pa.ArrowException, OSError, ValueError, MemoryError) as error:
            raise InputError(f"{name} is not a Parquet file that can be read ({_first(error)})") from None

    def columns(self, name: str, wanted: Mapping[str, str], optional: Sequence[str] = ()) -> pa.Table:
        """A Parquet file with exactly these columns; each is an "id", a "text", a "number", a "count" or "ids"."""
        table = self.table(name)
        came = table.column_names
        needed = [column for column in wanted if column not in optional]
        if len(set(came)) < len(came) or not set(needed) <= set(came) <= set(wanted):
            raise InputError(f"{name} has columns {', '.join(came)}: expected {', '.join(wanted)}")
        for column in came:
            kind = table.schema.field(column).type
            if not _FITS[wanted[column]](kind):
                raise InputError(f"{name}: column {column!r} is {kind}: expected a column of {_SAID[wanted[column]]}")
        return table.select([column for column in wanted if column in came])

    def text(self, name: str) -> str:
        """A text file."""
        try:
            return self.files[name].decode("utf-8")
        except UnicodeDecodeError:
            raise InputError(f"{name} is not a text file") from None

    def json(self, name: str) -> dict[str, Any]:
        """A file with one JSON object."""
        return read_object(self.files[name], name)

    def number(self, name: str) -> float:
        """A setting that is a number."""
        return checked_number(self.settings.get(name), f"setting {name!r}")


def check_part(name: str) -> None:
    """Names of parts begin names of files."""
    if not _PART.fullmatch(name):
        raise InputError(f"a part is called {name[:40]!r}: use letters, digits, - and _, up to 40 of them")


def as_parquet(table: pa.Table) -> bytes:
    """A table as the bytes of a Parquet file."""
    out = io.BytesIO()
    pq.write_table(table, out)
    return out.getvalue()


def read_object(data: bytes, name: str) -> dict[str, Any]:
    """One JSON object, without infinities, NaN and names that come twice."""
    try:
        found = json.loads(data.decode("utf-8"), parse_constant=_no_constant, object_pairs_hook=_once)
    except (ValueError, RecursionError) as error:  # also of text that is not UTF-8, and of too many digits
        raise InputError(f"{name} is not JSON that can be read ({_first(error)})") from None
    if not isinstance(found, dict):
        raise InputError(f"{name} holds {type(found).__name__}, not a JSON object")
    return found


def checked_number(value: Any, what: str) -> float:
    """A finite number."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise InputError(f"{what} is {_short(value)}: expected a finite number")
    return float(value)


def checked_text(value: Any, what: str) -> str:
    if not isinstance(value, str):
        raise InputError(f"{what} is {_short(value)}: expected a text")
    return value


def checked_object(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise InputError(f"settings are {_short(value)}: expected a JSON object")
    return value


def checked_names(value: Any) -> list[str]:
    """A list of distinct names."""
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value) or len(set(value)) < len(value):
        raise InputError(f"features are {_short(value)}: expected a list of distinct names")
    return value


def checked_numbers(value: Any, what: str, size: int) -> list[float]:
    """A list of so many finite numbers."""
    if not isinstance(value, list) or len(value) != size:
        came = f"{len(value)} numbers" if isinstance(value, list) else _short(value)
        raise InputError(f"{what} is {came}: expected a list of {size}, one for each feature")
    return [checked_number(each, f"an entry of {what}") for each in value]


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is no number of JSON")


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a name comes twice")
    return found


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 40 else text[:37] + "..."


def _first(error: BaseException) -> str:
    """The first line of what a library says, short."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return lines[0][:120]


def _is_id(kind: pa.DataType) -> bool:
    return _is_text(kind) or bool(pa.types.is_integer(kind))


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_null(kind))


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_floating(kind) or pa.types.is_integer(kind) or pa.types.is_null(kind))


def _is_ids(kind: pa.DataType) -> bool:
    return bool((pa.types.is_list(kind) or pa.types.is_large_list(kind)) and _is_id(kind.value_type))


_FITS = {"id": _is_id, "text": _is_text, "number": _is_number, "count": pa.types.is_integer, "ids": _is_ids}
_SAID = {"id": "ids", "text": "texts", "number": "numbers", "count": "whole numbers", "ids": "lists of ids"}
