"""The log's rewards day by day."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from counterrank.ids import Codes
from counterrank.records import dataclass
from counterrank.statistics.pairs import sum_by

MOST_DAYS = 10_000  # a column with more distinct numbers does not hold days


@dataclass(frozen=True)
class DaySums:
    """Impressions, Σ reward and Σ reward² of each day, days rising.

    >>> one = DaySums(np.array([3, 4]), np.array([1, 2]), np.array([1.0, 0.0]), np.array([1.0, 0.0]))
    >>> (one + replace(one, days=np.array([4, 5]))).reward.tolist()
    [1.0, 1.0, 0.0]
    """

    days: Codes  # (D,)
    impressions: Codes  # (D,)
    reward: NDArray[np.float64]  # (D,) from the counts' origin
    reward2: NDArray[np.float64]  # (D,)

    @classmethod
    def gathered(
        cls, days: Codes, impressions: Codes, reward: NDArray[np.float64], reward2: NDArray[np.float64]
    ) -> DaySums:
        """From days in any order, repeats allowed."""
        every, at = np.unique(days, return_inverse=True)
        size = len(every)
        return cls(
            every, sum_by(at, impressions, size).astype(np.int64), sum_by(at, reward, size), sum_by(at, reward2, size)
        )

    def shifted(self, step: float) -> DaySums:
        """The same sums with `step` added to every reward."""
        n = self.impressions
        return replace(self, reward=self.reward + n * step, reward2=self.reward2 + 2 * step * self.reward + n * step**2)

    def __add__(self, other: DaySums) -> DaySums:
        return DaySums.gathered(
            np.concatenate([self.days, other.days]),
            np.concatenate([self.impressions, other.impressions]),
            np.concatenate([self.reward, other.reward]),
            np.concatenate([self.reward2, other.reward2]),
        )
