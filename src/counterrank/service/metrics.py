"""Counters of a service, which all workers share, and their text for Prometheus."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping

from counterrank.service.shared import COUNTERS, Shared

STATUSES = (200, 400, 401, 403, 404, 405, 409, 413, 422, 429, 503, 500)
ROUTES = ("rank", "feedback", "other")
BUCKETS = (0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0)
COUNTED = {
    "impressions": "Pages shown and stored.",
    "explored": "Pages that were not the base page.",
    "feedback": "Feedback stored.",
    "duplicates": "Feedback that came again.",
    "late": "Feedback on a page older than a day.",
    "clicks": "Clicks that count.",
    "clicks_again": "Clicks that do not count, since the same item of the same page was clicked before.",
    "crawled": "Pages kept out of the evidence, since one user saw too many a minute.",
    "fail_open": "Pages in the order received, since the store was away.",
    "replayed": "Requests that came again.",
    "apprentice_pages": "Pages of the policy logging that the posterior looked at.",
    "apprentice_differed": "Those for which it would have shown another page.",
    "apprentice_overlap": "Sum over those pages of the share of its items that were shown.",
    "retrain_failures": "Retrainings that failed: the old model serves on.",
    "retrained": "Retrainings that gave a model.",
    "expected_explored": "How many pages were expected to differ from the base page.",
}
GAUGED = {
    "retraining": "1 while a retraining runs.",
    "alarm_exploration_collapsed": "1 while fewer pages explore than chance explains.",
    "alarm_below_received": "1 while the order as received is worth more than what is served, with confidence.",
}
_NAMES = [
    *COUNTED,
    *GAUGED,
    *(f"{route}_{status}" for route in ROUTES for status in STATUSES),
    *(f"{route}_under_{i}" for route in ROUTES[:2] for i in range(len(BUCKETS) + 1)),
    *(f"{route}_seconds" for route in ROUTES[:2]),
]
AT = {name: i for i, name in enumerate(_NAMES)}
_STATUS_AT = {(route, status): AT[f"{route}_{status}"] for route in ROUTES for status in STATUSES}
_UNDER_AT = {route: AT[f"{route}_under_0"] for route in ROUTES[:2]}  # the others follow it
_SECONDS_AT = {route: AT[f"{route}_seconds"] for route in ROUTES[:2]}
assert len(AT) < COUNTERS  # noqa: S101


class Metrics:
    """The counters of one worker, in memory that it shares."""

    def __init__(self, shared: Shared) -> None:
        self.shared, self._counts = shared, shared.counts

    def add(self, name: str, by: float = 1.0) -> None:
        self._counts[AT[name]] += by

    def put(self, name: str, value: float) -> None:
        self._counts[AT[name]] = value

    def answered(self, route: str, status: int, seconds: float) -> None:
        """One request was answered."""
        known = status if status in STATUSES else 200 if status < 300 else 500
        counts = self._counts
        counts[_STATUS_AT[route, known]] += 1.0
        if route != "other":
            counts[_UNDER_AT[route] + bisect_left(BUCKETS, seconds)] += 1.0
            counts[_SECONDS_AT[route]] += seconds

    def total(self, name: str) -> float:
        """Over all workers."""
        return float(self.shared.all_counts[:, AT[name]].sum())

    def text(self, gauges: Mapping[str, tuple[str, float]]) -> str:
        """All of it, as Prometheus reads it."""
        lines = []
        for name, help in COUNTED.items():
            lines += _told(f"counterrank_{name}_total", "counter", help, [("", self.total(name))])
        answers = [
            (f'{{route="{route}",status="{status}"}}', self.total(f"{route}_{status}"))
            for route in ROUTES
            for status in STATUSES
        ]
        lines += _told("counterrank_requests_total", "counter", "Requests by route and status.", answers)
        lines += self._latencies()
        for name, help in GAUGED.items():
            lines += _told(f"counterrank_{name}", "gauge", help, [("", self.total(name))])
        for name, (help, value) in gauges.items():
            lines += _told(f"counterrank_{name}", "gauge", help, [("", value)])
        return "\n".join(lines) + "\n"

    def _latencies(self) -> list[str]:
        name, rows = "counterrank_request_seconds", []
        for route in ROUTES[:2]:
            below = 0.0
            for i, most in enumerate([*map(str, BUCKETS), "+Inf"]):
                below += self.total(f"{route}_under_{i}")
                rows.append((f'_bucket{{route="{route}",le="{most}"}}', below))
            rows += [
                (f'_sum{{route="{route}"}}', self.total(f"{route}_seconds")),
                (f'_count{{route="{route}"}}', below),
            ]
        return _told(name, "histogram", "How long requests took.", rows)


def _told(name: str, kind: str, help: str, rows: list[tuple[str, float]]) -> list[str]:
    return [f"# HELP {name} {help}", f"# TYPE {name} {kind}", *(f"{name}{labels} {value!r}" for labels, value in rows)]
