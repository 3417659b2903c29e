"""Pseudoinverse with self-normalised weights."""

from __future__ import annotations

from typing import ClassVar

from counterrank.estimate.pi import Pseudoinverse


class WeightedPseudoinverse(Pseudoinverse):
    """V = Σᵢ wᵢ·rewardᵢ / Σᵢ wᵢ, with the weights of `pi`.

    Trades a small bias for less variance; does not change when a constant is added to all rewards. Undefined where the
    weights sum to 0. Reference: swaminathan2017, section 4, normalises IPS so.
    """

    name: ClassVar[str] = "wpi"
    assumption: ClassVar[str] = "as pi; and what the log cannot tell is worth what it can"
    self_normalised: ClassVar[bool] = True
    has_deviation: ClassVar[bool] = False
