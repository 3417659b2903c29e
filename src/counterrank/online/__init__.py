"""Rankers that learn while they serve: each ranks by a state and learns from it (ebrank2023)."""

from counterrank.online.counterfactual import CFEpsilon, CFRandomK, CFTopK
from counterrank.online.ebrank import EBRank
from counterrank.online.ebrank_parts import ExactVariance, OnlyBehaviour, OnlyPrior
from counterrank.online.fixed import BM25, Random, Truth
from counterrank.online.ranker import Options, Ranker
from counterrank.online.state import State
from counterrank.online.ucbrank import UCBRank, UCBRankPlusOne

_MEMBERS: list[type[Ranker]] = [
    BM25, CFTopK, CFRandomK, CFEpsilon, UCBRank, EBRank, Random, Truth, UCBRankPlusOne, OnlyPrior, OnlyBehaviour,
    ExactVariance,
]  # fmt: skip
RANKERS: dict[str, type[Ranker]] = {each.name: each for each in _MEMBERS}

__all__ = ["RANKERS", "Options", "Ranker", "State"]
