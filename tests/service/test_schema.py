"""Requests made up from the OpenAPI document: every answer is in the 200s or 400s, and as the document says."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis.errors import Unsatisfiable

from counterrank.service.dry_run import dry_run
from service.serving import Worker, worker

schemathesis = pytest.importorskip("schemathesis", reason="makes up requests")


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Worker]:
    with worker(tmp_path_factory.mktemp("schema")) as found:
        yield found


def tried(served: Worker, examples: int) -> int:
    """Requests to every operation, good and bad ones."""
    schema = schemathesis.openapi.from_dict(served.call("GET", "/openapi.json").json)
    count = [0]
    for found in schema.get_all_operations():
        operation = found.ok()
        if operation.path in ("/live.json", "/metrics"):
            continue
        for mode in (schemathesis.GenerationMode.POSITIVE, schemathesis.GenerationMode.NEGATIVE):
            check = checked(served, operation, count, examples)
            try:
                given(case=operation.as_strategy(generation_mode=mode))(check)()
            except Unsatisfiable:  # an operation that takes nothing cannot be given something wrong
                continue
    return count[0]


def checked(served: Worker, operation: Any, count: list[int], examples: int) -> Any:
    answers = operation.definition.raw["responses"]

    @settings(max_examples=examples, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    def check(case: Any) -> None:
        count[0] += 1
        made = case.as_transport_kwargs(base_url="http://localhost")
        body = made.get("json", made.get("data"))
        path = made["url"].removeprefix("http://localhost") or "/"
        reply = served.call(made["method"].upper(), path, body if isinstance(body, bytes | None) else _bytes(body))
        assert reply.status < 500, (path, body, reply.content)
        assert str(reply.status) in answers or reply.status in (404, 405), (path, body, reply.content)
        if reply.status >= 400:
            assert set(reply.json["error"]) == {"code", "message", "field"}

    return check


def _bytes(body: Any) -> bytes:
    try:
        return json.dumps(body).encode()
    except (TypeError, ValueError, UnicodeEncodeError):
        return repr(body).encode(errors="replace")


def seldom(monkeypatch: pytest.MonkeyPatch, real: int) -> None:
    """Dry runs take a process each: so many are real."""
    runs = []

    async def run(service: Any, name: str) -> bytes:
        runs.append(name)
        return await dry_run(service, name) if len(runs) <= real else b"{}"

    monkeypatch.setattr("counterrank.service.routes.dry_run", run)


def test_no_request_breaks_it(served: Worker, monkeypatch: pytest.MonkeyPatch) -> None:
    seldom(monkeypatch, 0)
    assert tried(served, 3) > 20


@pytest.mark.slow
def test_ten_thousand_requests_do_not_break_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With those of test_hostile.py, a hundred thousand."""
    seldom(monkeypatch, 5)
    with worker(tmp_path) as served:
        assert tried(served, 750) > 10_000
