"""Bandits that memorise a ranking per query and know no features: genspec2021's online baselines."""

from __future__ import annotations

from counterrank.online.bandits.base import Bandit
from counterrank.online.bandits.hotfix import Hotfix
from counterrank.online.bandits.pbm_pie import PbmPie
from counterrank.online.bandits.state import State

BANDITS: dict[str, Bandit] = {
    "hotfix-10": Hotfix(10),
    "hotfix": Hotfix(),
    "pbm-pie": PbmPie(),
}

__all__ = ["BANDITS", "Bandit", "Hotfix", "PbmPie", "State"]
