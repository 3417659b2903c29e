"""How ids and lists are spelled in text, as SQL of DuckDB: JSON, what pandas and NumPy print, and a|b."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from counterrank.compiled import njit
from counterrank.log.parts import connect, identifier, literal, text_type

_SINGLE, _DOUBLE = r"'(?:[^'\\]|\\['\"\\])*'", r'"(?:[^"\\]|\\[\'"\\])*"'
_BARE = r"[^\s,\[\](){}'\"|]+"
_TOKEN = f"(?:{_SINGLE}|{_DOUBLE}|{_BARE})"
_LIST = rf"\s*\[\s*(?:{_TOKEN}(?:\s*,\s*|\s+))*{_TOKEN}?\s*\]\s*"
_LONE = r"[^\s,;|\[\](){}'\"]+"  # a list of one item, as a|b would have it; other separators are not guessed at
_SCALAR = r"np\.\w+\(([^()]*)\)"  # how newer versions of NumPy print one of their values in a list
_ESCAPED = r"\\(['\"\\])"
_NOTHING = "('none', 'nan', 'null', '<na>', 'true', 'false', '...')"  # bare words that are no ids


def spelled_list(column: str, kind: str, careful: bool = False) -> str:
    """The SQL for a list in a text column; NULL where it is none. With `careful`, values of a JSON array that are no
    ids (objects, arrays, true and false) are NULL instead of text."""
    plain = f"from_json({column}, '[\"{kind[:-2]}\"]')"
    if careful and kind == "VARCHAR[]":
        plain = f"list_transform(from_json({column}, '[\"JSON\"]'), lambda one: {json_id('one', typed=False)})"
    return (
        f"CASE WHEN json_valid({column}) AND json_type({column}) = 'ARRAY' THEN {plain} "
        f"ELSE {_printed(column, kind)} END"
    )


def _printed(column: str, kind: str) -> str:
    """Lists that are no JSON: ['a', 'b'] and ['a' 'b'], [1 0 1], a|b, and one value alone."""
    numpy = f"regexp_replace({column}, {literal(_SCALAR)}, '\\1', 'g')"
    text = f"CASE WHEN contains({column}, 'np.') THEN {numpy} ELSE {column} END"
    tokens = f"regexp_extract_all({text}, {literal(_TOKEN)})"
    bars = f"string_split(trim({column}), '|')"
    return (
        f"CASE WHEN regexp_full_match({text}, {literal(_LIST)}) "
        f"THEN list_transform({tokens}, lambda one: {_value('one', kind, quoted=True)}) "
        f"WHEN contains({column}, '|') AND NOT starts_with(trim({column}), '[') "
        f"OR regexp_full_match(trim({column}), {literal(_LONE)}) "
        f"THEN list_transform({bars}, lambda one: {_value('trim(one)', kind, quoted=False)}) END"
    )


def _value(token: str, kind: str, quoted: bool) -> str:
    """One value of a printed list."""
    if kind != "VARCHAR[]":
        inner = f"trim({token}, '''\"')" if quoted else token
        return click_number(inner)
    if not quoted:
        return f"nullif({token}, '')"
    inside = f"substr({token}, 2, length({token}) - 2)"
    unescaped = rf"regexp_replace({inside}, {literal(_ESCAPED)}, '\1', 'g')"
    bare = f"CASE WHEN lower({token}) NOT IN {_NOTHING} THEN {token} END"
    return f"CASE WHEN {token}[1] IN ('''', '\"') THEN {unescaped} ELSE {bare} END"


def click_number(text: str) -> str:
    """A number, or true and false, in text."""
    return f"coalesce(TRY_CAST({text} AS DOUBLE), CASE lower({text}) WHEN 'true' THEN 1 WHEN 'false' THEN 0 END)"


def json_id(value: str, typed: bool = True) -> str:
    """An id that is a JSON value: text, or a whole number (`typed`: 7.0 is 7); NULL for all else."""
    text = f"CAST({value} AS VARCHAR)"
    number = f"TRY_CAST({text} AS DOUBLE)"
    number = whole_float(number) if typed else f"CASE WHEN isfinite({number}) THEN {text} END"
    digits = f"CASE WHEN regexp_full_match({text}, '-?[0-9]+') THEN {text} ELSE {number} END"
    return (
        f"CASE json_type({value}) WHEN 'VARCHAR' THEN {value}->>'$' WHEN 'UBIGINT' THEN {text} "
        f"WHEN 'BIGINT' THEN {text} WHEN 'DOUBLE' THEN {digits} END"
    )


def whole_float(number: str) -> str:
    """A float id as the text of a whole number; NULL where it is none."""
    return f"CASE WHEN {number} = trunc({number}) AND abs({number}) < 9223372036854775808 " + (
        f"THEN CAST(CAST({number} AS BIGINT) AS VARCHAR) END"
    )


def from_csv(ours: str, column: str, careful: bool = False) -> str:
    """A text column of a CSV file as the column of ours that it is."""
    kind = text_type(ours)
    if kind.endswith("[]"):
        value = spelled_list(column, kind, careful)
    elif ours == "click":
        value = click_number(f"trim({column})")
    else:
        # trimmed, because DuckDB would move a bare TRY_CAST into its CSV reader, which then stops at a bad value
        value = column if kind == "VARCHAR" else f"TRY_CAST(trim({column}) AS {kind})"
    return f"{value} AS {identifier(ours)}"


def parse_lists(texts: pa.Array, kind: str) -> pa.Array:
    """Texts that spell lists, as lists; null where one does not."""
    with connect() as connection:
        connection.register("texts", pa.table({"c": texts}))
        found = connection.sql(f"SELECT {spelled_list('c', kind, careful=True)} AS c FROM texts").to_arrow_table()  # noqa: S608
    return found.column("c").combine_chunks()


@njit(nogil=True)
def _doubtful(offsets, data, numbers):  # type: ignore[no-untyped-def]
    """Whether a text may be a JSON value other than text or a whole number."""
    for i in range(len(offsets) - 1):
        start, end = offsets[i], offsets[i + 1]
        if start == end:
            continue
        first = data[start]
        if first == 123 or first == 91:  # { [
            return True
        size = end - start
        if (first == 116 and size == 4) or (first == 102 and size == 5):  # true, false
            return True
        if (first | 32) == 110 and size == 3 and (data[start + 1] | 32) == 97:  # NaN
            return True
        if (first | 32) == 105 and (size == 3 or size == 8) and (data[start + 1] | 32) == 110:  # inf, Infinity
            return True
        if numbers and (48 <= first <= 57 or first == 45):
            for at in range(start + 1, end):
                if data[at] == 46 or (data[at] | 32) == 101 or (data[at] | 32) == 110:  # . e n
                    return True
    return False


def doubtful(texts: pa.Array, numbers: bool) -> bool:
    """Whether some text may stand for a JSON value that is no id; `numbers`: or for a float that is a whole number."""
    buffers = texts.buffers()
    if not len(texts) or buffers[2] is None:
        return False
    offsets: NDArray[np.int32] = np.frombuffer(buffers[1], dtype=np.int32)
    data = np.frombuffer(buffers[2], dtype=np.uint8)
    return bool(_doubtful(offsets[texts.offset : texts.offset + len(texts) + 1], data, numbers))
