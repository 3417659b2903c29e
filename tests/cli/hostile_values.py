"""Options and files that nobody hopes for."""

from __future__ import annotations

import gzip
import io
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

Rows = list[dict[str, Any]]
IDS = ["\x1b[2J\x1b]0;owned\x07", "[/x]y", "urn:key:7", "[red]x", "a\u202eb\u200b", "x\x00y", "\x9b31m\x7f", "<script>"]
NUMBERS = [
    "0", "-1", "1", "2", "0.5", "nan", "inf", "-inf", "1e308", "-1e308", "1e-320", "5e-324", "1e-300", "1e300",
    "0.9999999999999999", "9007199254740993", "9223372036854775808", "1e400", "x",
]  # fmt: skip
WHOLE = [
    "0",
    "-1",
    "1",
    "nan",
    "1e3",
    "9007199254740993",
    "9223372036854775808",
    "1" + "0" * 20,
    "-9223372036854775809",
]
TEXTS = [
    "", " ", ",", "nan", "inf", "-1", "0", "1e308", "1e400", "1,nan", "1,inf,1", "1e308,1e308,1e308", "1e50,1,1",
    "1e-320,1e-320,1e-320", "0,0,0", "1,1,-0", "auto", "best", "logging", "uniform", "propensity", "none",
    "grid", "fit", "=", "query=query", "query=zz", "query=items,items=query", "*", "/", ".", "~", "\x1b[2J", "[/x]",
    "urn:key:7", "\udcff", "x" * 5000, "http://localhost:1/x.parquet", "memory.duckdb:t", "a\nb\u2028c", "{", "%s",
    "ä" * 300,
]  # fmt: skip
PATHS = ["", ".", "/", "/dev/null/x.jsonl", "/dev/full", "no/such/folder.jsonl", "x" * 300 + ".jsonl", "\x1b[2J.jsonl",
         "x.nope", "\udcff.jsonl", "/proc/x.parquet", "/proc/x.html"]  # fmt: skip


def good_log() -> Rows:
    """Twelve impressions of two queries on three days."""
    return [
        {"query": "qp"[i % 2], "items": ["a", "b", "c"] if i % 3 else ["b", "a", "c"],
         "clicks": [i % 2, int(i % 5 == 0), int(i % 4 == 0)], "day": i // 4 + 1}
        for i in range(12)
    ]  # fmt: skip


def with_all(field: str, *values: Any) -> Rows:
    """The good log with a further column, its values in turn."""
    return [{**row, field: values[i % len(values)]} for i, row in enumerate(good_log())]


def with_ids(ids: list[str]) -> Rows:
    """The good log with other ids."""
    names = dict(zip("qpabc", ids, strict=False))
    return [
        {**row, "query": names[row["query"]], "items": [names[item] for item in row["items"]]} for row in good_log()
    ]


def odd_logs() -> dict[str, bytes]:
    """Logs by file name."""
    rows = good_log()
    first = rows[0]
    numbers = {
        "reward 1e308": with_all("reward", 1e308, -1e308),
        "reward 1e49": with_all("reward", 1e49, -1e49, 0),
        "reward 1e-320": with_all("reward", 1e-320, 0),
        "reward minus zero": with_all("reward", -0.0),
        "reward 0": with_all("reward", 0),
        "reward big whole": with_all("reward", 2**70),
        "reward not a number": with_all("reward", float("nan")),
        "reward endless": with_all("reward", float("inf")),
        "reward text": with_all("reward", "much"),
        "propensity 5e-324": with_all("propensity", 5e-324),
        "propensity 1e-320": with_all("propensity", 1e-320, 0.5),
        "propensity 1e-200": with_all("propensity", 1e-200, 1),
        "propensity 0": with_all("propensity", 0),
        "propensity 1+": with_all("propensity", 1.0000001),
        "impressions 2^53": with_all("impressions", 2**53),
        "impressions 2^52": with_all("impressions", 2**52),
        "impressions 2^63": with_all("impressions", 2**63),
        "impressions 1e300": with_all("impressions", 1e300),
        "impressions 1.5": with_all("impressions", 1.5),
        "impressions mixed": with_all("impressions", 1, 2**52),
        "day 1e300": with_all("day", 1e300),
        "day endless": with_all("day", float("inf")),
        "day text": with_all("day", "2024-02-30"),
        "day 2^62": with_all("day", 2**62, 1),
        "day -2^63": with_all("day", -(2**63)),
        "day null": with_all("day", None),
        "cluster object": with_all("cluster", {"a": [1]}),
        "item_propensities": with_all("item_propensities", [1e-320, 0.5, 1]),
        "item_propensities short": with_all("item_propensities", [0.5]),
    }
    shapes = {
        "one row": rows[:1],
        "no clicks at all": [{**row, "clicks": [0, 0, 0]} for row in rows],
        "all clicks": [{**row, "clicks": [1, 1, 1]} for row in rows],
        "one item": [{"query": "q", "items": ["a"], "clicks": [1], "day": i} for i in range(4)],
        "one ranking": [{**first, "day": i} for i in range(4)],
        "ragged": [{**row, "items": row["items"][:n], "clicks": row["clicks"][:n]}
                   for row, n in zip(rows, [1, 2, 3] * 4, strict=True)],
        "lengths": [first, {**first, "clicks": [1]}],
        "repeats": [first, {**first, "items": ["a", "a", "a"]}],
        "nulls": [dict.fromkeys(first)],
        "empty object": [{}],
        "null items": [{**first, "items": [None, "a", "b"]}],
        "empty lists": [{**first, "items": [], "clicks": []}],
        "mixed ids": [{**first, "query": 7, "items": [1, "1", 1.5]}, {**first, "query": "7"}],
        "whole floats": [{**first, "query": 7.0, "items": [1, 2.0, 3]}, {**first, "query": 7, "items": [1, 2, 3]}],
        "objects": [{**first, "query": {"a": 1}, "items": [[1], {"b": 2}, True]}],
        "booleans": [{**first, "query": True, "items": [True, False, "true"]}],
        "empty ids": [{**first, "query": "", "items": ["", "a", "b"]}],
        "huge whole ids": [{**first, "query": 2**63, "items": [2**64, -(2**63), 10**30]}],
        "huge float ids": [{**first, "query": 1e308, "items": [1e-320, -1.5, 0]}],
        "clicks 2": [{**first, "clicks": [2, -1, 0.5]}],
        "clicks text": [{**first, "clicks": ["1", "0", "x"]}],
        "clicks scalar": [{**first, "clicks": 1}],
        "items text": [{**first, "items": "abc"}],
        "hostile ids": with_ids(IDS[:5]),
        "hostile ids too": with_ids(IDS[3:]),
        "html ids": with_ids(["<img src=x onerror=alert(1)>", "&amp;", "'\"", "</script>", "{{7*7}}"]),
        "long ids": with_ids(["x" * 20_000, "y" * 300, "z" * 10_000, " ", "  "]),
        "many columns": [{**first, **{f"c{i}": i for i in range(300)}}],
        "control columns": [{"\x1b[2Jquery": 1, "it\u202eems": 2, "[/x]": 3}],
        "long form": [{"impression": i, "query": "q", "position": k + 1, "item": item, "click": 0, "day": i}
                      for i in range(3) for k, item in enumerate("ab")],
        "long form gaps": [{"impression": 1, "query": "q", "position": 10**9, "item": "a", "click": 1}],
        "long form huge": [{"impression": 1, "query": "q", "position": 1e300, "item": "a", "click": 1}],
        "long form nan": [{"impression": None, "query": "q", "position": float("nan"), "item": "a", "click": 1}],
    }  # fmt: skip
    made = {f"{name}.jsonl": lines(found) for name, found in (numbers | shapes).items()}
    good, table = lines(rows), parquet(rows)
    cells = "query,items,clicks\n" + 'q,"[""a"",""b""]","[1,0]"\n'
    return made | files(good, table) | {
        "ragged.csv": (cells + "q\n").encode(),
        "wide.csv": (cells + 'q,"[""a""]",[1],3,4\n').encode(),
        "quote.csv": (cells + 'q,"[""a""],[1]\n').encode(),
        "no list.csv": (cells + "q,a b,1 0\n").encode(),
        "deep list.csv": (cells + f"q,{'[' * 500}1{']' * 500},[1]\n").encode(),
        "numbers.csv": b"query,items,clicks,reward\nq,\"[1]\",[1],1e308\nq,\"[1]\",[0],1e999\n",
        "twice.csv": b"query,query,items,clicks\nq,q,[1],[1]\n",
        "control.csv": b"qu\x1b[2Jery,[/x],urn:key:7\n1,2,3\n",
        "surrogate.jsonl": b'{"query":"\\ud800","items":["\\udfff","a"],"clicks":[1,0]}\n' * 2,
        "nul.jsonl": b'{"query":"a\\u0000b","items":["\\u0000","a"],"clicks":[1,0]}\n' * 2,
        "nul.csv": b'query,items,clicks\na\x00b,"[""a""]",[1]\n',
        "rewards.jsonl.gz": gzip.compress(lines(numbers["reward 1e49"])),
    }  # fmt: skip


def odd_policies() -> dict[str, bytes]:
    """Policies, candidates and features by file name."""
    both = [{"query": query, "items": ["b", "a", "c"]} for query in "qp"]
    pairs = [{"query": query, "item": item} for query in "qp" for item in "abc"]
    rows: dict[str, Rows] = {
        "unknown queries": [{"query": "zz", "items": ["a"]}],
        "sum 0.97": [{**row, "probability": 0.97} for row in both],
        "negative": [{**row, "probability": -1} for row in both],
        "probability nan": [{**row, "probability": float("nan")} for row in both],
        "probability 1e-320": [
            {**row, "items": items, "probability": p}
            for row in both
            for items, p in ((["a", "b", "c"], 1), (["c", "b", "a"], 1e-320))
        ],
        "probability 1e308": [{**row, "probability": 1e308} for row in both],
        "twice": both + both,
        "empty list": [{**row, "items": []} for row in both],
        "repeats": [{**row, "items": ["a", "a"]} for row in both],
        "other items": [{**row, "items": ["x", "y", "z"]} for row in both],
        "one item": [{**row, "items": ["a"]} for row in both],
        "items text": [{**row, "items": "abc"} for row in both],
        "items objects": [{**row, "items": [{"a": 1}, [2], None]} for row in both],
        "null": [{"query": None, "items": None}],
        "hostile ids": [{**row, "items": IDS[:5]} for row in both],
        "hostile queries": [{"query": name, "items": ["a"]} for name in IDS],
        "hostile columns": [{"\x1b[2J": 1, "[/x]": 2, "urn:key:7": 3}],
        "pairs": pairs,
        "pairs twice": pairs + pairs,
        "pairs of objects": [{"query": {"a": 1}, "item": [1]}],
        **{
            f"{column} {name}": [{**row, column: values[i % len(values)]} for i, row in enumerate(pairs)]
            for column in ("score", "price")
            for name, values in {
                "1e308": [1e308, -1e308], "inf": [float("inf"), 0], "nan": [float("nan")], "text": ["x", 1],
                "tiny": [1e-320, 5e-324, 0], "same": [1], "1e50": [1e50, -1e50, 0], "null": [None, 1], "list": [[1]],
            }.items()
        },
    }  # fmt: skip
    made = {f"{name}.jsonl": lines(found) for name, found in rows.items()}
    return made | files(lines(both), parquet(both)) | {
        "letor.txt": b"1 qid:q 1:1e308 2:nan # a\n0 qid:p 1:inf\n",
        "letor junk.txt": b"\x00\x1b[2J not letor\n",
        "letor wide.txt": b"1 qid:q 999999999999:1 # a\n",
        "letor negative.txt": b"1 qid:q -1:1 0:5 # a\n",
    }  # fmt: skip


def files(good: bytes, table: bytes) -> dict[str, bytes]:
    """Contents that are wrong as files, whatever they should hold."""
    return {
        "empty.jsonl": b"",
        "empty.csv": b"",
        "empty.parquet": b"",
        "blank.jsonl": b"\n\n \n",
        "junk.jsonl": bytes(range(256)) * 20,
        "junk.csv": bytes(range(255, -1, -1)) * 20,
        "junk.parquet": b"PAR1" + bytes(range(256)) * 4 + b"PAR1",
        "cut.parquet": table[: len(table) // 2],
        "footer.parquet": table[:-12] + b"\xff\xff\xff\x7f" + table[-8:],
        "spoilt.parquet": table[:40] + b"\xff" * 60 + table[100:],
        "cut.jsonl.gz": gzip.compress(good * 50)[:-20],
        "plain.jsonl.gz": good,
        "zipped.jsonl": gzip.compress(good),
        "lines.csv": good,
        "lines.parquet": good,
        "table.jsonl": table,
        "nope.xlsx": good,
        "no ending": good,
        "fake.duckdb": good,
        "cut.jsonl": good[:-9],
        "array.jsonl": b"[1, 2, 3]\n",
        "scalar.jsonl": b"17\n",
        "deep.jsonl": b'{"query":' + b"[" * 3000 + b"]" * 3000 + b"}\n",
        "two objects.jsonl": b'{"query":1}{"query":2}\n',
        "bare nan.jsonl": b'{"query":NaN,"items":[Infinity],"clicks":[-Infinity]}\n',
        "huge number.jsonl": b'{"query":' + b"9" * 400 + b',"items":[1e999],"clicks":[1]}\n',
        "utf16.csv": good.decode().encode("utf-16"),
        "latin.jsonl": b'{"query":"\xe9","items":["a"],"clicks":[1]}\n',
    }


def lines(rows: Rows) -> bytes:
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def parquet(rows: Rows) -> bytes:
    kept = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(rows), kept)
    return kept.getvalue()


def write_all(folder: Path, contents: dict[str, bytes]) -> list[Path]:
    """Write files, and a folder and a link to nothing beside them."""
    folder.mkdir()
    for name, content in contents.items():
        (folder / name).write_bytes(content)
    (folder / "folder.jsonl").mkdir()
    (folder / "nowhere.jsonl").symlink_to(folder / "not there")
    return sorted(folder.iterdir())
