"""A made-up world: queries, items, users who click by a known model, and a policy that logs."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike

from counterrank.click import Cascade, ClickModel, DependentClick, PositionBased
from counterrank.click.base import Floats
from counterrank.errors import InputError, unknown
from counterrank.ids import Ids
from counterrank.policy.base import Policy
from counterrank.policy.mixture import Mixture
from counterrank.policy.plackett_luce import PlackettLuce
from counterrank.policy.scores import Scores
from counterrank.records import dataclass
from counterrank.statistics.pairs import Pairs

MOST = {
    "impressions": 10**10, "days": 10**6, "chunk": 10**9, "queries": 10**8, "items": 10**7, "k": 10**4, "pairs": 10**9,
    "zipf": 100, "eta": 100, "noise": 10**6, "drift": 10**6,
}  # fmt: skip
USERS: dict[str, type[ClickModel]] = {"cm": Cascade, "dcm": DependentClick, "pbm": PositionBased}


@dataclass(frozen=True, kw_only=True)
class World:
    """Everything that makes a log, known exactly: what estimates are judged by.

    Assumes that impressions are independent, that users do not change, and that the logging policy is Plackett–Luce
    over `scores` at `temperature`, replaced by a uniform ranking with chance `uniform_share`.

    >>> world = make_world(queries=3, items=4, k=2, users="pbm", seed=1)
    >>> world.better().rank("q1") == list(reversed(world.worse().rank("q1")))
    True
    """

    pairs: Pairs
    frequencies: Floats  # (Q,) the share of each query, sums to 1
    attraction: Floats  # (P,)
    users: ClickModel
    scores: Floats  # (P,) what the logging policy ranks by
    temperature: float = 1.0
    uniform_share: float = 0.0

    def logging_policy(self, shift: Floats | None = None) -> Policy:
        """What produces the log; `shift` (P,) is added to its scores, as on a day of drift."""
        scores = self.scores if shift is None else self.scores + shift
        policy = PlackettLuce(self._scores(scores), self.temperature)
        return Mixture(policy, self.uniform_share) if self.uniform_share > 0 else policy

    def logging_scores(self) -> Scores:
        """The logging policy's scores divided by its temperature: Plackett–Luce at temperature 1 is that policy."""
        if self.uniform_share > 0:
            raise InputError(
                f"logging is uniform with chance {self.uniform_share:g}, which scores cannot say: set it to 0"
            )
        return self._scores(self.scores / self.temperature)

    def better(self) -> Scores:
        """Items by their true attraction: for cm and pbm users no ranking has more clicks (dcm: not always)."""
        return self._scores(self.attraction)

    def worse(self) -> Scores:
        """Items by their true attraction, least attractive first."""
        return self._scores(-self.attraction)

    def _scores(self, scores: Floats) -> Scores:
        queries = self.pairs.query_ids.texts.take(pa.array(self.pairs.queries))
        items = self.pairs.item_ids.texts.take(pa.array(self.pairs.items))
        return Scores(queries, items, pa.array(scores))


def make_world(
    *,
    queries: int = 100,
    items: int = 20,
    k: int = 10,
    users: str = "pbm",
    seed: int = 0,
    beta: tuple[float, float] = (1.0, 3.0),
    zipf: float = 1.0,
    eta: float = 1.0,
    continuation: ArrayLike | None = None,
    noise: float = 1.0,
    temperature: float = 1.0,
    uniform_share: float = 0.0,
) -> World:
    """A world drawn from a seed.

    Attraction is drawn from Beta(`beta`) for each (query, item); the r-th query has frequency ∝ 1/r^`zipf` (0: all
    alike); examination is 1/k^`eta` (pbm) and `continuation` λ_k = 1 − exp((0.5 − k)/0.5) unless given (dcm; cief2024,
    appendix C, as corrected). The logging policy scores an item by logit(attraction) + `noise` · N(0, 1).

    >>> make_world(queries=2, items=3, k=3, users="cm", zipf=1).frequencies.round(3).tolist()
    [0.667, 0.333]
    """
    _check(
        queries, items, k, users, beta, zipf, eta=eta, noise=noise, temperature=temperature, uniform_share=uniform_share
    )
    rng = np.random.default_rng(seed)
    attraction = rng.beta(*beta, queries * items)
    safe = np.clip(attraction, 1e-3, 1 - 1e-3)
    scores = np.log(safe / (1 - safe)) + noise * rng.standard_normal(len(safe))
    weight = np.arange(1, queries + 1, dtype=np.float64) ** -zipf
    pairs = Pairs.build(
        Ids(pa.array(_names("q", queries))),
        Ids(pa.array(_names("i", items))),
        np.repeat(np.arange(queries), items),
        np.tile(np.arange(items), queries),
        np.full(queries, k),
        positions=k,
    )
    place = np.arange(1, k + 1, dtype=np.float64)
    go_on = 1 - np.exp((0.5 - place) / 0.5) if continuation is None else np.asarray(continuation, dtype=np.float64)
    make: dict[str, Callable[[], ClickModel]] = {
        "cm": lambda: Cascade(attraction),
        "dcm": lambda: DependentClick(attraction, go_on),
        "pbm": lambda: PositionBased(attraction, place**-eta),
    }
    return World(
        pairs=pairs,
        frequencies=weight / weight.sum(),
        attraction=attraction,
        users=make[users](),
        scores=scores,
        temperature=temperature,
        uniform_share=uniform_share,
    )


def _names(letter: str, count: int) -> list[str]:
    """Ids of one width, so that their order as text is their order as numbers."""
    width = len(str(count))
    return [f"{letter}{number:0{width}d}" for number in range(1, count + 1)]


def check_counts(given: dict[str, int]) -> None:
    """Refuse what is below 1, or what no disk or memory would hold."""
    for what, number in given.items():
        if number < 1:
            raise InputError(f"{what} is {number}: give 1 or more")
        if number > MOST[what]:
            raise InputError(f"{what} is {number}: give at most {MOST[what]:,}")


def _check(
    queries: int,
    items: int,
    k: int,
    users: str,
    beta: tuple[float, float],
    zipf: float,
    *,
    eta: float,
    noise: float,
    temperature: float,
    uniform_share: float,
) -> None:
    if users not in USERS:
        raise unknown("users' click model", users, USERS)
    check_counts({"queries": queries, "items": items, "k": k})
    if queries * items > MOST["pairs"]:
        raise InputError(f"queries times items is {queries * items:,}: give at most {MOST['pairs']:,} in all")
    if k > items:
        raise InputError(f"k is {k} but there are only {items} items: give a k of at most {items}")
    if not (min(beta) > 0 and np.isfinite(beta).all()):
        raise InputError(f"beta is {beta[0]:g},{beta[1]:g}: give two positive numbers")
    for what, value in {"zipf": zipf, "eta": eta, "noise": noise}.items():
        if not 0 <= value <= MOST[what]:
            raise InputError(f"{what} is {value:g}: give a number from 0 to {MOST[what]:,}")
    if not (np.isfinite(temperature) and temperature > 0):
        raise InputError(f"temperature is {temperature:g}: give a positive number")
    if not 0 <= uniform_share <= 1:
        raise InputError(f"uniform share is {uniform_share:g}: give a number from 0 to 1")
