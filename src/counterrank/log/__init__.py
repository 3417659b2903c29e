"""Logs: what was shown and what was clicked."""

from counterrank.log.log import Log
from counterrank.log.read import read_log
from counterrank.log.reading import Reading

__all__ = ["Log", "Reading", "read_log"]
