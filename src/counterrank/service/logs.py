"""Logs as JSON lines on stderr. They name no user and no secret: what is logged is chosen, never a body."""

from __future__ import annotations

import json
import logging
import sys
import time


class Lines(logging.Formatter):
    """One JSON object a line: time, level, what happened, and fields."""

    def format(self, record: logging.LogRecord) -> str:
        said = {
            "time": time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created)) + f".{int(record.msecs):03d}Z",
            "level": record.levelname.lower(),
            "event": record.getMessage(),
            **getattr(record, "fields", {}),
        }
        if record.exc_info and record.exc_info[0] is not None:
            said["error"] = record.exc_info[0].__name__
            trace = record.exc_info[2]
            while trace is not None and trace.tb_next is not None:
                trace = trace.tb_next
            if trace is not None:
                said["where"] = f"{trace.tb_frame.f_code.co_filename.rpartition('/')[2]}:{trace.tb_lineno}"
        return json.dumps(said, ensure_ascii=False)


def set_up(verbose: bool = True) -> None:
    """Let this process log that way."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(Lines())
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
    logging.getLogger("counterrank").setLevel(logging.INFO if verbose else logging.WARNING)
