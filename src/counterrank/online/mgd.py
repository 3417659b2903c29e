"""MGD: DBGD with several rivals on one page."""

from __future__ import annotations

from typing import ClassVar

from counterrank.online.dbgd import DBGD


class MGD(DBGD):
    """Multileave gradient descent: four rivals, team-draft multileaving, a step to the mean of the winners.

    A page of five places has room for four rivals and the weights themselves.
    """

    name: ClassVar[str] = "mgd"
    says: ClassVar[str] = "duels with four other sets of weights at once"
    rivals: ClassVar[int] = 4
