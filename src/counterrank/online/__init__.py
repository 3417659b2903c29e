"""Rankers that learn while they serve: each ranks by a memory and learns from it (ebrank2023)."""

from counterrank.online.counterfactual import CFEpsilon, CFRandomK, CFTopK
from counterrank.online.dbgd import DBGD
from counterrank.online.ebrank import EBRank
from counterrank.online.ebrank_exact import ExactVariance
from counterrank.online.ebrank_parts import OnlyBehaviour, OnlyPrior
from counterrank.online.fixed import BM25, Random, Truth
from counterrank.online.memory import Memory
from counterrank.online.mgd import MGD
from counterrank.online.pdgd import PDGD
from counterrank.online.pessimistic import Pessimistic
from counterrank.online.prior import Prior
from counterrank.online.ranker import Options, Ranker
from counterrank.online.thompson import Thompson
from counterrank.online.ucbrank import UCBRank, UCBRankPlusOne

_MEMBERS: list[type[Ranker]] = [
    BM25, CFTopK, CFRandomK, CFEpsilon, DBGD, MGD, PDGD, Prior, UCBRank, EBRank, Thompson, Pessimistic, Random, Truth,
    UCBRankPlusOne, OnlyPrior, OnlyBehaviour, ExactVariance,
]  # fmt: skip
RANKERS: dict[str, type[Ranker]] = {each.name: each for each in _MEMBERS}

__all__ = ["RANKERS", "Memory", "Options", "Ranker"]
