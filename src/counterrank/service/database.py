"""One database, SQLite or PostgreSQL: connections, the lock of writers, snapshots for readers, and when it is away."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DataError, DBAPIError, IntegrityError, PendingRollbackError
from sqlalchemy.pool import QueuePool

from counterrank.errors import InputError, NotInstalled
from counterrank.service import schema
from counterrank.service.events import Away

try:
    import fcntl
except ImportError:  # not on Windows: there SQLite's own waiting has to do
    fcntl = None  # type: ignore[assignment]

WRITERS = 0x636F756E746572  # the number of PostgreSQL's lock that writers of a store take turns by
TOGETHER = 64  # rows that SQLite takes in one statement: a power of two
_PRAGMAS = (
    "journal_mode=WAL", "synchronous=FULL", "busy_timeout=5000", "cache_size=-16384", "temp_store=MEMORY",
    "wal_autocheckpoint=16384", "journal_size_limit=67108864",  # where no supervisor does it earlier: see `checkpoint`
)  # fmt: skip
FRAMES = 2000  # pages in SQLite's log from which on it is begun anew
_PATIENCE = {  # seconds until a PostgreSQL that does not answer counts as away
    "connect_timeout": 3,
    "keepalives_idle": 5,
    "keepalives_interval": 2,
    "keepalives_count": 3,
    "tcp_user_timeout": 10_000,
    "application_name": "counterrank",
}
_SESSION = " ".join(  # a client that is lost holds nobody up for long, and none waits for ever
    f"-c {setting}"
    for setting in (
        "synchronous_commit=on", "lock_timeout=10s", "idle_in_transaction_session_timeout=60s",
        "tcp_keepalives_idle=5", "tcp_keepalives_interval=2", "tcp_keepalives_count=3",
    )
)  # fmt: skip


class BadData(Exception):
    """The database refuses a row: it is there already, or cannot be held."""


class Database:
    """The database at a URL. `create`: a SQLite file that is not there is made."""

    def __init__(self, url: str, *, create: bool = True) -> None:
        self.url = parse(url)
        self.lite = self.url.get_backend_name() == "sqlite"
        self.path = self.url.database if self.lite else None
        if self.path is not None and not create and not os.path.isfile(self.path):
            raise InputError(f"{self.name}: there is no such store: check the path")
        if self.path is not None and not create and os.path.getsize(self.path) == 0:
            raise InputError(f"{self.name}: there is no store in it: check the path")
        self.engine = self._engine()
        self._glance: sqlite3.Connection | None = None
        driver: Any = self.engine.dialect.dbapi
        self.errors: tuple[type[Exception], ...] = (DBAPIError, driver.Error, PendingRollbackError)
        self.bad_data = (IntegrityError, DataError, driver.IntegrityError, driver.DataError)
        with _told(self.name):
            if self.lite:
                self._prepare_file()
            with self.writing() as connection:
                if not create and schema.version_of(connection) == 0:
                    raise InputError(f"{self.name}: there is no store in it: check the address")
                schema.migrate(connection)

    @property
    def name(self) -> str:
        """The address without password and options."""
        plain = self.url.set(query={}, drivername=self.url.get_backend_name())
        return plain.render_as_string(hide_password=True)

    def _engine(self) -> Engine:
        if self.lite:
            made = create_engine(
                self.url, poolclass=QueuePool, pool_size=8, max_overflow=24, pool_use_lifo=True,
                connect_args={"isolation_level": None, "check_same_thread": False, "cached_statements": 256},
            )  # fmt: skip
            event.listen(made, "connect", _set_up)
        else:
            made = create_engine(
                self.url, paramstyle="format", pool_size=4, max_overflow=12, pool_pre_ping=False,
                connect_args={**_PATIENCE, "options": _SESSION},
            )  # fmt: skip
        return made

    def _prepare_file(self) -> None:
        with Pen(self).turn(once=True), self.away(), self.engine.connect() as connection:
            mode = connection.exec_driver_sql("PRAGMA journal_mode").scalar()
            if mode != "wal":
                raise InputError(
                    f"{self.path}: SQLite cannot keep a write-ahead log there: give a path on a local disk"
                )

    @contextmanager
    def writing(self, pen: Pen | None = None) -> Iterator[Connection]:
        """A transaction of the one writer there is at a time; it commits when the block ends well.

        `pen`: of a thread that writes again and again, and keeps its connection.
        """
        held = Pen(self) if pen is None else pen
        try:
            with self.away(), held.turn():
                connection = held.connection()
                try:
                    cursor = self.cursor(connection)
                    cursor.execute("BEGIN IMMEDIATE" if self.lite else f"SELECT pg_advisory_xact_lock({WRITERS})")
                    yield connection
                    cursor.execute("COMMIT")
                except BaseException as error:
                    if isinstance(error, self.errors) and not isinstance(error, self.bad_data):
                        held.drop()  # nobody gets this one again
                    else:
                        self._back(held)
                    raise
        finally:
            if pen is None:
                held.close()

    def _back(self, pen: Pen) -> None:
        """Roll back what was not committed; a connection that cannot is let go of, and its database rolls back."""
        try:
            self._end(pen.connection(), "ROLLBACK")
        except self.errors:
            pen.drop()

    def _end(self, connection: Connection, how: str) -> None:
        """Said to the database itself: neither SQLAlchemy nor SQLite's driver knows of a transaction that we began."""
        self.cursor(connection).execute(how)

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A snapshot: all that is read in the block is of one moment."""
        with self.away(), self.engine.connect() as connection:
            if self.lite:
                connection.exec_driver_sql("BEGIN")
            else:
                connection = connection.execution_options(isolation_level="REPEATABLE READ")
            try:
                yield connection
            finally:
                with contextlib.suppress(*self.errors):
                    self._end(connection, "ROLLBACK")

    def glance(self) -> dict[str, int] | None:
        """The numbers of the store, where that takes no longer than a few lines of Python: of SQLite; else None."""
        if self.path is None:
            return None
        with self.away():
            if self._glance is None:
                self._glance = sqlite3.connect(self.path, timeout=0.05, isolation_level=None, check_same_thread=False)
            return dict(self._glance.execute("SELECT name, value FROM meta"))

    def checkpoint(self) -> None:
        """Move what SQLite has in its log to where it belongs, while others write on, and let the log begin anew.

        A writer that did it itself would keep all who wait for it waiting. Nobody waits for the first pass; during the
        second writers do, but there is next to nothing left for it.
        """
        if not self.lite:
            return
        with self.away(), self.engine.connect() as connection:
            _, frames, _ = connection.exec_driver_sql("PRAGMA wal_checkpoint(PASSIVE)").one()
            if frames >= FRAMES:
                with Pen(self).turn(once=True):
                    connection.exec_driver_sql("PRAGMA wal_checkpoint(PASSIVE)").one()

    @contextmanager
    def away(self) -> Iterator[None]:
        """What a driver raises as Away, or as BadData where it is about the data."""
        try:
            yield
        except self.errors as error:
            said = str(getattr(error, "orig", error)).strip().partition("\n")[0]
            raise BadData(said) if isinstance(error, self.bad_data) else Away(said) from error

    def cursor(self, connection: Connection) -> Any:
        """A cursor of the driver itself: SQLAlchemy's own way costs more than a small statement."""
        return connection.connection.cursor()

    def rows(self, cursor: Any, text: str, values: tuple[Any, ...] = ()) -> list[Any]:
        """Rows of a small statement with ? for parameters."""
        cursor.execute(self.statement(text), values)
        return list(cursor.fetchall())

    def write(self, cursor: Any, text: str, rows: Sequence[tuple[Any, ...]]) -> None:
        """Run a statement with ? for parameters once for each row."""
        if not rows:
            return
        if not self.lite or " VALUES (" not in text:
            cursor.executemany(self.statement(text), rows)
            return
        begin, size = 0, TOGETHER
        while begin < len(rows):  # SQLite lets go of the interpreter with each run: one for many rows waits but once
            while size > len(rows) - begin:
                size //= 2
            some = rows[begin : begin + size]
            cursor.execute(_repeated(text, size), tuple(itertools.chain.from_iterable(some)))
            begin += size

    def among(self, column: str) -> str:
        """A condition that a column is one of a list, which is one parameter (see `listed`)."""
        return f"{column} IN (SELECT value FROM json_each(?))" if self.lite else f"{column} = ANY(%s)"  # noqa: S608

    def statement(self, text: str) -> str:
        """SQL with ? for parameters, as this driver wants it."""
        return text if self.lite else text.replace("?", "%s")

    def stream(self, connection: Connection, text: str, values: tuple[Any, ...] = ()) -> Iterator[Any]:
        """Rows of a statement with ? for parameters, a few thousand in memory at a time."""
        options = {"stream_results": True, "yield_per": 2000}
        with connection.exec_driver_sql(self.statement(text), values, execution_options=options) as found:
            yield from found

    def close(self) -> None:
        """Close all connections."""
        if self._glance is not None:
            self._glance.close()
            self._glance = None
        self.engine.dispose()


class Pen:
    """What a thread writes with: a connection and the lock of writers, found once and used for many transactions.

    Writers of one SQLite file queue for a lock beside it: SQLite's own way is to sleep and try again.
    """

    def __init__(self, database: Database) -> None:
        self.database = database
        self._connection: Connection | None = None
        self._lock: int | None = None

    def connection(self) -> Connection:
        if self._connection is None:
            self._connection = self.database.engine.connect()
        return self._connection

    @contextmanager
    def turn(self, once: bool = False) -> Iterator[None]:
        """It is this writer's turn until the block ends. `once`: there will be no other."""
        if self.database.path is None or fcntl is None:
            yield
            return
        if self._lock is None:
            self._lock = self._opened(f"{self.database.path}-lock")
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX)
            yield
        finally:
            fcntl.flock(self._lock, fcntl.LOCK_UN)
            if once:
                self.close()

    def _opened(self, path: str) -> int:
        try:
            return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise InputError(f"{path}: cannot be opened ({error.strerror}): give another store") from None

    def drop(self) -> None:
        """Let go of a connection that may be broken; the next one is another."""
        if self._connection is not None:
            self._connection.invalidate()
            self._connection.close()
            self._connection = None

    def close(self) -> None:
        """Give back the connection, and close the lock."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


@cache
def _repeated(text: str, times: int) -> str:
    """An INSERT of one row as one of several.

    >>> _repeated("INSERT INTO t (a, b) VALUES (?, ?)", 2)
    'INSERT INTO t (a, b) VALUES (?, ?), (?, ?)'
    """
    head, _, rest = text.partition(" VALUES (")
    row, _, tail = rest.partition(")")
    return f"{head} VALUES " + ", ".join([f"({row})"] * times) + tail


def parse(url: str) -> URL:
    """The address of a store: sqlite:///PATH, postgresql://…, or the path of a SQLite file."""
    try:
        url.encode("utf-8")
    except UnicodeEncodeError:
        raise InputError("the store has a name that is no text (not UTF-8): give it another") from None
    try:
        found = make_url(url if "://" in url else f"sqlite:///{url}")
    except (ArgumentError, ValueError):
        raise _unknown(url) from None
    if found.drivername in ("sqlite", "sqlite+pysqlite"):
        if not found.database or found.database == ":memory:" or found.host:
            raise InputError(f"{url}: a store is a file: give sqlite:///PATH")
        if os.path.isdir(found.database):
            raise InputError(f"{url}: that is a folder: give the path of a file in it, as sqlite:///PATH")
        return found.set(drivername="sqlite+pysqlite", query={})
    if found.drivername in ("postgresql", "postgres", "postgresql+psycopg"):
        return found.set(drivername="postgresql+psycopg")
    raise _unknown(url)


def _unknown(url: str) -> InputError:
    scheme = url.split("://")[0]
    return InputError(f"the store {scheme}://… is of no kind that is known: give sqlite:///PATH or postgresql://…")


def _set_up(connection: Any, record: object) -> None:
    for pragma in _PRAGMAS:
        connection.execute(f"PRAGMA {pragma}")


@contextmanager
def _told(name: str) -> Iterator[None]:
    """Why a store cannot be opened, in one line without its password."""
    try:
        yield
    except ImportError as error:
        raise NotInstalled(f"{error.name} is not installed: pip install '.[serve]'") from None
    except Away as error:
        raise InputError(
            f"{name}: the store cannot be opened ({error}): check that it is there and may be used"
        ) from None


def listed(database: Database, values: Sequence[Any]) -> tuple[Any]:
    """The parameters of a statement with `among`."""
    return (json.dumps(list(values)) if database.lite else list(values),)
