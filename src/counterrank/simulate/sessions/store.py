"""Finished runs in a folder, so that a simulation that was stopped goes on: one JSON file each."""

from __future__ import annotations

import json
from pathlib import Path

from counterrank.errors import InputError
from counterrank.output import make_folder, write
from counterrank.simulate.sessions.outcome import Outcome


class Store:
    """A folder of outcomes by key, or none."""

    def __init__(self, folder: Path | None) -> None:
        self.folder = folder

    @classmethod
    def at(cls, folder: str | Path | None) -> Store:
        if folder is not None:
            make_folder(folder, "`resume`")
        return cls(None if folder is None else Path(folder))

    def get(self, key: str) -> Outcome | None:
        """What was kept; a file that is not whole is an error, since ours appear whole or not at all."""
        if self.folder is None or not (path := self.folder / f"{key}.json").exists():
            return None
        try:
            return Outcome(**json.loads(path.read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError) as error:
            raise InputError(f"{path}: this is no run that was kept ({error}): remove it") from None

    def put(self, key: str, outcome: Outcome) -> None:
        if self.folder is not None:
            write(self.folder / f"{key}.json", json.dumps(outcome.to_dict()).encode())
