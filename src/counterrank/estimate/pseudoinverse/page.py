"""What `pi` and `wpi` sum over groups of rankings."""

from __future__ import annotations

from dataclasses import field

import numpy as np

from counterrank.errors import InputError
from counterrank.estimate.base import Distance, Vector
from counterrank.estimate.groups import FEW, overall_variance
from counterrank.estimate.influence import Influence, Moved, alike
from counterrank.estimate.list_sums import ListSums, weigh_alike
from counterrank.estimate.pseudoinverse import known as pi_known
from counterrank.estimate.pseudoinverse.few import NONE
from counterrank.estimate.pseudoinverse.gamma import LogGamma
from counterrank.estimate.pseudoinverse.pinv import ILL
from counterrank.policy.product import BoundSlots
from counterrank.records import dataclass
from counterrank.setting.cache import Recent, shared
from counterrank.setting.evidence import Evidence, LogEvidence
from counterrank.statistics.cells import of_rankings
from counterrank.statistics.pairs import sum_by
from counterrank.statistics.rankings import Rankings
from counterrank.threads import one_thread_for_matrices


@dataclass(frozen=True, kw_only=True)
class PageSums:
    """Sums of weighted rewards. `drawn`: variance of V from rankings drawn to know the logging policy."""

    sums: ListSums
    distance: Distance
    drawn: float = 0.0
    u: Vector | None = None  # (C,) Γ†q, whose sum over a ranking is its weight; None where every weight is 1
    phi: Vector | None = (
        None  # (C,) Γ̂†θ̂, whose sum over a ranking is its expected reward, where shares tell of the logging policy
    )

    limits: tuple[float, float] | None = None  # between what numbers a weight can lie, where that is not its reach
    read: Recent[tuple[Vector, Vector | None]] = field(default_factory=Recent, repr=False, compare=False)

    def influence(self, evidence: Evidence, shift: float, value: Vector | float, gain: float = 1.0) -> Influence:
        """`gain` times w·(reward − shift), less value, which may be one per query."""
        counts, sums, u = evidence.counts, self.sums, self.u
        out = np.broadcast_to(np.asarray(value, dtype=np.float64), len(counts.impressions))
        back = gain * (sums.free_credit - shift * sums.free_mass) / counts.impressions - out

        def moved(chunk: Rankings) -> Moved:
            q = chunk.queries
            if u is None:
                return alike(len(q), gain, -gain * shift - out[q], 1.0, counts.origin)
            w, fitted = self.read.of(chunk.rows, lambda: self._of(evidence, chunk))
            centre = shift if fitted is None else fitted
            slope, none = gain * w, np.zeros(len(q))
            return Moved(slope, back[q] - slope * centre, none, w, none > 0, slope * counts.origin)

        return moved

    def _of(self, evidence: Evidence, chunk: Rankings) -> tuple[Vector, Vector | None]:
        """The weight of each ranking, and its expected reward."""
        assert self.u is not None  # noqa: S101 - else every weight is 1
        tables = [self.u] if self.phi is None else [self.u, self.phi]
        w, *fitted = of_rankings(evidence.counts.cells, tables, chunk.rows)
        return np.where(np.abs(w) > NONE, w, 0.0), fitted[0] if fitted else None

    def reach(self) -> tuple[float, float]:
        """Between what numbers a weight can lie."""
        return (1.0, 1.0) if self.u is None else (-self.distance.rho, self.distance.rho)


@shared(target=True, clip=False)
def weigh(evidence: Evidence) -> PageSums:
    """The sums of this evidence; `pi` and `wpi` share them."""
    if evidence.counts.pages is None:
        raise InputError("the rankings of the log were not counted")
    with one_thread_for_matrices():
        return _from_shares(evidence) if evidence.shares else _from_policy(evidence)


def _from_shares(evidence: Evidence) -> PageSums:
    """Γ̂ from the log: the estimate is the least-squares regression of rewards on 1_A, read off at q.

    An impression's influence is w·(f − 1ᵀφ̂) + qᵀφ̂ − V. Squared residuals are divided by 1 − leverage (HC2); of an
    impression that the regression fits whatever its reward, the pooled variance stands in.
    """
    counts = evidence.counts
    slots = evidence.target if isinstance(evidence.target, BoundSlots) else None
    gamma = LogGamma(counts, evidence.shown_by_target, slots)
    if evidence.same:
        return _same(evidence, gamma.kappa)
    summed = _regressed(evidence, gamma)
    norm = evidence.per_query(evidence.target.squares())
    outside = np.maximum(norm - evidence.cells_per_query(evidence.shown_by_target**2), 0.0)  # where nothing was logged
    summed.unsupported, summed.warnings = _support(evidence, gamma.lost + outside, norm, gamma.condition)
    distance = _distance(evidence, gamma.sigma2, gamma.sums[:, 8], gamma.kappa)
    return PageSums(sums=summed, distance=distance, u=gamma.u, phi=gamma.phi)


def _regressed(evidence: Evidence, gamma: LogGamma) -> ListSums:
    credit, mass, mass2, within, thin, freedom, squares, alone = gamma.sums.T[:8]
    spare = float(freedom.sum())
    variance = float(squares.sum()) / spare if spare > NONE else 0.0
    if spare < FEW:  # too few degrees of freedom to tell how much a reward varies
        variance = max(variance, overall_variance(evidence))
    none = np.broadcast_to(0.0, (5, len(credit)))
    return ListSums(
        credit=credit,
        mass=mass,
        mass2=mass2,
        free_credit=credit,
        free_mass=mass,
        free_within=within,
        held=none,
        thin=thin + alone * variance,
    )


def _from_policy(evidence: Evidence) -> PageSums:
    """Γ of a given logging policy: weights are known, and an impression's influence is w·f − V."""
    counts = evidence.counts
    known = pi_known.solve(evidence, evidence.target, evidence.target)
    if evidence.same:
        return _same(evidence, known.kappa)
    sums, logged, impossible = _held(evidence, known.u)
    norm = evidence.per_query(evidence.target.squares())
    unsupported, said = _support(evidence, known.lost, norm, known.condition)
    share = counts.impressions / counts.total
    drawn = float((share**2 * known.drawn).sum())
    if drawn:
        said.append(
            f"chances of two items at once were drawn, not summed: they add a standard error of {drawn**0.5:.2g}, "
            "which the interval holds"
        )
    if impossible:
        said.append(
            f"{impossible / counts.total:.1%} of the impressions show a ranking that the given logging policy never "
            "shows: the estimate may be far off"
        )
    sums.unsupported, sums.warnings = unsupported, said
    largest = np.where(np.isnan(known.largest), logged, known.largest)
    limit = np.where(np.isnan(known.largest), np.inf, known.largest)
    limits = float(np.maximum(known.least, -limit).min()), float(np.minimum(known.most, limit).max())
    distance = _distance(evidence, known.sigma2, largest, known.kappa)
    return PageSums(sums=sums, distance=distance, drawn=drawn, u=known.u, limits=limits)


def _held(evidence: Evidence, u: Vector) -> tuple[ListSums, Vector, float]:
    """Sums with the weights u·1_A, each query's largest weight, and impressions of impossible rankings."""
    counts = evidence.counts
    size = len(counts.impressions)
    held, largest, impossible = np.zeros((5, size)), np.zeros(size), 0.0
    assert counts.pages is not None  # noqa: S101 - `weigh` looked
    for chunk in counts.pages.chunks():
        [w] = of_rankings(counts.cells, [u], chunk.rows)
        w = np.where(np.abs(w) > NONE, w, 0.0)
        n, f, f2 = chunk.impressions, chunk.reward, chunk.reward2
        np.maximum.at(largest, chunk.queries, np.abs(w))
        impossible += float(n[evidence.logging.probability(chunk.queries, chunk.rows) <= 0].sum())
        for row, values in enumerate((w * f, w * n, w**2 * n, w**2 * f, w**2 * f2)):
            held[row] += sum_by(chunk.queries, values, size)
    return ListSums.of_known(held), largest, impossible


def apart(one: Evidence, other: Evidence, gains: tuple[float, float]) -> tuple[Vector, Vector]:
    """Of the difference of two values, their weights times `gains`: what few impressions hide of Σψ², per query, and
    the variance of each query's value from rankings drawn to know the logging policy."""
    zero = np.zeros(len(one.counts.impressions))
    if one.same and other.same:
        return zero, zero
    sides = list(zip((one, other), gains, (1, -1), strict=True))
    if one.shares:
        gap = gains[0] * one.shown_by_target - gains[1] * other.shown_by_target
        with one_thread_for_matrices():
            return _regressed(one, LogGamma(one.counts, gap)).thin, zero
    if not any(weigh(side).drawn for side, _, _ in sides):
        return zero, zero
    # a logging policy that judges itself has weights of 1, however its rankings were drawn
    apart = pi_known.Gap([(sign * gain, side.target) for side, gain, sign in sides if not side.same])
    with one_thread_for_matrices():
        return zero, pi_known.solve(one, apart, one.target).drawn


def _same(evidence: Evidence, kappa: Vector) -> PageSums:
    """The logging policy judges itself: every weight is 1 (swaminathan2017, appendix C)."""
    return PageSums(sums=weigh_alike(evidence, 1.0), distance=Distance(1.0, 1.0, 1.0, float(kappa.min())))


def _distance(evidence: Evidence, sigma2: Vector, largest: Vector, kappa: Vector) -> Distance:
    return Distance(evidence.mean(sigma2), float(largest.max()), evidence.mean(largest), float(kappa.min()))


def _support(evidence: Evidence, lost: Vector, norm: Vector, condition: Vector) -> tuple[float, list[str]]:
    """The share of q outside Γ's range, averaged over impressions, and which query's Γ is all but singular."""
    share = np.divide(lost, norm, out=np.zeros_like(lost), where=norm > 0)
    unsupported = evidence.mean(np.where(share > NONE, np.minimum(share, 1.0), 0.0))
    return unsupported, ill_conditioned(evidence, condition)


def ill_conditioned(evidence: LogEvidence, condition: Vector) -> list[str]:
    """Which query's Γ is all but singular, if any is."""
    worst = int(np.argmax(condition))
    if condition[worst] < ILL:
        return []
    name = evidence.counts.pairs.query_ids.texts[worst].as_py()
    return [
        f"some rankings are so rare that the answer hangs on them, most of all for query {name!r} (condition number "
        f"{condition[worst]:.1g}): errors may be far larger than the interval says"
    ]
