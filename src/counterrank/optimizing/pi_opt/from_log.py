"""PI-OPT on a log: count it, compute φ̂, fit, and rank every query that has features."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from counterrank.engine import Engine
from counterrank.errors import InputError, Unanswerable, unknown
from counterrank.estimate import Pseudoinverse
from counterrank.estimate.pseudoinverse.phi import Phi, page_credits
from counterrank.ids import Codes
from counterrank.log import Log
from counterrank.log.features import Features, read_features
from counterrank.optimizing.candidates import Ranked, ranked_items
from counterrank.optimizing.pi_opt.examples import Examples, Vector
from counterrank.optimizing.pi_opt.pi_opt import SLOTS, PiOpt, pi_opt
from counterrank.optimizing.pi_opt.remarks import remarks
from counterrank.optimizing.pi_opt.value import HeldOut, held_out, random_page
from counterrank.optimizing.result import Optimization, flat
from counterrank.records import dataclass
from counterrank.regress import REGRESSIONS, folds_of
from counterrank.setting.counting import count
from counterrank.setting.evidence import LogEvidence
from counterrank.setting.options import check_top
from counterrank.setting.plan import plan_for
from counterrank.setting.setting import Setting, chosen_metric
from counterrank.statistics.counts import Counts
from counterrank.statistics.pairs import Table

SEEN = "learnt from features"
UNSEEN = "unseen query: ranked as other queries taught"
BARE = "its logged items have no features: ranked as other queries taught"


@dataclass(frozen=True, repr=False, kw_only=True)
class Learnt(Optimization):
    """Rankings learnt from features."""

    model: str
    chosen: str
    r2: float | None
    slots: str
    gains: list[float]
    held_out: HeldOut | None

    def details(self) -> dict[str, Any]:
        judged = asdict(self.held_out) if self.held_out is not None else None
        return {
            "model": self.model, "chosen": self.chosen, "r2": self.r2, "slots": self.slots, "gains": self.gains,
            "held_out": judged,
        }  # fmt: skip

    def how(self) -> str:
        return f", {self.model} ({self.chosen})"


def pi_opt_from_log(
    log: Log,
    *,
    features: Any = None,
    model: str = "ridge",
    slots: str = "shared",
    k: int | None = None,
    candidates: Any = None,
    logging: Any = None,
    metric: str | None = None,
    weights: str | Sequence[float] = "clicks",
    engine: str | Engine = "duckdb",
) -> Learnt:
    """The policy that PI-OPT learns from a log; the options are those of the command."""
    _check(features, model, slots, k, logging)
    known = read_features(features)
    # clicks below position k are not part of the page that is to be filled
    top = k if chosen_metric(log, metric) == "clicks" else None
    setting = Setting.of(log, metric=metric, top=top, weights=weights, logging=logging, candidates=candidates)
    needs = Pseudoinverse.needs
    run = count(setting, plan_for(needs, setting), engine)
    evidence = setting.evidence(run, needs)
    counts = evidence.counts
    positions = counts.longest if k is None else int(k)
    if positions > counts.longest:
        raise Unanswerable(
            f"`k` is {k}, but the log's longest list has {counts.longest} positions: nothing is known of those below; "
            f"give at most {counts.longest}"
        )
    phi = page_credits(evidence)
    examples = _examples(evidence, phi, known)
    ids = counts.pairs.query_ids.integer, counts.pairs.item_ids.integer
    ranked = ranked_items(known, candidates, min(positions, counts.pairs.positions), ids)
    learnt = pi_opt(examples, model, slots, held_out=True)
    reward = counts.origin + counts.reward / counts.impressions
    lengths = np.minimum(counts.pairs.lengths, positions)
    judged = held_out(examples, learnt, lengths, reward, counts.impressions)
    rows, scores = learnt.rank(ranked.features, ranked.pairs.starts, ranked.pairs.lengths, ranked.allowed)
    values, seen = _values(examples, learnt, ranked, rows, scores, counts)
    reasons = np.where(seen >= 0, np.where(examples.bare[seen], BARE, SEEN), UNSEEN)
    offsets, items = flat(rows, ranked.pairs.items)
    return Learnt(
        by="pi-opt",
        model=model,
        chosen=learnt.chosen,
        r2=learnt.r2,
        metric=setting.metric,
        impressions=counts.total,
        covered=counts.total / counts.log_impressions,
        positions=positions,
        slots=slots,
        gains=learnt.gains.tolist(),
        held_out=judged,
        query_ids=ranked.pairs.query_ids,
        item_ids=ranked.pairs.item_ids,
        queries=np.arange(len(ranked.pairs.query_ids)),
        offsets=offsets,
        items=items,
        values=values,
        reasons=reasons.tolist(),
        reading=run.reading,
        notes=remarks(
            run.reading,
            setting,
            evidence,
            examples,
            learnt,
            judged,
            phi=phi,
            ranked=ranked,
            unseen=int((seen < 0).sum()),
            known=known,
        ),
    )


def _check(features: Any, model: str, slots: str, k: int | None, logging: Any) -> None:
    """Refuse options that PI-OPT cannot use."""
    if features is None:
        raise InputError("pi-opt learns from features: give `features=FILE`, with rows query, item and numeric columns")
    if model not in REGRESSIONS:
        raise unknown("model", model, REGRESSIONS)
    if slots not in SLOTS:
        raise unknown("slots", slots, SLOTS)
    check_top(k, "`k`")
    if isinstance(logging, str) and logging == "propensity":
        raise InputError(
            "`logging='propensity'` tells the chance of whole rankings, but pi-opt needs that of each two items: "
            "leave it out (shares of the log), or give the policy"
        )


def _examples(evidence: LogEvidence, phi: Phi, known: Features) -> Examples:
    """φ̂ of what the log shows, where it has features."""
    counts = evidence.counts
    pairs = counts.pairs
    values, missing = known.on(pairs)
    weight = np.where(missing[:, None], 0.0, phi.shown * counts.impressions[pairs.queries][:, None])
    examples = Examples(pairs.starts, values, phi.values, weight, folds_of(pairs.query_ids.texts))
    if examples.bare.all():
        raise Unanswerable(
            f"nothing that the log shows has features: the log begins with query {pairs.query_ids.texts[0].as_py()!r}, "
            f"item {pairs.item_ids.texts[int(pairs.items[0])].as_py()!r}, the features with "
            f"{known.query[0].as_py()!r}, {known.item[0].as_py()!r}: give features of the log's queries and items"
        )
    return examples


def _values(
    examples: Examples, learnt: PiOpt, ranked: Ranked, rows: Codes, scores: Table, counts: Counts
) -> tuple[Vector, Codes]:
    """What each ranking is predicted to be worth, and the log's query of each, -1 where it has none.

    A query of the log: its mean reward, and by how much the ranking's scores exceed those of what was logged there. Any
    other: the worth of a random page of the log's queries, and by how much its scores exceed its candidates' mean.
    """
    reward = counts.origin + counts.reward / counts.impressions
    seen = counts.pairs.query_ids.codes(ranked.pairs.query_ids.texts)
    depth = scores.shape[1]
    logged, told, random = random_page(
        examples, learnt.scores(np.nan_to_num(examples.features)), reward, counts.impressions
    )
    taught = (seen >= 0) & told[seen].any(axis=1)
    mean = np.add.reduceat(scores, ranked.pairs.starts[:-1]) / ranked.pairs.sizes[:, None]
    level = np.where(taught[:, None], logged[seen][:, :depth], mean)
    counted = (rows >= 0) & np.where(taught[:, None], told[seen][:, :depth], True)
    extra = np.where(counted, scores[rows, np.arange(depth)] - level, 0.0).sum(axis=1)
    return np.where(taught, reward[seen], random) + extra, seen
