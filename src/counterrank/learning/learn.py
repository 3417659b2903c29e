"""`learn`: GENSPEC (genspec2021, algorithm 1), from a log to a policy in which each query has the one that won."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from counterrank.engine import Engine
from counterrank.errors import InputError
from counterrank.ids import Codes
from counterrank.learning.asked import How, LearnSetting, Numbers, check_logging, read_general
from counterrank.learning.candidates import Candidate, Chosen, candidates, choose
from counterrank.learning.general import General, given, naming, trained
from counterrank.learning.ground import Ground, Part
from counterrank.learning.halves import Halves, Segments, merged, read_halves
from counterrank.learning.notes import remarks
from counterrank.learning.result import GeneralVerdict, Learning
from counterrank.learning.served import acting, gate_table, keys_of, logging_policy, reasons, special_table
from counterrank.learning.verdicts import judged, together
from counterrank.log import Log, read_log
from counterrank.log.features import read_features
from counterrank.log.schema import SEGMENT
from counterrank.policy import GenSpec, LoggedShares, Policy
from counterrank.policy.genspec import ACTS
from counterrank.records import dataclass
from counterrank.setting.asked import called
from counterrank.setting.evidence import LogEvidence
from counterrank.setting.need import Need
from counterrank.setting.options import position_weights
from counterrank.setting.setting import Setting

Vector = NDArray[np.float64]
UNITS = {"clicks": "clicks an impression", "dcg": "discounted clicks an impression"}
SURE = 0.95  # for widths that are told where nobody asked for a confidence


def learn(
    log: Any,
    *,
    features: Any = None,
    general: Any = None,
    model: str = "linear",
    gate: str = "betting",
    confidence: float | str | None = 0.95,
    special: str = "tabular",
    specialise_by: str | None = None,
    selection_share: float = 0.5,
    selection: Any = None,
    validation_share: float = 0.2,
    logging: Any = None,
    weights: Numbers = "dcg",
    examination: Numbers = "reciprocal",
    top: int | None = None,
    clip: float | None = None,
    seed: int = 0,
    cluster: str | None = None,
    engine: str | Engine = "duckdb",
    progress: Any = None,
) -> Learning:
    """A policy that is the logging policy wherever nothing was seen to beat it (genspec2021).

    `features`: a general model is trained on them; `general`: the user's own ranker instead; with neither, only special
    policies are tried. The impressions are dealt into a training and a selection part, or `selection` is a log of its
    own. What was trained on the first is judged on the second by the `gate`; what is served was trained on both.
    `confidence`: None or "none" for no bound at all. The docs of the command explain all options.

    >>> rows = {"query": ["q"] * 400, "items": [["a", "b"]] * 400, "clicks": [[0, 1], [0, 1], [0, 0], [1, 0]] * 100}
    >>> found = learn(rows)
    >>> found.policy.rank("q"), found.gate["acts"].to_pylist()
    (['b', 'a'], ['special'])
    """
    call = called(learn, locals())
    how = How.of(
        gate=gate, confidence=confidence, special=special, model=model, selection_share=selection_share,
        validation_share=validation_share, seed=seed,
    )  # fmt: skip
    if features is not None and general is not None:
        raise InputError("both `features` and `general` came: a general model is trained, or one is given")
    source = _open(log, cluster, specialise_by)
    other = _open(selection, cluster, specialise_by) if selection is not None else None
    table = read_features(features) if features is not None else None
    ranker = read_general(general) if general is not None else None
    names: tuple[Policy, ...] = tuple(each for each in (ranker, naming(table) if table is not None else None) if each)
    setting = Setting.of(
        source, metric="clicks", top=top, weights=weights, examination=examination, clip=clip,
        logging=check_logging(logging),
    )  # fmt: skip
    mine = {each.name: getattr(setting, each.name) for each in fields(Setting)}
    halves = read_halves(source, other, share=selection_share, seed=seed, top=top, engine=engine)
    segments = None
    parted = halves
    if specialise_by is not None:
        halves, segments = merged(halves, _native(source))
    level_setting = LearnSetting(**mine, naming=names)
    level = _level(level_setting, halves, parted, segments)
    found = None
    if table is not None:
        found = trained(level.ground, table, model, validation_share=validation_share, seed=seed, progress=progress)
    elif ranker is not None:
        found = given(ranker, level.ground)
    return _gated(level, how, found, level_setting, call)


def _open(log: Any, cluster: str | None, segment: str | None) -> Log:
    source = read_log(log, cluster=cluster, segment=segment) if not isinstance(log, Log) else read_log(log)
    if isinstance(log, Log) and cluster is not None:
        raise InputError(f"`cluster={cluster}` comes too late for a log that is open: give it to read_log")
    if isinstance(log, Log) and segment is not None and SEGMENT not in log.columns:
        raise InputError(f"`specialise_by={segment}` comes too late for a log that is open: give read_log a `segment`")
    return source


def _native(log: Log) -> bool:
    """Whether the log's queries are whole numbers."""
    types = [part.types({"query": found["query"]})["query"] for part, found in zip(log.parts, log.found, strict=True)]
    return all(bool(pa.types.is_integer(kind)) for kind in types)


@dataclass(frozen=True, kw_only=True)
class Level:
    """What the general policy is judged on, and what special policies are: the same, or the same by segment."""

    evidence: LogEvidence
    halves: Halves
    ground: Ground
    special: Ground
    rows: Codes | None  # the pair of `ground` that each of `special` is; None where they are the same
    segments: Segments | None

    def down(self, values: Vector) -> Vector:
        """Values of pairs on the pairs of special policies."""
        return values if self.rows is None else values[self.rows]

    def queries(self, values: NDArray[Any]) -> NDArray[Any]:
        return values if self.segments is None else values[self.segments.query]


def _level(setting: LearnSetting, halves: Halves, parted: Halves, segments: Segments | None) -> Level:
    run: Any = halves
    evidence = setting.evidence(run, frozenset({Need.CLICKS, Need.EXAMINATION}))
    pairs = evidence.counts.pairs
    rows, same = pairs.rows_of(halves.pairs), np.arange(len(pairs.query_ids))
    train, selection = (part.moved(rows, same, pairs.positions) for part in (halves.train, halves.selection))
    most = float(position_weights(setting.weights)(evidence.positions).max())
    ground = Ground.of(evidence, train, selection, most, halves.clustered)
    if segments is None:
        return Level(evidence=evidence, halves=halves, ground=ground, special=ground, rows=None, segments=None)
    fine = parted.counts
    items = pairs.item_ids.codes(fine.pairs.item_ids.texts)[fine.pairs.items]
    at = pairs.find(segments.query[fine.pairs.queries], items)
    propensity, logged = ground.propensity[at], ground.logged[at]
    if setting.logging is None:  # what was shown to a segment tells what it is shown
        shares = LoggedShares(fine.pairs, fine.shown, fine.impressions, cells=fine.cells)
        propensity, logged = shares.exposure(evidence.examination), shares.exposure(evidence.weights)
    parts = [
        Part.of(each, len(fine.pairs), len(fine.impressions), evidence.examination)
        for each in (parted.train, parted.selection)
    ]
    low = replace(
        ground, pairs=fine.pairs, train=parts[0], selection=parts[1], propensity=propensity, logged=logged,
        shown=np.diff(fine.cells.starts) > 0,
    )  # fmt: skip
    return Level(evidence=evidence, halves=halves, ground=ground, special=low, rows=at, segments=segments)


def _gated(level: Level, how: How, general: General | None, setting: Setting, call: str) -> Learning:
    """Algorithm 1: the general policy is let through for all queries, or none; special ones query by query."""
    ground, bounded = level.ground, how.confidence is not None
    verdict, active = None, False
    if general is not None:
        verdict = _general(ground, general, how)
        active = verdict.active
    otherwise = level.special.logged
    if general is not None and active:
        otherwise = level.down(general.judged.weight)
    says = (None, None) if general is None else (level.down(general.judged.says), level.down(general.served.says))
    found = candidates(level.special, how, otherwise, says)
    chosen = choose(found, bounded)
    has = level.queries(general.served.has) if general is not None and active else None
    acts = acting(chosen, found, has)
    keys = keys_of(level.special, level.segments)
    gate = gate_table(chosen, acts, reasons(chosen, acts, how.confidence), keys)
    logging, unsaid = logging_policy(ground, setting.logging)
    policy = GenSpec(
        gate,
        special_table(level.special, chosen, found, keys),
        general=general.served.policy if general is not None else None,
        active=active,
        logging=logging,
        logged=setting.logging is None,
    )
    weight = level.special.whole.impressions / max(level.special.whole.impressions.sum(), 1)
    shares = {name: float(weight[acts == name].sum()) for name in ACTS}
    evidence = level.evidence
    return Learning(
        impressions=int(ground.whole.impressions.sum()),
        queries=len(ground.pairs.query_ids),
        positions=ground.positions,
        gate_kind=how.gate,
        confidence=how.confidence,
        split={
            "train": int(ground.train.impressions.sum()),
            "selection": int(ground.selection.impressions.sum()),
            "validation_queries": general.validation_queries if general is not None else 0,
        },
        general=verdict,
        special=_special(level.special, how, found, chosen, otherwise),
        served=shares,
        gate=gate,
        policy=policy,
        examination={"kind": evidence.examination_kind, "curve": evidence.examination.tolist()},
        weights=ground.weights,
        reading=level.halves.reading,
        unit=UNITS.get(setting.weights, "weighted clicks") if isinstance(setting.weights, str) else "weighted clicks",
        curve=general.curve if general is not None else [],
        notes=[*level.halves.reading.notes, *setting.notes, *remarks(level, how, general, found, chosen), *unsaid],
        call=call,
        log=setting.log.name,
    )


def _general(ground: Ground, general: General, how: How) -> GeneralVerdict:
    mine = general.judged.weight
    found = judged(ground, mine, ground.logged, how.gate, how.confidence, whole=True)
    beside = together(ground, mine, ground.logged, how.confidence or SURE, whole=True)
    return GeneralVerdict(
        model=general.model,
        active=bool(found.wins(how.confidence is not None)[0]),
        difference=_number(found.difference),
        lower=_number(found.lower),
        upper=_number(found.upper),
        clicks=int(found.clicks[0]),
        covariance=_number(beside.covariance),
        width_ratio=_number(beside.ratio),
    )


def _special(ground: Ground, how: How, found: list[Candidate], chosen: Chosen, otherwise: Vector) -> dict[str, Any]:
    """Which special policies there are, how many act, and how the two estimates go together in the middle query."""
    beside = together(ground, found[0].weight, otherwise, how.each or SURE)
    known = np.isfinite(beside.ratio)
    return {
        "kind": how.special,
        "queries": len(chosen.acts),
        "active": int(chosen.acts.sum()),
        "covariance": float(np.median(beside.covariance[known])) if known.any() else None,
        "width_ratio": float(np.median(beside.ratio[known])) if known.any() else None,
    }


def _number(values: Vector) -> float | None:
    return float(values[0]) if np.isfinite(values[0]) else None
