"""What is asked of a log, whichever policy is judged: worth what, how deep, against which logging policy."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from counterrank.engine import Metric, Pass
from counterrank.errors import InputError, Unanswerable, unknown
from counterrank.log import Log
from counterrank.policy import BoundPolicy, Logged, LoggedShares, Policy, Uniform, read_policy
from counterrank.records import dataclass
from counterrank.setting.evidence import LogEvidence
from counterrank.setting.need import Need
from counterrank.setting.options import (
    check_clip,
    check_length,
    check_top,
    examination_curve,
    is_fitted,
    position_weights,
)
from counterrank.statistics.counts import Counts
from counterrank.statistics.memo import remembered

if TYPE_CHECKING:
    from counterrank.click.curve import Curve

METRICS: tuple[Metric, ...] = ("reward", "clicks")
LOGGINGS = ("log", "propensity", "uniform")
PROPENSITIES = frozenset({"propensity", "item_propensities"})  # columns that tell of the logging policy


@dataclass(frozen=True, kw_only=True)
class Setting:
    """Options of a command, checked and complete.

    `logging` is None where the log's own shares stand for the logging policy; `given` is the same before candidates
    took the place of all items. `by_propensity`: the log's column tells the chance of each ranking, `by_item`: of each
    item where it stands.
    """

    log: Log
    given: Policy | None
    logging: Policy | None
    by_propensity: bool
    by_item: bool
    candidates: Uniform | None
    metric: Metric
    top: int | None
    weights: str | Sequence[float]
    examination: str | Sequence[float]
    clip: float

    @classmethod
    def of(
        cls,
        log: Log,
        *,
        metric: str | None = None,
        top: int | None = None,
        weights: str | Sequence[float] = "clicks",
        examination: str | Sequence[float] = "auto",
        clip: float | None = None,
        logging: Any = None,
        candidates: Any = None,
    ) -> Setting:
        """From options as users give them."""
        asked_metric = _metric(log, metric, check_top(top), weights)
        position_weights(weights)
        if not is_fitted(examination):
            examination_curve(examination, 1)
        known, given = _logging(log, logging)
        narrow = Uniform(candidates) if candidates is not None else None
        return Setting(
            log=log,
            given=given,
            # a copy: a target that is narrowed to the same candidates is still not the logging policy itself
            logging=copy(given.narrowed(narrow)) if given is not None and narrow is not None else given,
            by_propensity=known and "propensity" in log.columns,
            by_item=known and "item_propensities" in log.columns,
            candidates=narrow,
            metric=asked_metric,
            top=top,
            weights=weights,
            examination=examination,
            clip=check_clip(clip),
        )

    def policy(self, source: Policy) -> Policy:
        """A policy as it is judged in this setting: the logging policy by its one name, others with the candidates."""
        if isinstance(source, Logged) or source is self.given:
            return self.logging or source
        return source.narrowed(self.candidates) if self.candidates is not None else source

    def is_logging(self, policy: Policy) -> bool:
        return isinstance(policy, Logged) or policy is self.logging

    @property
    def judged(self) -> tuple[Policy, ...]:
        """The policies that are judged: none yet."""
        return ()

    @property
    def notes(self) -> list[str]:
        """What the files of the policies and candidates have to say."""
        policies = (*self.judged, self.logging, self.candidates)
        return list(dict.fromkeys(note for policy in policies if policy is not None for note in policy.notes))

    def evidence(self, run: Pass, needs: frozenset[Need]) -> LogEvidence:
        """The counted log with the logging policy on its pairs, as estimators with these needs want it."""
        counts = self.extended(run.counts)
        positions = self.top or counts.pairs.positions
        check_length(self.weights, positions, "weights")
        check_length(self.examination, positions, "examination")
        looked = self._examination(counts, positions, needs)
        counts = replace(counts, whole=None)  # which only the curve is made from
        run.adopt(counts)
        # the log's propensities are of whole rankings
        cut = self.by_propensity and self.top is not None and self.top < counts.longest
        if cut and counts.rankings is not None:
            counts = replace(counts, rankings=counts.rankings.without_propensity())
        shares = LoggedShares(counts.pairs, counts.shown, counts.impressions, cells=counts.cells)
        logging: BoundPolicy = self.logging.bind(counts.pairs) if self.logging is not None else shares
        marginals, cells = Need.MARGINALS in needs, counts.cells
        curve, spread = looked.examination, looked.covariance
        depth, theta = counts.pairs.positions, position_weights(self.weights)(positions)
        by_propensity = self.by_propensity and not cut
        return LogEvidence(
            counts=counts,
            logging=logging,
            given=self.logging,
            shown_by_logging=logging.on(cells) if marginals else np.zeros(len(cells)),
            marginals=marginals,
            weights=theta[:depth],
            examination=curve[:depth],
            examination_kind=looked.kind,
            examination_spread=spread[:depth, :depth] if spread is not None else None,
            positions=positions,
            looks_below=(float((theta * curve)[depth:].sum()), float(theta[depth:].sum())),
            clip=self.clip,
            shares=self.logging is None,
            estimated=self.logging is None and not by_propensity,
            by_propensity=by_propensity,
            by_item=self.by_item and counts.item_chances is not None,
            trimmed=lambda floor: run.trimmed(counts.pairs, counts.cells, floor),
            cut=cut and counts.rankings is not None,
            fitted=list(looked.notes),
            told=[f"examination: {looked.told}"] if looked.told else [],
            of_clicks=self.metric == "clicks",
        )

    def extended(self, counts: Counts) -> Counts:
        """The counts with pairs for every item that a policy names for a query of the log."""
        queries, items = [], []
        for policy in (*self.judged, self.logging, self.candidates):
            if policy is not None:
                named, shown = policy.items()
                codes = counts.pairs.query_ids.codes(named)
                queries.append(codes[codes >= 0])
                items.append(shown.filter(pa.array(codes >= 0)))
        if not sum(map(len, queries)):
            return counts
        return counts.extended(np.concatenate(queries), pa.concat_arrays(items))

    def _examination(self, counts: Counts, positions: int, needs: frozenset[Need]) -> Curve:
        """The curve for all positions; where nobody needs it, it is not fitted."""
        from counterrank.click.curve import Curve, curve_of, reciprocal  # brings SciPy along

        if not is_fitted(self.examination):
            kind = self.examination if isinstance(self.examination, str) else "given"
            return Curve(kind=kind, examination=examination_curve(self.examination, positions))
        if Need.EXAMINATION not in needs:
            return Curve(kind="reciprocal", examination=reciprocal(positions))
        kind, tally = str(self.examination), counts.whole if counts.whole is not None else counts.tally
        found = remembered(counts.memo, ("curve", kind), (tally.shown, tally.clicked), lambda: curve_of(kind, tally))
        if found.kind == "reciprocal":
            return replace(found, examination=reciprocal(positions))
        return found.over(positions)


def chosen_metric(log: Log, metric: str | None) -> Metric:
    """The metric asked for, or the one that the log has."""
    chosen = metric if metric is not None else "reward" if "reward" in log.columns else "clicks"
    if chosen not in METRICS:
        raise unknown("metric", chosen, METRICS)
    if chosen not in log.columns:
        raise Unanswerable(f"{log.name}: `metric={chosen}` needs a column {chosen!r}, which the log does not have")
    return "clicks" if chosen == "clicks" else "reward"


def _metric(log: Log, metric: str | None, top: int | None, weights: str | Sequence[float]) -> Metric:
    if chosen_metric(log, metric) == "clicks":
        return "clicks"
    if top is not None or not (isinstance(weights, str) and weights == "clicks"):
        raise InputError(
            "`top` and `weights` weigh clicks, but the metric is the reward of pages: add `metric='clicks'`"
        )
    return "reward"


def _logging(log: Log, given: Any) -> tuple[bool, Policy | None]:
    """Whether the log's propensities tell of its pages, and the logging policy where it is given."""
    told = bool(PROPENSITIES & log.columns)
    if given is None:
        given = "propensity" if told else "log"
    if not isinstance(given, str):
        policy = read_policy(given)
        return False, None if isinstance(policy, Logged) else policy
    if given == "propensity":
        if not told:
            raise Unanswerable(
                f"{log.name}: `logging='propensity'` needs a column 'propensity' or 'item_propensities', which is not "
                "in the log: leave it out, or name the column with `columns`"
            )
        return True, None
    if given in ("log", "logging"):
        return False, None
    if given == "uniform":
        return False, Uniform()
    if not any(sign in given for sign in "./*"):
        raise unknown("logging", given, [*LOGGINGS, "or a policy file"])
    return False, read_policy(given)
