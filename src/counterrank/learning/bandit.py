"""The same gate for contextual bandits: one action, any reward, any context key (genspec2021, appendix C)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from counterrank.errors import InputError, unknown
from counterrank.ids import Codes, Ids, as_text
from counterrank.interval import empirical_bernstein
from counterrank.interval.betting import lower_bounds
from counterrank.learning.asked import confidence_of, share_of_rows
from counterrank.learning.gate.bounds import FEWEST
from counterrank.learning.gate.ties import CLOSE
from counterrank.learning.verdicts import GATES
from counterrank.policy import Table
from counterrank.records import dataclass
from counterrank.setting.options import check_range
from counterrank.statistics.draws import drawn_rows
from counterrank.statistics.order import in_order
from counterrank.statistics.pairs import sum_by
from counterrank.statistics.terms import Units

Vector = NDArray[np.float64]
Sides = tuple[Vector, Vector]


@dataclass(frozen=True, kw_only=True)
class Tries:
    """Rows of (context, action, reward, propensity); a cell is a (context, action) that was tried."""

    contexts: Ids
    context: Codes  # (N,)
    cell: Codes  # (N,)
    cell_context: Codes  # (C,)
    cell_action: pa.Array  # (C,) text
    reward: Vector  # (N,)
    propensity: Vector  # (N,)
    limits: tuple[float, float]  # of rewards

    def estimate(self, rows: NDArray[np.bool_]) -> Vector:
        """(C,) Σ reward/ρ over the tries of a context, by its number of tries."""
        weight = np.where(rows, self.reward / self.propensity, 0.0)
        n = sum_by(self.context, rows.astype(np.float64), len(self.contexts))
        return sum_by(self.cell, weight, len(self.cell_context)) / np.maximum(n, 1)[self.cell_context]

    def best(self, rows: NDArray[np.bool_]) -> Vector:
        """(C,) the special policy: the action with the best estimate; equal ones alike."""
        value = self.estimate(rows)
        most = np.full(len(self.contexts), -np.inf)
        np.maximum.at(most, self.cell_context, value)
        top = value >= (most - CLOSE * np.abs(most))[self.cell_context]
        often = sum_by(self.cell_context, top.astype(np.float64), len(self.contexts))
        return np.asarray(top / often[self.cell_context], dtype=np.float64)


@dataclass(frozen=True, kw_only=True)
class ActionGate:
    """Who acts for each context: `gate` has a row each, `policy` the actions where logging does not act."""

    gate: pa.Table
    general: dict[str, Any] | None
    split: dict[str, int]
    confidence: float | None
    policy: Table | None


def learn_actions(
    contexts: Any,
    actions: Any,
    rewards: Any,
    propensities: Any,
    *,
    reward_range: Any,
    general: Mapping[Any, Any] | None = None,
    gate: str = "betting",
    confidence: float | str | None = 0.95,
    selection: Any = None,
    selection_share: float = 0.5,
    seed: int = 0,
) -> ActionGate:
    """GENSPEC where one action is taken a time (eqs. 53 to 57): the best action of each context, where it wins.

    propensities: the chance with which the logging policy took the action that it took. general: {context: action}, or
    {context: {action: chance}}; contexts that it lacks stay with logging. selection: which rows the gate judges by;
    else they are dealt by what they hold. `reward_range`: (least, largest), from which b comes. Exact for known
    propensities and independent rows.

    >>> rows = ["z"] * 400, ["a", "b"] * 200, [0.0, 1.0] * 200, [0.5] * 400
    >>> found = learn_actions(*rows, reward_range=(0, 1))
    >>> found.gate["acts"].to_pylist(), found.policy.rank("z")
    (['special'], ['b'])
    """
    if gate not in GATES:
        raise unknown("gate", gate, GATES)
    sure, share = confidence_of(confidence), share_of_rows(selection_share, "selection_share")
    tries = _tries(contexts, actions, rewards, propensities, reward_range)
    judged = _judged(tries, selection, share, seed)
    size = len(tries.contexts)
    own, has = _chances(tries, general)
    verdict, active = None, False
    if general is not None:
        mine = _weight(tries, np.where(has[tries.cell_context], own, np.nan))
        found = _ends(tries, judged, (mine, np.ones(len(mine))), gate, sure, whole=True)
        active = bool(_wins(found, sure)[0])
        verdict = {"active": active, **{name: _number(found[name][0]) for name in ("difference", "lower", "upper")}}
    otherwise = np.where(has[tries.cell_context] & active, own, np.nan)
    sides = _weight(tries, tries.best(~judged)), _weight(tries, otherwise)
    found = _ends(tries, judged, sides, gate, sure)
    wins = _wins(found, sure)
    acts = np.where(wins, "special", np.where(has & active, "general", "logging"))
    table = pa.table({
        "context": tries.contexts.column(),
        "impressions": pa.array(found["n"].astype(np.int64)),
        **{name: pa.array(found[name], mask=~np.isfinite(found[name])) for name in ("difference", "lower", "upper")},
        "acts": pa.array(acts.tolist(), pa.string()),
    })  # fmt: skip
    served = np.where(wins[tries.cell_context], tries.best(np.ones(len(judged), dtype=bool)), own)
    keep = np.flatnonzero((served > 0) & (acts != "logging")[tries.cell_context])
    split = {"train": int((~judged).sum()), "selection": int(judged.sum()), "contexts": size}
    return ActionGate(
        gate=table, general=verdict, split=split, confidence=sure, policy=_policy(tries, keep, served[keep])
    )


def _tries(contexts: Any, actions: Any, rewards: Any, propensities: Any, reward_range: Any) -> Tries:
    texts = [as_text(pa.array(each), name) for each, name in ((contexts, "context"), (actions, "action"))]
    r, rho = (np.asarray(each, dtype=np.float64) for each in (rewards, propensities))
    if len({len(texts[0]), len(texts[1]), len(r), len(rho)}) > 1 or not len(r):
        raise InputError("contexts, actions, rewards and propensities must be as many as each other, and at least one")
    limits = check_range(reward_range)
    if limits is None:
        raise InputError("`reward_range` is missing: bounds need the least and the largest reward, such as 0,1")
    if not ((r >= limits[0]) & (r <= limits[1])).all():
        raise InputError(
            f"a reward lies outside `reward_range` {limits[0]:g},{limits[1]:g}: give a range that holds all"
        )
    if not ((rho > 0) & (rho <= 1)).all():
        raise InputError("a propensity is not in (0, 1]: give the chance of the action that was taken")
    ids = [in_order(Ids(each.unique()))[0] for each in texts]
    context, action = (of.codes(each) for of, each in zip(ids, texts, strict=True))
    keys, cell = np.unique((context << 32) | action, return_inverse=True)
    names = ids[1].texts.take(pa.array(keys & 0xFFFFFFFF))
    return Tries(
        contexts=ids[0], context=context, cell=cell, cell_context=keys >> 32, cell_action=names, reward=r,
        propensity=rho, limits=limits,
    )  # fmt: skip


def _judged(tries: Tries, selection: Any, share: float, seed: int) -> NDArray[np.bool_]:
    """(N,) the rows that the gate judges by."""
    if selection is not None:
        chosen = np.asarray(selection, dtype=bool)
        if len(chosen) != len(tries.reward):
            raise InputError(
                f"`selection` has {len(chosen)} entries, but {len(tries.reward)} rows came: give one a row"
            )
        return chosen
    rows = [
        f"{context}\x1f{action}\x1f{reward!r}\x1f{rho!r}"
        for context, action, reward, rho in zip(
            tries.contexts.texts.take(pa.array(tries.context)).to_pylist(),
            tries.cell_action.take(pa.array(tries.cell)).to_pylist(),
            tries.reward.tolist(),
            tries.propensity.tolist(),
            strict=True,
        )
    ]
    return drawn_rows(pa.array(rows), share, seed)


def _chances(tries: Tries, general: Mapping[Any, Any] | None) -> tuple[Vector, NDArray[np.bool_]]:
    """(C,) the chances of the general policy, and which contexts it has."""
    chance, has = np.zeros(len(tries.cell_context)), np.zeros(len(tries.contexts), dtype=bool)
    at = {
        (context, action): cell
        for cell, (context, action) in enumerate(
            zip(tries.cell_context.tolist(), tries.cell_action.to_pylist(), strict=True)
        )
    }
    for context, given in (general or {}).items():
        [code] = tries.contexts.codes(pa.array([str(context)])).tolist()
        if code < 0:
            continue
        has[code] = True
        for action, often in (given if isinstance(given, Mapping) else {given: 1.0}).items():
            if (code, str(action)) in at:
                chance[at[code, str(action)]] = float(often)
    return chance, has


def _weight(tries: Tries, chance: Vector) -> Vector:
    """(N,) π(a|z)/ρ of each row; 1 where the chance is NaN, which stands for the logging policy."""
    mine = chance[tries.cell]
    return np.where(np.isnan(mine), 1.0, np.nan_to_num(mine) / tries.propensity)


def _ends(
    tries: Tries, judged: NDArray[np.bool_], sides: Sides, gate: str, confidence: float | None, *, whole: bool = False
) -> dict[str, Vector]:
    """Difference, lower and upper of each context, or of all; the sides are π₁/ρ and π₂/ρ of each row."""
    size = 1 if whole else len(tries.contexts)
    every = np.zeros_like(tries.context) if whole else tries.context
    weight, group = sides[0] - sides[1], every[judged]
    n = sum_by(group, np.ones(len(group)), size)
    told = sum_by(group, (tries.reward[judged] != 0).astype(np.float64), size)
    term = (tries.reward * weight)[judged]
    with np.errstate(invalid="ignore", divide="ignore"):
        value = sum_by(group, term, size) / n
    out, none = {"n": n, "difference": value}, np.full(size, np.nan)
    if confidence is None:
        return out | {"lower": none, "upper": none}
    if gate == "betting":
        lower, upper = _bets(tries, every, weight, (group, term), size, confidence)
    else:
        least = np.full(size, np.inf)
        np.minimum.at(least, every, tries.propensity)
        b = max(map(abs, tries.limits)) / least
        terms = [term] if gate == "genspec" else [(tries.reward * side)[judged] for side in sides]
        half = np.add.reduce([_half(each, group, n, b, confidence) for each in terms])
        lower, upper = value - half, value + half
    enough = (told >= FEWEST) & np.isfinite(lower) & np.isfinite(upper)
    return out | {"lower": np.where(enough, lower, np.nan), "upper": np.where(enough, upper, np.nan)}


def _half(term: Vector, group: Codes, n: Vector, b: Vector, confidence: float) -> Vector:
    """Eq. 55."""
    mean = sum_by(group, term, len(n)) / np.maximum(n, 1)
    return empirical_bernstein(sum_by(group, (term - mean[group]) ** 2, len(n)), n, b, confidence)


def _bets(
    tries: Tries, every: Codes, weight: Vector, terms: tuple[Codes, Vector], size: int, confidence: float
) -> tuple[Vector, Vector]:
    """Both ends by betting; no term is below what the worst action that was tried could bring."""
    group, term = terms
    worst = np.minimum(tries.limits[0] * weight, tries.limits[1] * weight)
    best = np.maximum(tries.limits[0] * weight, tries.limits[1] * weight)
    least, most = np.zeros(size), np.zeros(size)
    np.minimum.at(least, every, worst)
    np.maximum.at(most, every, best)
    order = np.argsort(group, kind="stable")
    starts, t = np.searchsorted(group[order], np.arange(size + 1)), term[order]
    one = np.ones(len(t))
    units, delta = Units(one, t, t, t, one), (1 - confidence) / 2
    return lower_bounds(starts, units, least, delta), -lower_bounds(starts, units.mirrored(), -most, delta)


def _wins(found: dict[str, Vector], confidence: float | None) -> NDArray[np.bool_]:
    with np.errstate(invalid="ignore"):
        return np.asarray(found["difference" if confidence is None else "lower"] > 0)


def _number(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def _policy(tries: Tries, cells: Codes, chance: Vector) -> Table | None:
    """Rankings of one item each; chances of actions that were never tried are left out, the others scaled to 1."""
    if not len(cells):
        return None
    context = tries.cell_context[cells]
    total = np.bincount(context, chance, len(tries.contexts))
    offsets = pa.array(np.arange(len(cells) + 1), pa.int32())
    items = pa.ListArray.from_arrays(offsets, tries.cell_action.take(pa.array(cells)))
    return Table(tries.contexts.texts.take(pa.array(context)), items, chance / total[context])
