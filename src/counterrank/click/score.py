"""How well a click model predicts clicks that it was not fitted to."""

from __future__ import annotations

from typing import Any

import numpy as np

from counterrank.click.base import ClickModel, Floats
from counterrank.compiled import njit
from counterrank.records import dataclass
from counterrank.statistics.patterns import Patterns
from counterrank.threads import in_two

FLOOR = 1e-6  # a chance below it counts as this much: a model that rules out what happened has no finite score else
_SMALL = 1e-100
CHUNK = 1 << 13  # patterns that a thread looks at in one go
WORTH = 1 << 14  # patterns below which a second thread costs more than it brings


@dataclass(frozen=True, kw_only=True)
class Score:
    """Of one model on one set of impressions; per-pattern parts are kept, so that models can be compared in pairs."""

    log_likelihood: float  # mean over impressions of Σ_k log P(click_k | clicks above) / positions shown
    perplexity: float  # mean over positions
    by_position: Floats  # (K,) 2 ** −mean log₂ P(click_k), whatever else was clicked; NaN where nothing was shown
    impossible: int  # impressions with a click, or a missing one, to which the model gives no chance
    logs: Floats  # (G,) of each pattern, per position shown
    influence: Floats  # (G,) of each pattern on the perplexity
    impressions: Floats  # (G,)

    def better(self, other: Score) -> dict[str, tuple[float, float]]:
        """How far `other` is behind: difference and its standard error, paired over impressions."""
        return {
            "log_likelihood": (
                other.log_likelihood - self.log_likelihood, _error(other.logs - self.logs, self.impressions),
            ),
            "perplexity": (
                other.perplexity - self.perplexity, _error(other.influence - self.influence, self.impressions),
            ),
        }  # fmt: skip


def score(model: ClickModel, patterns: Patterns) -> Score:
    """Log-likelihood and perplexity of a model on impressions.

    Perplexity is 1 for a prophet and 2 for a coin; the log-likelihood is 0 for a prophet. Log-likelihood knows the
    clicks above each position, perplexity does not. Chances below 1e-6 count as 1e-6.
    """
    n = patterns.impressions.astype(np.float64)
    positions = patterns.coded.shape[1]
    logs, ruled_out = np.zeros(len(patterns)), np.zeros(len(patterns), dtype=np.bool_)
    bits, influence = np.zeros((len(patterns), positions)), np.zeros(len(patterns))
    sums: dict[int, Floats] = {}  # by where a thread begins: bits and impressions of each position

    def run(begin: int, end: int) -> None:
        own = np.zeros((2, positions))
        for part in _chunks(begin, end):
            some = patterns.at(part)
            rankings = some.rankings
            given = _plain(model.conditional_probabilities(some.queries, rankings, some.clicks), rankings.shape)
            alone = _plain(model.click_probabilities(some.queries, rankings), rankings.shape)
            _happened(some.coded, n[part], given, alone, logs[part], ruled_out[part], bits[part], own)
        sums[begin] = own

    in_two(run, len(patterns), WORTH)
    total, at = np.sum([sums[begin] for begin in sorted(sums)], axis=0)
    mean = np.divide(total, at, out=np.full(positions, np.nan), where=at > 0)
    by_position = 2.0**mean
    ok = at > 0
    # what an impression adds to 2^mean, averaged over positions; a position that it does not reach it leaves alone
    slope = np.where(ok, np.log(2) * by_position / np.where(ok, at, 1) * n.sum() / ok.sum(), 0.0)

    def weigh(begin: int, end: int) -> None:
        for part in _chunks(begin, end):
            influence[part] = np.where(patterns.coded[part] >= 0, bits[part] - mean, 0.0) @ slope

    in_two(weigh, len(patterns), WORTH)
    return Score(
        log_likelihood=float(n @ logs / n.sum()),
        perplexity=float(by_position[ok].mean()),
        by_position=by_position,
        impossible=int(patterns.impressions[ruled_out].sum()),
        logs=logs,
        influence=influence,
        impressions=n,
    )


def _plain(chances: Floats, shape: tuple[int, ...]) -> Floats:
    """As kernels take it, also where a model gives one row for all."""
    return np.ascontiguousarray(np.broadcast_to(chances, shape), dtype=np.float64)


@njit(nogil=True)
def _happened(
    coded: Any, n: Any, given: Any, alone: Any, logs: Any, ruled_out: Any, bits: Any, sums: Any
) -> None:  # fmt: skip
    """What the chances say of the clicks that happened; nothing is said of what is beyond a ranking's end.

    What is no number stays none.
    """
    for g in range(len(coded)):
        total, product, shown = 0.0, 1.0, 0  # logarithms are dear: one for many factors
        for k in range(coded.shape[1]):
            if coded[g, k] < 0:
                continue
            clicked = coded[g, k] & 1 == 1
            chance = given[g, k] if clicked else 1.0 - given[g, k]
            ruled_out[g] |= chance <= 0.0
            product *= FLOOR if chance < FLOOR else chance
            if product < _SMALL:
                total += np.log(product)
                product = 1.0
            chance = alone[g, k] if clicked else 1.0 - alone[g, k]
            bits[g, k] = -np.log2(FLOOR if chance < FLOOR else chance)
            sums[0, k] += n[g] * bits[g, k]
            sums[1, k] += n[g]
            shown += 1
        logs[g] = (total + np.log(product)) / shown if shown > 0 else np.nan


def _chunks(begin: int, end: int) -> list[slice]:
    return [slice(start, min(start + CHUNK, end)) for start in range(begin, end, CHUNK)]


def _error(values: Floats, impressions: Floats) -> float:
    """The standard error of the mean over impressions."""
    total = impressions.sum()
    mean = impressions @ values / total
    return float(np.sqrt(impressions @ (values - mean) ** 2 / max(total - 1, 1) / total))
