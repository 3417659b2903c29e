"""Two workers share the tests: Spark's stay together on one of them, since Spark is slow to start, and come first."""

from __future__ import annotations

import pytest


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if _on_spark(item):
            item.add_marker(pytest.mark.xdist_group("spark"))
    items.sort(key=lambda item: not _on_spark(item))


def _on_spark(item: pytest.Item) -> bool:
    return item.get_closest_marker("spark") is not None
