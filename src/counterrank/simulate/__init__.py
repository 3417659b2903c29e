"""Made-up worlds: logs with known truth."""

from __future__ import annotations

from counterrank.simulate.log import simulate, write_log
from counterrank.simulate.truth import Truth, truth
from counterrank.simulate.world import World, make_world

__all__ = ["Truth", "World", "make_world", "simulate", "truth", "write_log"]
