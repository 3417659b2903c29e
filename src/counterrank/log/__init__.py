"""Logs: what was shown and what was clicked."""

from counterrank.log.log import Log
from counterrank.log.read import read_log

__all__ = ["Log", "read_log"]
