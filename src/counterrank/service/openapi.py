"""The OpenAPI document, made of the shapes that bodies are decoded by; and a page that shows it, without a network."""

from __future__ import annotations

import html
import json
from functools import cache
from typing import Any

import msgspec

from counterrank.service.bodies import FeedbackAnswer, FeedbackBody, ItemsBody, PolicyBody, RankAnswer, RankBody
from counterrank.version import __version__

_REF = "#/components/schemas/{name}"
_NAME = {"type": "string", "minLength": 1}
_ERROR = {
    "type": "object",
    "required": ["error"],
    "properties": {
        "error": {
            "type": "object",
            "required": ["code", "message", "field"],
            "properties": {"code": _NAME, "message": _NAME, "field": {"type": ["string", "null"]}},
        }
    },
}
_SAID = {
    400: "The body is not JSON.", 401: "No token.",
    403: "The token lacks the right, or a web page of another site asks.", 404: "It is not there.",
    405: "Another method.", 409: "It came before with another body.", 413: "The body is too large.",
    422: "The body is JSON, but not as it should be.", 429: "Too many requests: see Retry-After.",
    503: "The store is away or its queue is full: see Retry-After.",
}  # fmt: skip
_POLICY = {
    "type": "object",
    "required": ["name", "exploration", "randomise"],
    "properties": {
        "name": _NAME, "exploration": {"type": "number"}, "randomise": {"type": "number"},
        "epoch": {"type": "integer"}, "at": {"type": ["number", "null"]},
    },
}  # fmt: skip
_ANY = {"type": "object"}
_BODY, _TOKEN = (400, 413, 422), (401, 403, 429)


@cache
def document() -> dict[str, Any]:
    """The whole document, OpenAPI 3.1."""
    shapes = [RankBody, RankAnswer, FeedbackBody, FeedbackAnswer, ItemsBody, PolicyBody]
    refs, schemas = msgspec.json.schema_components(shapes, ref_template=_REF)
    rank_in, rank_out, feedback_in, feedback_out, items_in, policy_in = refs
    each = {"type": "object", "required": ["status"], "properties": {"status": {"type": "integer"}}}
    paths = {
        "/rank": {"post": _operation("Rank candidates", rank_out, _BODY + _TOKEN + (409, 503), rank_in)},
        "/feedback": {
            "post": _operation("Clicks on a page", feedback_out, _BODY + _TOKEN + (404, 409, 503), feedback_in)
        },
        "/batch/rank": {"post": _batch("Rank several times", rank_in, each)},
        "/batch/feedback": {"post": _batch("Several feedbacks", feedback_in, each)},
        "/items": {"put": _operation("Register features", _ANY, _BODY + _TOKEN + (503,), items_in)},
        "/items/{id}": {"get": _operation("Features of an item", _ANY, (*_TOKEN, 404, 422, 503), None, _of_item())},
        "/policy": {
            "get": _operation("The policy", _POLICY, (*_TOKEN, 503)),
            "put": _operation(
                "Change the policy, or pull the kill switch", _ANY, _BODY + _TOKEN + (404, 503), policy_in
            ),
        },
        "/healthz": {"get": _operation("Whether the worker runs", _ANY, ())},
        "/readyz": {"get": _operation("Whether it can answer", _ANY, (503,))},
        "/metrics": {"get": _operation("For Prometheus", {"type": "string"}, _TOKEN, kind="text/plain")},
        "/live.json": {
            "get": _operation("What the live page shows", _ANY, (*_TOKEN, 422, 503), None, [_asked("query")])
        },
    }
    return {
        "openapi": "3.1.0",
        "info": {"title": "counterrank", "version": __version__, "description": "The ranking service."},
        "paths": paths,
        "components": {
            "schemas": {**schemas, "Error": _ERROR},
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{}, {"token": []}],
    }


def _operation(
    summary: str,
    gives: dict[str, Any],
    refusals: tuple[int, ...],
    takes: dict[str, Any] | None = None,
    parameters: list[dict[str, Any]] | None = None,
    kind: str = "application/json",
) -> dict[str, Any]:
    answers: dict[str, Any] = {"200": {"description": "Done.", "content": {kind: {"schema": gives}}}}
    for status in sorted(refusals):
        content = {"application/json": {"schema": {"$ref": _REF.format(name="Error")}}}
        answers[str(status)] = {"description": _SAID[status], "content": content}
    found: dict[str, Any] = {"summary": summary, "responses": answers}
    if takes is not None:
        found["requestBody"] = {"required": True, "content": {"application/json": {"schema": takes}}}
    if parameters:
        found["parameters"] = parameters
    return found


def _batch(summary: str, takes: dict[str, Any], each: dict[str, Any]) -> dict[str, Any]:
    listed = {"type": "array", "items": takes, "maxItems": 1000}
    return _operation(summary, {"type": "array", "items": each}, _BODY + _TOKEN + (503,), listed)


def _of_item() -> list[dict[str, Any]]:
    return [{"name": "id", "in": "path", "required": True, "schema": _NAME}, _asked("query")]


def _asked(name: str) -> dict[str, Any]:
    return {"name": name, "in": "query", "required": False, "schema": {"type": "string"}}


def page() -> str:
    """The document as a page of its own: nothing is loaded from anywhere."""
    found = document()
    rows = []
    for path, operations in found["paths"].items():
        for method, operation in operations.items():
            answers = ", ".join(operation["responses"])
            takes = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
            shape = takes.get("$ref", takes.get("items", {}).get("$ref", "")).rpartition("/")[2]
            cells = (method.upper(), path, operation["summary"], shape, answers)
            rows.append("<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in cells) + "</tr>")
    shapes = html.escape(json.dumps(found["components"]["schemas"], indent=1, ensure_ascii=False))
    return (
        "<!doctype html><html lang=en><meta charset=utf-8><title>counterrank: the service</title>"
        "<meta name=viewport content='width=device-width'><style>:root{color-scheme:light dark}"
        "body{font:16px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:64rem;padding:0 1rem}"
        "td,th{text-align:left;padding:.25rem .75rem .25rem 0}pre{overflow:auto}</style>"
        "<h1>The ranking service</h1><p>The document itself: <a href=/docs/openapi.json>openapi.json</a>.</p>"
        f"<table><tr><th>method<th>path<th>what it does<th>body<th>statuses</tr>{''.join(rows)}</table>"
        f"<h2>Shapes</h2><pre>{shapes}</pre></html>"
    )
