"""A question to a log: which policy, against which logging policy, worth what, how deep."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from counterrank.engine import Metric, Pass
from counterrank.errors import InputError, unknown
from counterrank.estimate import Evidence, Need
from counterrank.evaluate.options import check_clip, check_length, check_top, examination_curve, position_weights
from counterrank.log import Log
from counterrank.policy import BoundPolicy, Logged, LoggedShares, Policy, Uniform, read_policy
from counterrank.statistics.counts import Counts

METRICS: tuple[Metric, ...] = ("reward", "clicks")
LOGGINGS = ("log", "propensity", "uniform")
IDLE_CANDIDATES = "--candidates changes nothing here: each policy given names the items that it shows itself"


@dataclass(frozen=True)
class Question:
    """What is asked of a log, checked and complete.

    `logging` is None where the log's own shares stand for the logging policy; `by_propensity`: the log's column tells
    the chance of each ranking. `same`: the target is the logging policy itself. A comparison also has a baseline.
    """

    log: Log
    target: Policy
    logging: Policy | None
    by_propensity: bool
    same: bool
    candidates: Uniform | None
    metric: Metric
    top: int | None
    weights: str | Sequence[float]
    examination: str | Sequence[float]
    clip: float
    baseline: Policy | None = None
    baseline_same: bool = False
    notes: list[str] = field(default_factory=list)

    @classmethod
    def ask(
        cls,
        log: Log,
        target: Any,
        *,
        metric: str | None = None,
        top: int | None = None,
        weights: str | Sequence[float] = "clicks",
        examination: str | Sequence[float] = "reciprocal",
        clip: float | None = None,
        logging: Any = None,
        candidates: Any = None,
        baseline: Any = None,
    ) -> Question:
        """From options as users give them."""
        asked_metric = _metric(log, metric, check_top(top), weights)
        position_weights(weights)
        if not (isinstance(examination, str) and examination == "em"):
            examination_curve(examination, 1)
        by_propensity, given = _logging(log, logging)
        narrowed = Uniform(candidates) if candidates is not None else None
        known = given.narrowed(narrowed) if given is not None and narrowed is not None else given
        open_to_any = [given is not None and given.ranks_all]  # whether candidates have a say in some policy

        def judged(source: Any) -> tuple[Policy, bool]:
            policy = Uniform() if isinstance(source, str) and source == "uniform" else read_policy(source)
            open_to_any.append(policy.ranks_all)
            same = isinstance(policy, Logged) or policy is given
            if same and known is not None:
                return known, same
            return policy.narrowed(narrowed) if narrowed is not None else policy, same

        policy, same = judged(target)
        other, other_same = judged(baseline) if baseline is not None else (None, False)
        idle = narrowed is not None and not any(open_to_any) and not (same and other is None)
        return cls(
            log, policy, known, by_propensity, same, narrowed, asked_metric, top, weights, examination,
            check_clip(clip), other, other_same,
            [*policy.notes, *(other.notes if other is not None else []), *([IDLE_CANDIDATES] if idle else [])],
        )  # fmt: skip

    @property
    def sides(self) -> list[tuple[Policy, bool]]:
        """The policies that are judged, and whether each is the logging policy itself."""
        return [(self.target, self.same), *([(self.baseline, self.baseline_same)] if self.baseline else [])]

    def evidence(self, run: Pass, needs: frozenset[Need]) -> Evidence:
        """The counted log with the policies on its pairs, as estimators with these needs want it."""
        return self.evidences(run, needs)[0]

    def evidences(self, run: Pass, needs: frozenset[Need]) -> list[Evidence]:
        """The evidence on each policy that is judged."""
        marginals = Need.MARGINALS in needs
        counts = self.extended(run.counts)
        positions = self.top or counts.pairs.positions
        check_length(self.weights, positions, "weights")
        check_length(self.examination, positions, "examination")
        by_propensity = self.by_propensity
        if by_propensity and self.top is not None and self.top < counts.longest:
            by_propensity = False
            if counts.rankings is not None and not all(same for _, same in self.sides):
                self.notes.append(
                    f"propensities are of whole rankings, but --top {self.top} cuts them: shares are used instead"
                )
                counts = replace(counts, rankings=counts.rankings.without_propensity())
        shares = LoggedShares(counts.pairs, counts.shown, counts.impressions)
        logging: BoundPolicy = self.logging.bind(counts.pairs) if self.logging is not None else shares
        nothing = np.zeros(counts.shown.shape)
        shown_by_logging = logging.marginals() if marginals else nothing
        curve, fitted = self._examination(counts, positions)
        depth, theta = counts.pairs.positions, position_weights(self.weights)(positions)
        own = Evidence(  # on the logging policy itself
            counts=counts,
            target=logging,
            logging=logging,
            shown_by_target=shown_by_logging,
            shown_by_logging=shown_by_logging,
            weights=theta[:depth],
            examination=curve[:depth],
            positions=positions,
            looks_below=(float((theta * curve)[depth:].sum()), float(theta[depth:].sum())),
            fitted=fitted,
            clip=self.clip,
            shares=self.logging is None,
            estimated=self.logging is None,
            same=True,
            of_clicks=self.metric == "clicks",
        )
        known = not own.estimated or by_propensity
        other = replace(own, same=False, by_propensity=by_propensity, estimated=not known)
        bound = [None if same else policy.bind(counts.pairs) for policy, same in self.sides]
        return [
            own
            if b is None
            else replace(other, target=b, shown_by_target=b.marginals() if marginals else nothing, memo={})
            for b in bound
        ]

    def extended(self, counts: Counts) -> Counts:
        """The counts with pairs for every item that a policy names for a query of the log."""
        queries, items = [], []
        for policy in (self.target, self.baseline, self.logging, self.candidates):
            if policy is not None:
                named, shown = policy.items()
                codes = counts.pairs.query_ids.codes(named)
                queries.append(codes[codes >= 0])
                items.append(shown.filter(pa.array(codes >= 0)))
        if not sum(map(len, queries)):
            return counts
        return counts.extended(np.concatenate(queries), pa.concat_arrays(items))

    def _examination(self, counts: Counts, positions: int) -> tuple[NDArray[np.float64], list[str]]:
        """The curve for all positions, and what its fit has to say."""
        if not (isinstance(self.examination, str) and self.examination == "em"):
            return examination_curve(self.examination, positions), []
        from counterrank.click.examination import fit_examination  # brings SciPy's optimisers along

        assert counts.whole is not None  # noqa: S101 - the plan asked for it
        fit = fit_examination(*counts.whole)
        curve = np.concatenate([fit.examination, np.zeros(max(positions - len(fit.examination), 0))])
        return curve[:positions], list(fit.notes)


def chosen_metric(log: Log, metric: str | None) -> Metric:
    """The metric asked for, or the one that the log has."""
    chosen = metric if metric is not None else "reward" if "reward" in log.columns else "clicks"
    if chosen not in METRICS:
        raise unknown("metric", chosen, METRICS)
    if chosen not in log.columns:
        raise InputError(f"{log.name}: --metric {chosen} needs a column {chosen!r}, which the log does not have")
    return "clicks" if chosen == "clicks" else "reward"


def _metric(log: Log, metric: str | None, top: int | None, weights: str | Sequence[float]) -> Metric:
    if chosen_metric(log, metric) == "clicks":
        return "clicks"
    if top is not None or not (isinstance(weights, str) and weights == "clicks"):
        raise InputError("--top and --weights weigh clicks, but the metric is the reward of pages: add --metric clicks")
    return "reward"


def _logging(log: Log, given: Any) -> tuple[bool, Policy | None]:
    """Whether the log's propensities tell of its rankings, and the logging policy where it is given."""
    if given is None:
        given = "propensity" if "propensity" in log.columns else "log"
    if not isinstance(given, str):
        policy = read_policy(given)
        return False, None if isinstance(policy, Logged) else policy
    if given == "propensity":
        if "propensity" not in log.columns:
            raise InputError(f"{log.name}: --logging propensity needs a column 'propensity', which is not in the log")
        return True, None
    if given in ("log", "logging"):
        return False, None
    if given == "uniform":
        return False, Uniform()
    if not any(sign in given for sign in "./*"):
        raise unknown("logging", given, [*LOGGINGS, "or a policy file"])
    return False, read_policy(given)
