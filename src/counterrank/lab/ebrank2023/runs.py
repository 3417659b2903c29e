"""The simulations behind the tables and figures."""

from __future__ import annotations

from dataclasses import field
from pathlib import Path
from typing import Any

from counterrank.lab import need
from counterrank.lab.ebrank2023.paper import ROWS
from counterrank.lab.progress import tell
from counterrank.records import dataclass
from counterrank.simulate.sessions import Corpus, Simulation, read_corpus, simulate_sessions

SETS = ("mq2007-partial", "mq2008")
ARRIVALS = (0.1, 0.25, 0.5, 1.0)  # the paper does not print its own
ACROSS = ("bm25", "cfepsilon", "pdgd", "prior", "ucbrank", "ebrank")  # figure 4
DROPPED = (134, 135, 136)  # of MSLR: made of users' behaviour
BM25_MSLR = 110


@dataclass(frozen=True, kw_only=True)
class Variant:
    """EBRank with something changed."""

    name: str
    ranker: str = "ebrank"
    exploration: float | None = None  # none: as tuned for EBRank
    settings: dict[str, Any] = field(default_factory=dict)


VARIANTS = [
    Variant(name="EBRank"),
    Variant(name="without exploration", exploration=0.0),
    Variant(name="far too much exploration", exploration=2000.0),
    Variant(name="only prior", ranker="ebrank-prior", exploration=0.0),
    Variant(name="only behaviour", ranker="ebrank-behaviour", exploration=0.0),
    Variant(name="exact variance", ranker="ebrank-exact"),
    Variant(name="clicks over exposure", settings={"evidence": "exposure"}),
    Variant(name="β learnt", settings={"beta": "learnt"}),
    Variant(name="LightGBM prior", settings={"prior_model": "lightgbm"}),
    Variant(name="at most 1 of 5 places for new items", settings={"new_share": 0.2}),
]


@dataclass(frozen=True, kw_only=True)
class Study:
    """All simulations on one set of documents."""

    name: str
    corpus: Corpus
    table: Simulation  # all rows of table 3, each tuned
    unexploring: Simulation  # UCBRank with c = 0
    ablation: dict[str, Simulation]
    arrivals: dict[float, Simulation]


@dataclass(frozen=True, kw_only=True)
class Size:
    """How much is run."""

    sets: tuple[str, ...]
    trials: int
    arrivals: tuple[float, ...]
    sessions: int | str = "auto"
    tuned: tuple[str, ...] | None = None  # none: all


FULL = Size(sets=SETS, trials=5, arrivals=ARRIVALS)
QUICK = Size(
    sets=("mq2008",), trials=2, arrivals=(0.5, 1.0), sessions=4000,
    tuned=("ebrank", "ucbrank", "ucbrank-plus-one", "thompson"),
)  # fmt: skip


def studies(data: Path | None, quick: bool) -> list[Study]:
    """One for each set of documents; queries without a relevant document are left out, as the paper's levels ask."""
    size = QUICK if quick else FULL
    out = []
    for name, path in zip(size.sets, need(data, *size.sets), strict=True):
        tell(f"{name}: reading")
        out.append(_study(name, read_corpus(path, drop_irrelevant=True), size))
    return out


def smoke(data: Path | None) -> Simulation:
    """MSLR's sample: BM25 is feature 110, and features made of behaviour are left out."""
    (path,) = need(data, "mslr-sample")
    tell("mslr-sample")
    corpus = read_corpus(path, leave_out=DROPPED, drop_irrelevant=True)
    return simulate_sessions(
        corpus, rankers="bm25,cftopk,ucbrank,ebrank", warmup_feature=BM25_MSLR, sessions=2000, trials=2
    )


def _study(name: str, corpus: Corpus, size: Size) -> Study:
    rankers = list(dict.fromkeys(row.ranker for row in ROWS))
    tuned = dict.fromkeys(rankers if size.tuned is None else size.tuned, "tune")
    common: dict[str, Any] = {"sessions": size.sessions, "trials": size.trials, "warmup_feature": 25}

    def told(what: str) -> None:
        tell(f"{name}, {what}")

    table = simulate_sessions(corpus, rankers=rankers, behaviour="none,concat", exploration=tuned, tell=told, **common)
    best = table.row("ebrank").exploration
    chosen = {row.ranker: row.exploration for row in table.rankers if row.behaviour == table.row(row.ranker).behaviour}
    unexploring = simulate_sessions(corpus, rankers="ucbrank", exploration=0.0, **common)
    ablation = {}
    for each in VARIANTS:
        told(each.name)
        weight = best if each.exploration is None else each.exploration
        ablation[each.name] = simulate_sessions(
            corpus, rankers=each.ranker, exploration=weight, **{**common, **each.settings}
        )
    arrivals = {}
    for rate in size.arrivals:
        told(f"arrival {rate:g}")
        arrivals[rate] = simulate_sessions(
            corpus, rankers=list(ACROSS), behaviour="concat", exploration={n: chosen[n] for n in ACROSS},
            **{**common, "arrival": rate, "trials": min(size.trials, 3)},
        )  # fmt: skip
    return Study(name=name, corpus=corpus, table=table, unexploring=unexploring, ablation=ablation, arrivals=arrivals)
