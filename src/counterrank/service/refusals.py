"""What is refused because of ourselves, not because of what came."""

from __future__ import annotations

from counterrank.service.bodies import Refused


def away(error: object) -> Refused:
    """The store is away or full: the caller may try again soon. The reason stays with us."""
    return Refused(503, "store_away", "the store is away or its queue is full: try again", retry=1.0)
