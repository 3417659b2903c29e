"""The store of a ranking service, opened for a command."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from counterrank.errors import InputError, NotInstalled

if TYPE_CHECKING:
    from counterrank.service.store import Store

STORE = "sqlite:///PATH, the path of such a file, or postgresql://…"


@contextmanager
def needed() -> Iterator[None]:
    """Imports of what only the ranking service needs."""
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("counterrank"):
            raise
        raise NotInstalled(f"{error.name} is not installed: pip install '.[serve]'") from None


@contextmanager
def opened(url: str, *, create: bool = False) -> Iterator[Store]:
    """The store at this address, closed when the block ends. `create`: make one where there is none."""
    with needed():
        from counterrank.service.database import BadData
        from counterrank.service.events import Away
        from counterrank.service.store import Store
    try:
        with Store.open(url, create=create) as store:
            yield store
    except Away as error:
        raise InputError(f"the store cannot be used ({error}): nothing more was done, try again") from None
    except BadData as error:
        raise InputError(f"the store cannot hold this ({error}): give another text") from None
    except UnicodeEncodeError as error:
        raise InputError(f"{error.object!a} is no text that a store can hold: give another") from None
