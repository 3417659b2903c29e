"""The tables of a store, and how an older database becomes one of today: a list of steps, each run once."""

from __future__ import annotations

from collections.abc import Callable
from hashlib import blake2b

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Connection,
    Double,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    inspect,
)

from counterrank.errors import InputError

tables = MetaData()
_long = BigInteger().with_variant(Integer, "sqlite")  # there only INTEGER PRIMARY KEY is the row's own number

meta = Table(
    "meta",  # numbers of the store: its schema, the last event, how far evidence is folded
    tables,
    Column("name", Text, primary_key=True),
    Column("value", BigInteger, nullable=False),
)
impressions = Table(
    "impressions",
    tables,
    Column("sequence", _long, primary_key=True, autoincrement=False),
    Column("impression", Text, nullable=False, unique=True),
    Column("at", Double, nullable=False, index=True),
    Column("query", Text, nullable=False),
    Column("items", Text, nullable=False),  # a JSON list; null where an item's traces were erased
    Column("propensity", Double, nullable=False),
    Column("item_propensities", LargeBinary, nullable=False),  # doubles, lowest byte first
    Column("policy", Text, nullable=False),
    Column("model", Text),
    Column("cluster", Text),
    Column("user_key", Text),
    Column("explored", Boolean, nullable=False),
    Column("deferred", Boolean, nullable=False),
    Column("counted", Boolean, nullable=False),
    Column("epoch", Integer, nullable=False),
    Column("received", Text),  # the first k items as they came, a JSON list; null where the page shows just these
)
feedback = Table(
    "feedback",
    tables,
    Column("sequence", _long, primary_key=True, autoincrement=False),
    Column("event", Text, nullable=False, unique=True),
    Column("shown", BigInteger, nullable=False, index=True),  # the sequence of its impression
    Column("clicks", Text, nullable=False),  # positions as they were clicked, a JSON list
    Column("fresh", Text, nullable=False),  # those of them that count by this feedback
    Column("opens", Boolean, nullable=False),  # by it a deferred impression counts
    Column("reward", Double),
    Column("at", Double, nullable=False),
    Column("late", Boolean, nullable=False),
    Column("digest", Text, nullable=False),
)
requests = Table(
    "requests",
    tables,
    Column("request", Text, primary_key=True),
    Column("digest", Text, nullable=False),
    Column("answer", LargeBinary, nullable=False),
    Column("shown", BigInteger, nullable=False, index=True),
)
kept = Table(
    "kept",
    tables,
    Column("key", Text, primary_key=True),
    Column("epoch", Integer, nullable=False),
    Column("shown", BigInteger, nullable=False, index=True),
)


def _cells(name: str) -> Table:
    return Table(
        name,
        tables,
        Column("key", LargeBinary, primary_key=True),  # of query and item, which may be longer than an index takes
        Column("position", Integer, primary_key=True, autoincrement=False),
        Column("query", Text, nullable=False),
        Column("item", Text, nullable=False),
        Column("shown", BigInteger, nullable=False),
        Column("clicked", BigInteger, nullable=False),
        sqlite_with_rowid=False,
    )


evidence = _cells("evidence")  # the fold of all events up to meta `folded_to`
checkpoint = _cells("checkpoint")  # that part of it whose events are forgotten
items = Table(
    "items",
    tables,
    Column("key", LargeBinary, primary_key=True),
    Column("item", Text, nullable=False),
    Column("query", Text),  # null: for all queries
    Column("features", Text, nullable=False),  # a JSON object
    Column("version", BigInteger, nullable=False, index=True),
    sqlite_with_rowid=False,
)
settings = Table(
    "settings",
    tables,
    Column("epoch", Integer, primary_key=True, autoincrement=False),
    Column("name", Text, nullable=False),
    Column("exploration", Double, nullable=False),
    Column("randomise", Double, nullable=False),
    Column("at", Double, nullable=False),
)
models = Table(
    "models",
    tables,
    Column("version", Integer, primary_key=True, autoincrement=False),
    Column("at", Double, nullable=False),
    Column("notes", Text, nullable=False),
)
model_files = Table(
    "model_files",
    tables,
    Column("version", Integer, primary_key=True, autoincrement=False),
    Column("name", Text, primary_key=True),
    Column("content", LargeBinary, nullable=False),
)

imports = Table(
    "imports",  # logs that were counted before the service's own events
    tables,
    Column("digest", Text, primary_key=True),
    Column("at", Double, nullable=False),
    Column("impressions", BigInteger, nullable=False),
)

NUMBERS = (
    "sequence",  # of the last event
    "folded_to",  # the event up to which evidence is folded
    "forgotten_to",  # the last event that was folded into the checkpoint
    "generation",  # grows when evidence changes in other ways than by events
    "epoch",  # of the policy setting
    "items_version",  # of the features that were put last
    "model",  # the version that serves; 0: none
    "base_impressions",  # whose events are not there: forgotten, or imported
    "base_feedback",
)


def pair_key(query: str | None, item: str) -> bytes:
    """The key of a pair of query and item, or of an item for all queries: 16 bytes, the same everywhere."""
    length = b"-" if query is None else str(len(query)).encode()
    return blake2b(b"%b:%b%b" % (length, (query or "").encode(), item.encode()), digest_size=16).digest()


def _received(connection: Connection) -> None:
    connection.exec_driver_sql("ALTER TABLE impressions ADD COLUMN received TEXT")


STEPS: list[Callable[[Connection], None]] = [_received]  # the n-th makes version n + 1 of version n


def version_of(connection: Connection) -> int:
    """The version of a database's schema; 0 where it has no tables of ours yet."""
    if not inspect(connection).has_table("meta"):
        return 0
    found = connection.execute(meta.select().where(meta.c.name == "schema")).first()
    if found is None:
        raise InputError("there is a table meta that is not ours: give a database of its own to the store")
    return int(found.value)


def migrate(connection: Connection) -> None:
    """Make the tables, or run the steps that a database has not seen; the caller commits."""
    found, version = version_of(connection), 1 + len(STEPS)
    if found > version:
        raise InputError(f"the store has schema {found}, this program knows {version} at most: use the newer program")
    if found == 0:
        tables.create_all(connection, checkfirst=False)
        numbers = {**dict.fromkeys(NUMBERS, 0), "schema": version}
        connection.execute(meta.insert(), [{"name": name, "value": value} for name, value in numbers.items()])
        return
    for step in STEPS[found - 1 :]:
        step(connection)
    if found < version:
        connection.execute(meta.update().where(meta.c.name == "schema").values(value=version))
