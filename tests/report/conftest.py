from __future__ import annotations

from collections.abc import Iterator

import pytest
from browser import Browser, found


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    if found() is None:
        pytest.skip("no Chromium on this machine: install chromium")
    made = Browser(tmp_path_factory.mktemp("profile"))
    yield made
    made.close()
