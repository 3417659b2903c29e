"""Who is no reader: a user that sees more pages a minute than anybody reads is kept out of the evidence."""

from __future__ import annotations

MINUTE = 60.0
MOST = 100_000  # users that are remembered at a time


class Visits:
    """Pages by user within the running minute. `most`: how many a reader sees; 0 switches the rule off.

    >>> visits = Visits(2)
    >>> [visits.human("u", at) for at in (0.0, 1.0, 2.0, 61.0)]
    [True, True, False, True]
    """

    def __init__(self, most: int) -> None:
        self.most, self._minute = most, -1
        self._seen: dict[str, int] = {}

    def human(self, user: str, at: float) -> bool:
        """Count a page; whether it is one of a reader."""
        if not self.most:
            return True
        minute = int(at // MINUTE)
        if minute != self._minute or len(self._seen) > MOST:
            self._minute, self._seen = minute, {}
        seen = self._seen[user] = self._seen.get(user, 0) + 1
        return seen <= self.most
