"""What there is over HTTP besides ranking: items, the policy, health, metrics, documents and the live page."""

from __future__ import annotations

import asyncio
import math
from importlib.resources import files
from urllib.parse import unquote

from counterrank.service.app import Answer, Call, Operation, batch_feedback, batch_rank, feedback, rank
from counterrank.service.bodies import ITEMS, POLICY, PolicyBody, Refused, decoded, encode, invalid, text_of
from counterrank.service.dry_run import dry_run
from counterrank.service.events import Away, PolicySetting, Unstorable
from counterrank.service.live_data import live
from counterrank.service.openapi import document, page
from counterrank.service.refusals import away

HTML = b"text/html; charset=utf-8"
FEATURES = 4096  # that items may have in all: every item has a number for each, in every worker


async def put_items(call: Call) -> Answer:
    """Store features of items, and let this worker know them at once."""
    body = decoded(ITEMS, call.body)
    items = []
    for i, each in enumerate(body.items):
        query = None if each.query is None else text_of(each.query or "-", f"items[{i}].query") and each.query
        for name in each.features:
            text_of(name, f"items[{i}].features")
        items.append((text_of(each.id, f"items[{i}].id"), query, each.features))
    names = set(call.service.state.names).union(*(features for _, _, features in items))
    if len(names) > FEATURES:
        raise invalid(f"there would be {len(names)} different features: at most {FEATURES} are taken", "items")
    try:
        stored = await asyncio.to_thread(call.service.store.put_items, items)
        await call.service.follow_items()
    except Away as error:
        raise away(error) from None
    except Unstorable as error:
        raise invalid(f"this cannot be stored: {error}", "items") from None
    return Answer(encode({"stored": stored}))


async def get_item(call: Call) -> Answer:
    """An item's features, as they are registered."""
    raw = call.scope.get("raw_path", call.scope["path"].encode()).split(b"?")[0].decode("latin-1")
    item, query = text_of(unquote(raw.removeprefix("/items/")), "id"), call.query("query")
    if query is not None and query:
        text_of(query, "query")
    try:
        found = await asyncio.to_thread(call.service.store.item, item, query)
    except Away as error:
        raise away(error) from None
    if found is None:
        raise Refused(404, "unknown_item", "no features are registered for this item", "id")
    return Answer(encode({"id": item, "query": query, "features": found}))


async def get_policy(call: Call) -> Answer:
    """The setting as it stands."""
    await call.service.refresh()
    return Answer(encode(said(call.service.setting)))


def said(setting: PolicySetting) -> dict[str, object]:
    """A setting as JSON."""
    return {
        "name": setting.name, "exploration": setting.exploration, "randomise": setting.randomise,
        "epoch": setting.epoch, "at": setting.at or None,
    }  # fmt: skip


async def put_policy(call: Call) -> Answer:
    """Another setting: from this answer on in every worker of the machine."""
    body, service = decoded(POLICY, call.body), call.service
    _check(body)
    await service.refresh()
    name = service.setting.name if body.name is None else body.name
    await asyncio.to_thread(service.policies.find, name)
    if body.dry_run:
        return Answer(await dry_run(service, name))
    now = service.setting
    changed = PolicySetting(
        name,
        now.exploration if body.exploration is None else body.exploration,
        now.randomise if body.randomise is None else body.randomise,
    )
    try:
        put = await asyncio.to_thread(service.store.put_setting, changed)
    except Away as error:
        raise away(error) from None
    service.shared.raise_epoch(put.epoch)
    service.adopt(put, read=True)
    await service.flights.settle(put.epoch)
    return Answer(encode(said(put)))


def _check(body: PolicyBody) -> None:
    if body.exploration is not None and not 0 <= body.exploration <= 1e12:
        raise invalid(f"exploration is {body.exploration:g}: expected a number from 0 on", "exploration")
    if body.randomise is not None and not 0 <= body.randomise <= 1:
        raise invalid(f"randomise is {body.randomise:g}: expected 0 to 1", "randomise")
    if body.name is None and body.exploration is None and body.randomise is None and not body.dry_run:
        raise invalid("nothing to change: give name, exploration or randomise")


async def healthz(call: Call) -> Answer:
    """This worker runs."""
    return Answer(encode({"status": "ok"}))


async def readyz(call: Call) -> Answer:
    """This worker has its evidence, and the store is there."""
    service = call.service
    if not service.ready or service.store_away or len(service.store.writer) >= service.settings.queue:
        raise away("not ready")
    return Answer(encode({"status": "ready", "as_of": service.state.as_of}))


async def metrics(call: Call) -> Answer:
    """For Prometheus."""
    service = call.service
    gauges = {
        "as_of": ("The last event that this worker has taken in.", float(service.state.as_of)),
        "pairs": ("Pairs of query and item that this worker knows.", float(len(service.state) - 1)),
        "queue": ("Operations that wait to be written in this worker.", float(len(service.store.writer))),
        "store_away": ("1 while the store cannot be reached.", float(service.store_away)),
        "exploration": ("The exploration that is set.", service.setting.exploration),
        "randomise": ("The share of random pages that is set.", service.setting.randomise),
        "epoch": ("The number of the policy setting.", float(service.setting.epoch)),
        **service.gauges(),
    }
    gauges = {name: (help, value if math.isfinite(value) else 0.0) for name, (help, value) in gauges.items()}
    return Answer(service.metrics.text(gauges).encode(), b"text/plain; version=0.0.4; charset=utf-8")


async def openapi(call: Call) -> Answer:
    return Answer(encode(document()))


async def docs(call: Call) -> Answer:
    """The OpenAPI document, as a page or as JSON."""
    accepts = dict(call.scope["headers"]).get(b"accept", b"")
    return await openapi(call) if accepts.startswith(b"application/json") else Answer(page().encode(), HTML)


async def live_json(call: Call) -> Answer:
    """What the live page shows."""
    return Answer(encode(await live(call.service, call.query("query")) | {"rights": sorted(call.caller.rights)}))


async def home(call: Call) -> Answer:
    """The live page."""
    found = files("counterrank.service").joinpath("live", "page.html")
    if found.is_file():
        return Answer(found.read_bytes(), HTML)
    return Answer(page().encode(), HTML)


ROUTES: dict[str, dict[str, Operation]] = {
    "/rank": {"POST": Operation(rank, "rank")},
    "/feedback": {"POST": Operation(feedback, "feedback")},
    "/batch/rank": {"POST": Operation(batch_rank, "rank")},
    "/batch/feedback": {"POST": Operation(batch_feedback, "feedback")},
    "/items": {"PUT": Operation(put_items, "admin")},
    "/items/": {"GET": Operation(get_item, "rank")},
    "/policy": {"GET": Operation(get_policy), "PUT": Operation(put_policy, "admin", limited=False)},
    "/healthz": {"GET": Operation(healthz, open=True)},
    "/readyz": {"GET": Operation(readyz, open=True)},
    "/metrics": {"GET": Operation(metrics, limited=False)},
    "/docs": {"GET": Operation(docs, open=True)},
    "/docs/openapi.json": {"GET": Operation(openapi, open=True)},
    "/openapi.json": {"GET": Operation(openapi, open=True)},
    "/live.json": {"GET": Operation(live_json, "admin", limited=False)},
    "/": {"GET": Operation(home, open=True)},
}
