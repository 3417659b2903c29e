"""What a policy is, and its kinds."""

from counterrank.policy.base import BoundPolicy, Policy
from counterrank.policy.choice import Choice
from counterrank.policy.genspec import GenSpec
from counterrank.policy.logged import Logged, LoggedShares
from counterrank.policy.mixture import Mixture
from counterrank.policy.plackett_luce import PlackettLuce
from counterrank.policy.read import read_policy
from counterrank.policy.scorer import LightGBM, Linear
from counterrank.policy.scores import Scores
from counterrank.policy.slots import Slots
from counterrank.policy.table import Table
from counterrank.policy.uniform import Uniform
from counterrank.registry import Registry, subclass_of

_ADMIT = subclass_of(Policy, "kind")
POLICIES: Registry[type[Policy]] = Registry("kind of policy", "counterrank.policies", _ADMIT, {
    "table": Table,
    "scores": Scores,
    "plackett_luce": PlackettLuce,
    "uniform": Uniform,
    "slots": Slots,
    "mixture": Mixture,
    "logged": Logged,
    "linear": Linear,
    "lightgbm": LightGBM,
    "choice": Choice,
    "genspec": GenSpec,
})  # fmt: skip

__all__ = [
    "POLICIES",
    "BoundPolicy",
    "Choice",
    "GenSpec",
    "LightGBM",
    "Linear",
    "Logged",
    "LoggedShares",
    "Mixture",
    "PlackettLuce",
    "Policy",
    "Scores",
    "Slots",
    "Table",
    "Uniform",
    "read_policy",
]
