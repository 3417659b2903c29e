"""When somebody should look: exploration has collapsed, or what is served has fallen below the order received."""

from __future__ import annotations

import math
from typing import Any

from counterrank.service.events import PolicySetting
from counterrank.service.traffic import Traffic

ENOUGH = 1000  # pages, before anything is said of exploration
CHANCE = 1e-4  # that so few explored pages come by chance


def alarms(setting: PolicySetting, traffic: Traffic) -> list[dict[str, Any]]:
    """All alarms, whether they ring, and what they say."""
    found = traffic.exploration()
    low = collapsed(found["explored"], found["impressions"], setting.randomise)
    return [
        {
            "name": "exploration_collapsed",
            "active": low,
            "message": f"{found['explored']} of the last {found['impressions']} pages explored, "
            f"{setting.randomise:.1%} are set",
        },
        traffic.below.alarm(),
    ]


def collapsed(explored: int, pages: int, randomise: float) -> bool:
    """Whether so few pages explored that chance does not explain it: a Poisson tail below one in ten thousand.

    >>> collapsed(0, 1000, 0.05), collapsed(45, 1000, 0.05), collapsed(0, 1000, 0.0)
    (True, False, False)
    """
    expected = (
        randomise * pages / 2
    )  # half of it: a page drawn may be the base page, and one user's pages come together
    if pages < ENOUGH or expected <= 0:
        return False
    term = total = math.exp(-expected)
    for count in range(1, explored + 1):
        term *= expected / count
        total += term
        if total > CHANCE:
            return False
    return total < CHANCE
