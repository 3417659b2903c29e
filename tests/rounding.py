"""How far two calculations of one number may lie apart."""

from __future__ import annotations

import numpy as np


def allowed(condition: float, least: float = 1e-9) -> float:
    """Where equations are solved, rounding counts as often as their condition number says; processors round otherwise.

    `least` is what other rounding may do. The equations' own numbers are taken to be of size 1.
    """
    return max(least, condition * float(np.finfo(np.float64).eps))
