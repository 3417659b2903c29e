"""What a user of pessimistic rankings must know, in words."""

from __future__ import annotations

import numpy as np

from counterrank.click import CLICK_MODELS, ClickCounts
from counterrank.ids import Codes
from counterrank.log import Reading
from counterrank.optimizing.pessimistic.auto_delta import FIXED, DeltaCurve
from counterrank.optimizing.pessimistic.stock import Stock
from counterrank.optimizing.pessimistic.worth import CLICK_WORTHS, Table, Vector, best_lists, wide
from counterrank.posterior import Prior
from counterrank.posterior.priors import HIGH, LOW
from counterrank.words import counted, number

CHOSEN = "best lower bound"
LOST = 0.01  # share of the clicks from which it is said
KEPT = "keeps its most logged ranking"


def reasons_of(counts: ClickCounts, examined: Codes, lengths: Codes, least: int) -> list[str]:
    """Why each query has the ranking it has."""
    said = []
    clicks = counts.clicks_at().sum(axis=1).tolist()
    rows = zip(counts.impressions.tolist(), examined.tolist(), lengths.tolist(), clicks, strict=True)
    for n, seen, length, clicked in rows:
        if n < least:
            said.append(f"{counted(n, 'impression')}, fewer than {least:,}: {KEPT}")
        elif seen < length:
            said.append(f"{counted(seen, 'examined item')} for {counted(length, 'position')}: {KEPT}")
        elif not clicked:
            said.append(f"no clicks: {KEPT}")
        else:
            said.append(CHOSEN)
    return said


def remarks(
    reading: Reading, counts: ClickCounts, stock: Stock, model: str, prior: Prior | None, curve: DeltaCurve | None,
    *, kept: Codes, lengths: Codes, value: float, logged: float,
) -> list[str]:  # fmt: skip
    """Everything below the table, the most important first."""
    worth = CLICK_WORTHS[model]
    said = [
        f"worth at least {number(value)} on average ({worth.meaning}); the most logged rankings by the same bounds: "
        f"{number(logged)}"
    ]
    left = int(kept.sum())
    if left:
        share = counts.impressions[kept].sum() / counts.total
        said.append(f"{counted(left, 'query', 'queries')} ({share:.1%} of the impressions) {_keep(left)}")
    if curve is not None:
        said.append(_chosen(curve))
    if prior is not None:
        said += _edges(prior)
    if not worth.additive and (low := _best_lower_down(stock.heights, lengths)):
        said.append(
            f"in {counted(low, 'query', 'queries')} the most attractive item does not stand first: by the log's clicks "
            "another position is more often where the search ends (below the last one there is nothing to go on to)"
        )
    assumption = CLICK_MODELS[model.split("-")[0]].assumption.rstrip(".")
    said.append(f"assumed: {assumption[0].lower()}{assumption[1:]}")
    if worth.caution:
        said.append(worth.caution)
    return [*said, *stock.notes, *reading.notes]


def clicks_lost(stock: Stock, model: str, lower: Vector, rows: Codes, places: Codes, impressions: Codes) -> list[str]:
    """How many clicks a list gives up that aims at something else, by the click model itself."""
    if CLICK_WORTHS[model].additive or stock.heights.ndim == 0:
        return []
    rows = rows[:, : stock.pairs.positions]  # of positions below the log's nothing is known
    queries, lengths = np.arange(len(rows)), (rows >= 0).sum(axis=1)
    down = best_lists(lower, stock.allowed, stock.pairs, np.ones(()), lengths, places)
    had, could = (float(impressions @ stock.model.value(queries, each)) / impressions.sum() for each in (rows, down))
    share = 1 - had / could if could > 0 else 0.0
    if share < LOST:
        return []
    return [
        f"these lists aim at the click that ends the search, not at clicks: by the same model they have {number(had)} "
        f"clicks an impression, the same items with the best bound first {number(could)} ({share:.0%} are given up); "
        "for clicks use `click_model='pbm'` or 'cm'"
    ]


def _keep(number: int) -> str:
    return "keeps its most logged ranking" if number == 1 else "keep their most logged rankings"


def _chosen(curve: DeltaCurve) -> str:
    of = "held-out days" if curve.split == "days" else "folds held out by chance"
    if not curve.helped:
        return (
            f"`delta='auto'` did not help: on {counted(curve.queries, 'query', 'queries')} no δ was better than "
            f"{FIXED:g} beyond two standard errors, by {of}, so that δ = {FIXED:g}"
        )
    worst = int(np.argmin(curve.values))
    apart = float(curve.values.max() - curve.values[worst])
    error = f" ± {number(float(curve.errors[worst]), 2)}" if np.isfinite(curve.errors[worst]) else ""
    return (
        f"δ = {curve.best:g} was chosen on {counted(curve.queries, 'query', 'queries')} by {of}: lists are worth "
        f"{number(float(curve.values.max()))} there; the worst δ, {curve.deltas[worst]:g}, gives "
        f"{number(apart, 2)}{error} less"
    )


def _edges(prior: Prior) -> list[str]:
    if not prior.edge.any():
        return []
    number = 1 if prior.shared else int(prior.edge.sum())
    of = "the prior" if prior.shared else f"the prior of {counted(number, 'query', 'queries')}"
    return [
        f"{of} ended on an edge, α or β being {LOW:.3g} or {HIGH:,.0f}: items are too alike, too few or never "
        "clicked for the likelihood to have a top"
    ]


def _best_lower_down(heights: Table, lengths: Codes) -> int:
    """How many queries have a later position above the first."""
    each: Vector = wide(heights, len(lengths), max(int(lengths.max(initial=0)), 1))
    inside = np.arange(each.shape[1]) < lengths[:, None]
    return int((np.where(inside, each, -np.inf).max(axis=1) > each[:, 0]).sum())
