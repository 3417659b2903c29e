"""A service that one can watch: simulated users ask and click in the background, and it learns what they like."""

from __future__ import annotations

import contextlib
import http.client
import json
import shutil
import sys
import tempfile
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from counterrank.service.server import Server, run_service
from counterrank.service.settings import Settings

QUERIES, ITEMS, FEATURES = 5, 30, 4
PAGES = 25  # a second
RETRAIN = 500  # feedbacks, unless another number is set


class Users:
    """Position-based users: they look at position k with chance 1/log2(k + 1), and click what attracts them.

    Attraction follows from features that are registered, and from a taste for each (query, item) that is not.
    """

    def __init__(self, seed: int = 0) -> None:
        self.rng = np.random.default_rng(seed)
        self.features = self.rng.normal(size=(QUERIES, ITEMS, FEATURES))
        weights = self.rng.normal(size=FEATURES)
        height = self.features @ weights * 0.7 + self.rng.normal(size=(QUERIES, ITEMS)) - 3.5
        self.attraction = 1 / (1 + np.exp(-height))

    def items(self) -> list[dict[str, Any]]:
        """What is registered of every item."""
        return [
            {"id": f"item-{i}", "query": f"query-{q}",
             "features": {f"feature-{f}": float(x) for f, x in enumerate(self.features[q, i])}}
            for q in range(QUERIES)
            for i in range(ITEMS)
        ]  # fmt: skip

    def ask(self) -> tuple[int, dict[str, Any]]:
        """A user's request: candidates in no good order, as an engine that knows nothing would give them."""
        query = int(self.rng.integers(QUERIES))
        return query, {"query": f"query-{query}", "items": [f"item-{i}" for i in range(ITEMS)]}

    def clicks(self, query: int, page: list[str]) -> list[str]:
        """What this user clicks."""
        looks = 1 / np.log2(np.arange(len(page)) + 2)
        chances = self.attraction[query, [int(item.rpartition("-")[2]) for item in page]]
        return [item for item, hit in zip(page, self.rng.random(len(page)) < looks * chances, strict=True) if hit]


def play(host: str, port: int, stop: threading.Event, pages: float = PAGES, seed: int = 0) -> None:
    """Users come until `stop` is set. One that fails is a user less."""
    users, number, line = Users(seed), 0, http.client.HTTPConnection(host, port, timeout=10)
    run = f"{np.random.default_rng().integers(2**62):x}"
    registered = False
    while not stop.wait(1 / pages):
        try:
            if not registered:
                _call(line, "PUT", "/items", {"items": users.items()})
                registered = True
            query, body = users.ask()
            found = _call(line, "POST", "/rank", body)
            page = [each["item"] for each in found["ranking"]]
            number += 1
            given = {
                "impression": found["impression"],
                "event": f"demo-{run}-{number}",
                "clicks": users.clicks(query, page),
            }
            _call(line, "POST", "/feedback", given)
        except (OSError, http.client.HTTPException, ValueError, KeyError):
            line.close()


def _call(line: http.client.HTTPConnection, method: str, path: str, body: Any) -> Any:
    line.request(method, path, json.dumps(body), {"Content-Type": "application/json"})
    return json.loads(line.getresponse().read())


def run_demo(settings: Settings, *, stored: bool) -> None:
    """Serve with simulated users until a signal comes. Without a store that was named, nothing stays."""
    folder = None if stored else tempfile.mkdtemp(prefix="counterrank-demo-")
    if folder is not None:
        settings = replace(settings, store=f"sqlite:///{Path(folder) / 'demo.db'}")
    if settings.retrain_every == Settings().retrain_every:
        settings = replace(settings, retrain_every=RETRAIN)
    settings = replace(settings, tokens=None)
    stop = threading.Event()

    def begin(server: Server) -> Callable[[], None]:
        print(f"counterrank: simulated users are asking: watch it learn at {server.url}/", file=sys.stderr, flush=True)
        thread = threading.Thread(target=play, args=(settings.host, server.port, stop), daemon=True)
        thread.start()

        def end() -> None:
            stop.set()
            with contextlib.suppress(RuntimeError):
                thread.join(2)

        return end

    try:
        run_service(settings, verbose=False, on_ready=begin)
    finally:
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)
