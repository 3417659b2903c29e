"""What the live page shows, as JSON: traffic, click rates, exploration, what is uncertain, and how it came about."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any

import numpy as np

from counterrank.service.alarms import alarms
from counterrank.service.bodies import text_of
from counterrank.service.events import Away, Model
from counterrank.service.refusals import away
from counterrank.service.scoring import CLICKS, EXPOSURE, SHOWN, UNIT, WEIGHTED
from counterrank.service.traffic import rate

if TYPE_CHECKING:
    from counterrank.service.service import Service

MOST = 20  # items that are listed as uncertain
LISTED = 50  # of a query's items
CONFIDENCE = 0.95


async def live(service: Service, query: str | None) -> dict[str, Any]:
    """All of it. With a query, also why its items stand where they stand."""
    traffic = service.traffic
    try:
        models, rates, rings = await asyncio.to_thread(_slowly, service)
    except Away as error:
        raise away(error) from None
    setting, prior, total = service.setting, service.state.prior, service.metrics.total
    return {
        "now": time.time(),
        "started": service.started,
        "workers": service.settings.workers,
        "as_of": service.state.as_of,
        "policy": {
            "name": setting.name, "exploration": setting.exploration, "randomise": setting.randomise,
            "epoch": setting.epoch, "at": setting.at or None,
        },
        "kill_switch": setting.exploration == 0 and setting.randomise == 0,
        "model": {"version": prior.version, "features": len(prior.names), "plain": list(prior.plain)},
        "models": [
            {"version": str(m.version), "at": m.at, "active": m.active, "notes": m.notes} for m in reversed(models)
        ],
        "retraining": {"failures": int(total("retrain_failures")), "every": service.settings.retrain_every,
                       "running": total("retraining") > 0},
        "traffic": traffic.summary(),
        "policies": rates,
        "exploration": traffic.exploration(),
        "apprentice": _apprentice(service),
        "alarms": rings,
        "uncertain": uncertain(service),
        "ranking": None if query is None else ranking(service, query),
    }  # fmt: skip


def _slowly(service: Service) -> tuple[list[Model], list[dict[str, Any]], list[dict[str, Any]]]:
    """What reads the store or reckons for long, and so is done beside the requests."""
    traffic = service.traffic
    traffic.catch_up()
    rates = [_rate(name, *counts) for name, counts in sorted(traffic.policies.items())]
    return service.store.models(), rates, alarms(service.setting, traffic)


def _rate(name: str, shown: int, clicked: int) -> dict[str, Any]:
    lower, upper = rate(shown, clicked, CONFIDENCE)
    return {
        "policy": name, "impressions": shown, "clicked": clicked, "rate": clicked / shown if shown else None,
        "lower": lower, "upper": upper, "confidence": CONFIDENCE,
    }  # fmt: skip


def _apprentice(service: Service) -> dict[str, Any] | None:
    total = service.metrics.total
    pages = int(total("apprentice_pages"))
    if not pages:
        return None
    differed, overlap = int(total("apprentice_differed")), total("apprentice_overlap")
    return {"pages": pages, "differed": differed, "share": differed / pages, "overlap": overlap / pages}


def uncertain(service: Service) -> list[dict[str, Any]]:
    """The pairs whose estimate may be farthest off, by the standard deviation of their Beta."""
    state = service.state
    counts, belief = state.counts[1 : len(state)], state.belief[1 : len(state)]
    looks, weighted = counts[:, EXPOSURE] / UNIT, counts[:, WEIGHTED] / UNIT
    strength = looks + belief.sum(axis=1)
    by_looks = (counts[:, CLICKS] + belief[:, 0]) / strength
    by_shown = (weighted + belief[:, 0]) / (counts[:, SHOWN] + belief.sum(axis=1))
    mean = by_looks if service.by_exposure else by_shown
    inside = np.clip(mean, 0.0, 1.0)
    deviation = np.sqrt(inside * (1 - inside) / (strength + 1))
    chosen = np.argsort(-np.where(counts[:, SHOWN] > 0, deviation, -1.0), kind="stable")[:MOST] + 1
    found = []
    for row in chosen.tolist():
        if state.counts[row, SHOWN] > 0:
            n, clicks = int(state.counts[row, SHOWN]), int(state.counts[row, CLICKS])
            found.append({
                "query": state.asked[row], "item": state.owner[row], "mean": float(mean[row - 1]),
                "deviation": float(deviation[row - 1]), "impressions": n, "clicks": clicks,
                "exposure": float(looks[row - 1]), "prior": state.belief[row].tolist(),
                "new": n < service.settings.new_below,
                "why": f"looked at about {looks[row - 1]:.1f} times, the prior counts as {state.belief[row].sum():.1f}",
            })  # fmt: skip
    return found


def ranking(service: Service, query: str) -> list[dict[str, Any]]:
    """How the items that are known of a query would stand now, and why."""
    text_of(query or "-", "query")
    return service.explained(query, LISTED)
