"""OpenSearch User Behavior Insights: queries and events, as bulk ndjson or as JSON Lines, in one file or several.

Documents are told apart by their fields: an event has `action_name`, a query has `query_id` and `user_query` and has
not; the action lines of a bulk file are passed over. Our `query` is `user_query` as it stands: the same words under
two query ids are the same query.

**What a page is.** One search has one `query_id`, but the id of one search is written several times (facets, retries,
words corrected while typing), and mostly without its results. So:
- Each query document with `query_response_hit_ids` is a page with these items; the same id, words and list again is
  the same page sent again. Different words or another list under one id are pages of their own.
- An id without any such list gets its page from its `impression` events, one per words: items by `ordinal`, then by
  time, then by line. The first ordinal may be 0 or 1 (0 if the page has a 0). Gaps close up: an item keeps its order,
  not its place. An impression with no ordinal comes last.
- An id with neither has no page, and nor has one whose words are nowhere.

**Clicks** are the events `click` and `item_click` (`global_click` names a spot on the screen, not an item; carts and
purchases are no clicks). A click goes to the latest page of its query id that shows its object and is not later than
the click, or else to the first that shows it: pages are timed by the server and clicks by the browser, whose clocks
differ. A repeated click counts once. `day` is the page's date in UTC. All repairs are counted in the notes.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from counterrank.errors import InputError
from counterrank.late import Late
from counterrank.log.foreign import Foreign, Lines, files_of, lines_of, no_time_unit
from counterrank.log.parts import connect_apart
from counterrank.words import counted

if TYPE_CHECKING:
    import duckdb
else:
    duckdb = Late("duckdb")

SCHEMA = pa.schema(
    {"query": pa.string(), "items": pa.list_(pa.string()), "clicks": pa.list_(pa.int8()), "day": pa.date32()}
)
EXPECTED = "a UBI event (with action_name), a UBI query (with query_id and user_query) or a bulk action line"

# Field by field, so that one odd document does not change how the others are read.
DOCUMENTS = """
CREATE TABLE documents AS
WITH parsed AS (
    SELECT line, text, coalesce(json_type(CASE WHEN json_valid(text) THEN text END), '') = 'OBJECT' AS fine FROM lines
), fields AS (
    SELECT line, fine, CASE WHEN fine THEN json_keys(text) END AS keys,
        json_extract_string(CASE WHEN fine THEN text END, [
         '$.action_name', '$.query_id', '$.user_query', '$.timestamp', '$.query_response_hit_ids',
         '$.event_attributes.object.object_id', '$.event_attributes.position.ordinal']) AS f
    FROM parsed
), named AS (
    SELECT line, fine, len(keys) = 1 AND keys[1] IN ('index', 'create', 'update', 'delete') AS bulk,
        f[1] AS action, nullif(f[2], '') AS query_id, f[3] AS words, f[4] AS stamp,
        CASE WHEN f[5] LIKE '[%' AND json_valid(f[5]) THEN from_json(f[5], '["VARCHAR"]') END AS hits,
        nullif(f[6], '') AS item, try_cast(f[7] AS DOUBLE) AS ordinal
    FROM fields
)
SELECT line, fine, coalesce(bulk, false) AS bulk, action, query_id, words, stamp, item, ordinal,
    [x FOR x IN hits IF x IS NOT NULL AND x <> ''] AS hits,
    CASE WHEN regexp_full_match(stamp, '[0-9]{1,15}') THEN try_cast(stamp AS BIGINT)
         ELSE epoch_ms(try_cast(stamp AS TIMESTAMPTZ)) END AS ms
FROM named
"""

PAGES = """
CREATE TABLE queries AS SELECT * FROM documents WHERE NOT bulk AND action IS NULL;
CREATE TABLE impressions AS SELECT * FROM documents WHERE action = 'impression';
CREATE TABLE clicks AS SELECT * FROM documents WHERE action IN ('click', 'item_click');

CREATE TABLE listed AS
SELECT query_id, words, hits, min(ms) AS ms, min(line) AS line, count(*) AS copies
FROM queries WHERE len(hits) > 0 AND words IS NOT NULL GROUP BY query_id, words, hits;

CREATE TABLE placed AS
SELECT i.query_id, coalesce(i.words, q.words) AS words, i.item, i.ordinal, i.ms, i.line
FROM impressions i
LEFT JOIN (SELECT query_id, arg_max(words, (ms, line)) AS words FROM queries GROUP BY query_id) q USING (query_id)
WHERE i.item IS NOT NULL AND i.query_id IS NOT NULL AND coalesce(i.words, q.words) IS NOT NULL
  AND i.query_id NOT IN (SELECT query_id FROM listed);

CREATE TABLE seen AS
SELECT query_id, words, min(ms) AS ms, min(line) AS line,
    list(item ORDER BY ordinal NULLS LAST, ms, line) AS hits,
    max(ordinal) - (CASE WHEN min(ordinal) = 0 THEN 0 ELSE 1 END) + 1 > count(DISTINCT item) AS gaps,
    count(ordinal) > count(DISTINCT ordinal) AND count(DISTINCT item) > count(DISTINCT ordinal) AS ties,
    count(*) FILTER (ordinal IS NULL) AS unplaced
FROM placed GROUP BY query_id, words;

CREATE TABLE pages AS
SELECT row_number() OVER (ORDER BY ms, line) AS page, * FROM (
    SELECT query_id, words, hits, ms, line FROM listed
    UNION ALL SELECT query_id, words, hits, ms, line FROM seen);

CREATE TABLE shown AS
SELECT page, query_id, ms, item, min(place) AS place
FROM (SELECT page, query_id, ms, unnest(hits) AS item, generate_subscripts(hits, 1) AS place FROM pages)
GROUP BY page, query_id, ms, item;

CREATE TABLE matched AS
SELECT c.line, s.page, s.item, s.ms > c.ms AS early
FROM clicks c JOIN shown s ON c.query_id = s.query_id AND c.item = s.item
QUALIFY row_number() OVER (PARTITION BY c.line ORDER BY s.ms > c.ms, abs(c.ms - s.ms), s.page DESC) = 1;
"""

TABLE = """
SELECT any_value(p.words) AS query, list(s.item ORDER BY s.place) AS items,
    list(CASE WHEN m.item IS NULL THEN 0 ELSE 1 END::TINYINT ORDER BY s.place) AS clicks,
    CAST(make_timestamp(any_value(p.ms) * 1000) AS DATE) AS day
FROM pages p JOIN shown s USING (page)
LEFT JOIN (SELECT DISTINCT page, item FROM matched) m ON m.page = s.page AND m.item = s.item
GROUP BY p.page ORDER BY p.page
"""

COUNTS = """
SELECT (SELECT count(*) FROM pages) AS pages, (SELECT count(DISTINCT query_id) FROM queries) AS ids,
    (SELECT count(*) FROM impressions) AS impressions, (SELECT count(*) FROM clicks) AS clicks,
    (SELECT count(*) FROM clicks WHERE action = 'item_click') AS item_clicks,
    (SELECT count(*) FROM seen) AS seen, (SELECT count(*) FROM seen WHERE gaps) AS gaps,
    (SELECT count(*) FROM seen WHERE ties) AS ties, (SELECT sum(unplaced) FROM seen) AS unplaced,
    (SELECT sum(copies - 1) FROM listed) AS copies,
    (SELECT count(*) FROM (SELECT query_id FROM queries EXCEPT (SELECT query_id FROM queries WHERE len(hits) > 0
        UNION ALL SELECT query_id FROM impressions WHERE item IS NOT NULL))) AS bare,
    (SELECT count(*) FROM ((SELECT query_id FROM queries WHERE len(hits) > 0 UNION SELECT query_id FROM impressions
        WHERE item IS NOT NULL AND query_id IS NOT NULL) EXCEPT SELECT query_id FROM pages)) AS wordless,
    (SELECT count(*) FROM (SELECT query_id FROM pages GROUP BY query_id HAVING count(*) > 1)) AS several,
    (SELECT count(*) FROM (SELECT page, len(any_value(hits)) - count(item) AS n FROM pages JOIN shown USING (page)
        GROUP BY page) WHERE n > 0) AS repeats,
    (SELECT count(*) FROM impressions i WHERE (i.query_id IS NULL OR i.item IS NULL
        OR i.query_id IN (SELECT query_id FROM pages))
        AND NOT EXISTS (SELECT 1 FROM shown s WHERE s.query_id = i.query_id AND s.item = i.item)) AS elsewhere,
    (SELECT count(*) FROM clicks) - (SELECT count(*) FROM matched) AS unmatched,
    (SELECT count(*) FROM matched WHERE early) AS early,
    (SELECT count(*) FROM matched) - (SELECT count(*) FROM (SELECT DISTINCT page, item FROM matched)) AS again
"""


def read(paths: Sequence[Path], *, time_unit: str | None = None) -> Foreign:
    """Read UBI queries and events: a page per search, with the clicks of its query id."""
    no_time_unit(time_unit, "UBI times are ISO text or milliseconds since 1970")
    lines = lines_of(files_of(paths))
    with connect_apart() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        numbered = pa.table({"line": pa.array(range(len(lines.texts)), pa.int64()), "text": lines.texts})
        connection.register("lines", numbered)
        connection.execute(DOCUMENTS)
        _check(connection, lines)
        for statement in PAGES.split(";"):
            if statement.strip():
                connection.execute(statement)
        cursor = connection.execute(COUNTS)
        row = cursor.fetchall()[0]
        names = [column[0] for column in cursor.description or []]
        table = connection.sql(TABLE).to_arrow_table()
    found = {name: int(value or 0) for name, value in zip(names, row, strict=True)}
    if not table.num_rows:
        wanted = "queries with query_response_hit_ids, or impression events with object_id, and their user_query"
        raise InputError(f"{lines.paths[0]}: no page in it, expected {wanted}")
    return Foreign(table.cast(SCHEMA), _notes(found))


def _check(connection: duckdb.DuckDBPyConnection, lines: Lines) -> None:
    """Stop at the first line that is no UBI document, or that is needed and has no time."""
    rules = {
        "fine": f"one JSON object: {EXPECTED}",
        "bulk OR action IS NOT NULL OR query_id IS NOT NULL": EXPECTED,
        "ms IS NOT NULL OR bulk OR coalesce(action, 'click') NOT IN ('impression', 'click', 'item_click')": (
            "a timestamp, as ISO text or as milliseconds since 1970"
        ),
    }
    for rule, expected in rules.items():
        good = connection.execute(f"SELECT coalesce({rule}, false) FROM documents ORDER BY line").fetchnumpy()  # noqa: S608
        lines.check(next(iter(good.values())), expected)


def _notes(n: dict[str, int]) -> list[str]:
    said = {
        "copies": f"{counted(n['copies'], 'query document')} repeating the id, words and list of another: one page.",
        "several": f"{counted(n['several'], 'query id')} with more than one page (other words or another list).",
        "bare": f"{counted(n['bare'], 'query id')} with no response list and no impression left out.",
        "wordless": f"{counted(n['wordless'], 'query id')} with items but no user_query anywhere left out.",
        "seen": f"{counted(n['seen'], 'page')} without a response list, built from impressions by ordinal.",
        "gaps": f"{counted(n['gaps'], 'page')} of these with gaps in the ordinals, closed up.",
        "ties": f"{counted(n['ties'], 'page')} of these with one ordinal for several items, put in order of time.",
        "unplaced": f"{counted(n['unplaced'], 'impression')} of these with no ordinal, put last.",
        "repeats": f"{counted(n['repeats'], 'page')} with a repeated item, which keeps its first place.",
        "elsewhere": f"{counted(n['elsewhere'], 'impression')} of items on no page of their query id left out.",
        "item_clicks": f"{counted(n['item_clicks'], 'click')} of these came as item_click.",
        "unmatched": f"{counted(n['unmatched'], 'unmatched click')} left out: no page of the query id shows it.",
        "early": f"{counted(n['early'], 'click')} earlier than the page, kept by query id: the clocks differ.",
        "again": f"{counted(n['again'], 'repeated click')} on an item already clicked, counted once.",
    }
    total = f"{counted(n['pages'], 'page')} from {counted(n['ids'], 'query id')}"
    events = f"{counted(n['impressions'], 'impression')} and {counted(n['clicks'], 'click')}"
    return [f"{total}, {events}.", *(text for key, text in said.items() if n[key])]
