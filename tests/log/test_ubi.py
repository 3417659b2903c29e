"""User Behavior Insights: documents by hand, bad lines, and the counts of the real file."""

import datetime
import gzip
import json
import os
from pathlib import Path

import pytest

from counterrank.errors import InputError
from counterrank.log.foreign import FORMATS
from counterrank.log.ubi import read

DATA = os.environ.get("COUNTERRANK_DATA")
needs_data = pytest.mark.skipif(not DATA, reason="COUNTERRANK_DATA is not set")
NOON = "2025-01-24T12:00:00.000Z"


def query(query_id, words, hits=None, timestamp=NOON):
    document = {"query_id": query_id, "user_query": words, "timestamp": timestamp}
    return document if hits is None else {**document, "query_response_hit_ids": hits}


def event(action, query_id, item, ordinal=None, timestamp="2025-01-24T12:00:10Z", **more):
    position = {} if ordinal is None else {"ordinal": ordinal}
    attributes = {"object": {"object_id": item, "object_id_field": "sku"}, "position": position}
    return {"action_name": action, "query_id": query_id, "timestamp": timestamp, "event_attributes": attributes, **more}


def write(folder: Path, documents: list, name: str = "ubi.ndjson", bulk: bool = False) -> Path:
    lines = []
    for document in documents:
        if bulk:
            lines.append(json.dumps({"index": {"_index": "ubi", "_id": str(len(lines))}}))
        lines.append(json.dumps(document))
    path = folder / name
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def error(path: Path) -> str:
    with pytest.raises(InputError) as caught:
        read([path])
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("bulk", [False, True])
def test_a_response_list_is_the_page(tmp_path, bulk):
    documents = [
        query("1", "red shoe", []),  # facets: the same id, no list
        query("1", "red shoe", ["a", "b", "a", "c"]),
        query("1", "red shoe", ["a", "b", "a", "c"], "2025-01-24T12:00:01Z"),  # sent again
        event("impression", "1", "a", 1),
        event("impression", "1", "z", 2),
        event("click", "1", "c", 3),
        event("click", "1", "c", 3),
        event("click", "1", "z", 2),
        event("click", "none", "a", 1),
        event("global_click", "1", "a"),
        event("add_to_cart", "1", "b"),
        query("2", "hm"),
    ]
    foreign = read([write(tmp_path, documents, bulk=bulk)])
    assert foreign.table.to_pylist() == [
        {"query": "red shoe", "items": ["a", "b", "c"], "clicks": [0, 0, 1], "day": datetime.date(2025, 1, 24)}
    ]
    assert foreign.notes == [
        "1 page from 2 query ids, 2 impressions and 4 clicks.",
        "1 query document repeating the id, words and list of another: one page.",
        "1 query id with no response list and no impression left out.",
        "1 page with a repeated item, which keeps its first place.",
        "1 impression of items on no page of their query id left out.",
        "2 unmatched clicks left out: no page of the query id shows it.",
        "1 repeated click on an item already clicked, counted once.",
    ]


def test_impressions_build_a_page_where_there_is_no_list(tmp_path):
    first = write(tmp_path, [query("1", "café"), query("2", "tea")], "queries.jsonl")
    second = write(
        tmp_path,
        [
            event("impression", "1", "c", 2),
            event("impression", "1", "a", 0),
            event("impression", "1", "b", 1),
            event("item_click", "1", "b", 1),
            event("impression", "2", "z"),  # no ordinal: last
            event("impression", "2", "y", 5),
            event("impression", "2", "w", 2, 1737763199999),  # 2025-01-24T23:59:59.999Z
            event("impression", "2", "x", 2, 1737763200001),  # the same ordinal, later
            event("impression", "3", "a", 1, user_query="own words"),
            event("impression", "4", "a", 1),  # words nowhere
        ],
        "events.jsonl",
    )
    foreign = read([first, second])
    day = datetime.date(2025, 1, 24)
    assert sorted(foreign.table.to_pylist(), key=lambda row: row["query"]) == [
        {"query": "café", "items": ["a", "b", "c"], "clicks": [0, 1, 0], "day": day},
        {"query": "own words", "items": ["a"], "clicks": [0], "day": day},
        {"query": "tea", "items": ["w", "x", "y", "z"], "clicks": [0, 0, 0, 0], "day": day},
    ]
    assert foreign.notes == [
        "3 pages from 2 query ids, 9 impressions and 1 click.",
        "1 query id with items but no user_query anywhere left out.",
        "3 pages without a response list, built from impressions by ordinal.",
        "1 page of these with gaps in the ordinals, closed up.",
        "1 page of these with one ordinal for several items, put in order of time.",
        "1 impression of these with no ordinal, put last.",
        "1 click of these came as item_click.",
    ]


def test_of_several_pages_the_latest_earlier_one_gets_the_click(tmp_path):
    documents = [
        query("1", "wall mount", ["a", "b"], "2025-01-24T12:00:00.000+0000"),
        query("1", "wallmount", ["b", "c"], "2025-01-24T12:00:20+0000"),
        query("1", "wall mounts", ["b"], "2025-01-24T14:00:40+02:00"),
        event("click", "1", "b", 1, "2025-01-24T12:00:30Z"),  # the second page
        event("click", "1", "a", 1, "2025-01-24T11:59:59Z"),  # before its page: the browser's clock
    ]
    foreign = read([write(tmp_path, documents)])
    assert [(row["query"], row["clicks"]) for row in foreign.table.to_pylist()] == [
        ("wall mount", [1, 0]),
        ("wallmount", [1, 0]),
        ("wall mounts", [0]),
    ]
    assert "1 query id with more than one page (other words or another list)." in foreign.notes
    assert "1 click earlier than the page, kept by query id: the clocks differ." in foreign.notes


def test_hostile_ids_days_in_utc_and_gzip(tmp_path):
    odd = ["00123", 'a"b', "x,y", "日本", "[1]", "null", "'; drop table pages", 7]
    plain = write(tmp_path, [query("'", 'say "hi"\t;', odd, "2025-01-24T23:30:00-0200"), event("click", "'", 7)])
    path = tmp_path / "ubi.gz"
    path.write_bytes(gzip.compress(plain.read_bytes()))
    [row] = FORMATS["ubi"]([path]).table.to_pylist()
    assert row["query"] == 'say "hi"\t;'
    assert row["items"] == [str(item) for item in odd]
    assert row["clicks"] == [0, 0, 0, 0, 0, 0, 0, 1]
    assert row["day"] == datetime.date(2025, 1, 25)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ('{"query_id": ', "one JSON object"),
        ("[1, 2]", "one JSON object"),
        ('{"label": 3}', "a UBI event"),
        ('{"query_id": "1", "user_query": "x", "timestamp": "noon"}', "a timestamp"),
        ('{"query_id": "1", "user_query": "x"}', "a timestamp"),
        ('{"action_name": "click", "query_id": "1"}', "a timestamp"),
    ],
)
def test_a_bad_line_is_named(tmp_path, line, expected):
    path = write(tmp_path, [query("1", "x", ["a"])])
    path.write_text(path.read_text() + "\n" + line + "\n")
    message = error(path)
    assert message.startswith(f"{path}, line 3: came {line!r}, expected ")
    assert expected in message


def test_files_without_a_page(tmp_path):
    assert "no page" in error(write(tmp_path, [query("1", "x")]))
    assert "empty" in error(write(tmp_path, []))
    with pytest.raises(InputError, match="does not apply"):
        read([write(tmp_path, [query("1", "x", ["a"])])], time_unit="s")


@needs_data
def test_real_file():
    foreign = read([Path(str(DATA)) / "ubi"])
    # 287 click and 11 item_click events; 81 response lists and 200 ids with impressions only.
    assert foreign.notes[0] == "281 pages from 284 query ids, 1,999 impressions and 298 clicks."
    assert "11 clicks of these came as item_click." in foreign.notes
    # 20 clicks are of query ids whose words are nowhere, 11 are item_click of ids without a page.
    assert "31 unmatched clicks left out: no page of the query id shows it." in foreign.notes
    assert sum(sum(clicks) for clicks in foreign.table["clicks"].to_pylist()) == 298 - 31 - 81
