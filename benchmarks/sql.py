"""What one would write by hand: item-position and position-based values in DuckDB SQL, without intervals.

Logging chances are shares in the log, examination is 1/position, and the log is cut to the target's queries, as
`counterrank evaluate` does by default. One scan of the log; all else is small.
"""

from __future__ import annotations

from pathlib import Path

import duckdb

VALUES = """
WITH counts AS MATERIALIZED (
    SELECT query, item, position, count(*) AS shown, sum(click) AS clicked
    FROM (
        SELECT query, unnest(items) AS item, unnest(clicks) AS click, unnest(range(1, len(items) + 1)) AS position
        FROM read_parquet($log)
        WHERE query IN (SELECT query FROM read_parquet($target))
    )
    GROUP BY ALL
),
target AS MATERIALIZED (
    SELECT query, item, position, count(*) AS chance
    FROM (
        SELECT query, unnest(items) AS item, unnest(range(1, len(items) + 1)) AS position
        FROM read_parquet($target)
    )
    GROUP BY ALL
),
impressions AS MATERIALIZED (
    SELECT query, sum(shown) AS n FROM counts WHERE position = 1 GROUP BY query
),
item_position AS (
    SELECT sum(clicked * chance / (shown / n)) AS credit
    FROM counts JOIN target USING (query, item, position) JOIN impressions USING (query)
),
logged AS (
    SELECT query, item, sum(clicked) AS clicked, sum(shown / position) AS looks FROM counts GROUP BY ALL
),
wanted AS (
    SELECT query, item, sum(chance / position) AS looks FROM target GROUP BY ALL
),
position_based AS (
    SELECT sum(clicked * wanted.looks / (logged.looks / n)) AS credit
    FROM logged JOIN wanted USING (query, item) JOIN impressions USING (query)
)
SELECT item_position.credit / total.n, position_based.credit / total.n
FROM item_position, position_based, (SELECT sum(n) AS n FROM impressions) AS total
"""

# every value of the three columns is decoded and looked at once, nothing more
READ = """
SELECT bit_xor(hash(query)), bit_xor(hash(items)), bit_xor(hash(clicks))
FROM (SELECT query, items, clicks FROM read_parquet($log))
"""


def connect(threads: int = 2) -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    connection.execute(f"SET threads = {int(threads)}")
    connection.execute("SET enable_progress_bar = false")
    return connection


def values(log: Path | str, target: Path | str, threads: int = 2) -> dict[str, float]:
    """`ip` and `pbm` of a target table with one ranking per query."""
    with connect(threads) as connection:
        row = connection.execute(VALUES, {"log": str(log), "target": str(target)}).fetchone()
    assert row is not None
    return {"ip": float(row[0]), "pbm": float(row[1])}


def read(log: Path | str, threads: int = 2) -> None:
    with connect(threads) as connection:
        connection.execute(READ, {"log": str(log)}).fetchall()
