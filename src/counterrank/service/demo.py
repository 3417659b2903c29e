"""A service that one can watch: simulated users ask and click in the background."""

from __future__ import annotations

from counterrank.service.settings import Settings


def run_demo(settings: Settings, *, stored: bool) -> None:
    raise NotImplementedError
