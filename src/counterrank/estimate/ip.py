"""Item-position: a click depends on the item and on where it stands."""

from __future__ import annotations

from typing import ClassVar

from counterrank.estimate.by_clicks import ByClicks


class ItemPosition(ByClicks):
    """V = 1/n Σᵢ Σₖ θₖ·clickᵢₖ·min(h(aₖ,k|q)/π(aₖ,k|q), M).

    Unbiased if the chance of a click depends only on the query, the item and its position, wherever the target's
    (item, position) pairs were logged and nothing was clipped. Reference: li2018, section 3.2 and table 2.
    """

    name: ClassVar[str] = "ip"
    assumption: ClassVar[str] = "a click depends on the item and its position, not on the other items shown"
    assumes: ClassVar[int] = 1
