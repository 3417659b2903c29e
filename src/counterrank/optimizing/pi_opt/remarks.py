"""What a user of a learnt policy must know, in words."""

from __future__ import annotations

import numpy as np

from counterrank.estimate import Pseudoinverse
from counterrank.estimate.pseudoinverse.phi import Phi
from counterrank.log import Reading
from counterrank.log.features import Features
from counterrank.optimizing.candidates import Ranked
from counterrank.optimizing.pi_opt.examples import Examples
from counterrank.optimizing.pi_opt.pi_opt import PiOpt
from counterrank.optimizing.pi_opt.value import HeldOut
from counterrank.setting.evidence import LogEvidence
from counterrank.setting.setting import Setting
from counterrank.words import counted, number


def remarks(
    reading: Reading, setting: Setting, evidence: LogEvidence, examples: Examples, learnt: PiOpt,
    judged: HeldOut | None, *, phi: Phi, ranked: Ranked, unseen: int, known: Features,
) -> list[str]:  # fmt: skip
    """Everything below the table, the most important first."""
    said = [_judged(judged), *_missing(evidence, examples)]
    if unseen:
        said.append(
            f"{unseen:,} of {counted(len(ranked.pairs.query_ids), 'query', 'queries')} are not in the log: "
            "their values are those of an average query"
        )
    if learnt.r2 is not None:
        share = f"{learnt.r2:.1%} of the variance" if learnt.r2 > 0 else "nothing"
        said.append(f"the model explains {share} of φ̂ in queries it has not seen; φ̂'s own noise is in the rest")
    said.append(f"assumed: {Pseudoinverse.assumption}")
    said.append(
        "the values are the model's own, on the log it learnt from: judge the policy with counterrank evaluate on "
        "another part of the log"
    )
    return [text for text in said if text] + [
        *learnt.notes, *phi.notes, *ranked.notes, *known.notes, *reading.notes, *setting.notes
    ]  # fmt: skip


def _judged(judged: HeldOut | None) -> str:
    if judged is None:
        return "queries are too few to hold some out: how good such rankings are is not known"
    error = f" ± {number(judged.stderr, 2)}" if judged.stderr is not None else ""
    apart = f" ± {number(judged.difference_stderr, 2)}" if judged.difference_stderr is not None else ""
    text = (
        f"for queries held out, rankings learnt so are worth {number(judged.value)}{error} by pi, the logged ones "
        f"{number(judged.logged)}: a difference of {number(judged.difference)}{apart}"
    )
    if judged.unsupported > 1e-9:
        text += f"; {judged.unsupported:.1%} of their positions show what the log does not, counted as 0"
    return text


def _missing(evidence: LogEvidence, examples: Examples) -> list[str]:
    """Queries and items of the log that have no features."""
    counts = evidence.counts
    bare = examples.bare
    said = []
    if bare.any():
        share = counts.impressions[bare].sum() / counts.total
        said.append(
            f"{bare.sum():,} of the log's {counted(len(bare), 'query', 'queries')} ({share:.1%} of the impressions) "
            "have no features: nothing was learnt from them"
        )
    lost = np.isnan(examples.features).any(axis=1) & ~bare[examples.queries]
    if lost.any():
        share = counts.cells.by_pair(counts.shown)[lost].sum() / max(counts.shown.sum(), 1)
        said.append(f"{share:.1%} of what the log shows of the other queries has no features: left out")
    return said
