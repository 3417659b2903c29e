"""Estimators of a policy's value, by name."""

from counterrank.estimate.base import Estimate, LinearEstimate
from counterrank.estimate.by_clicks import ByClicks
from counterrank.estimate.by_rewards import ByRewards
from counterrank.estimate.cdr import CascadeDoublyRobust
from counterrank.estimate.dm import DirectMethod
from counterrank.estimate.dr import DoublyRobust, DoublyRobustList
from counterrank.estimate.estimator import Estimator, Weighs
from counterrank.estimate.ip import ItemPosition
from counterrank.estimate.item import Item
from counterrank.estimate.list import List, WeightedList
from counterrank.estimate.pbm import PositionBased
from counterrank.estimate.pi import Pseudoinverse
from counterrank.estimate.rctr import RankClickThrough
from counterrank.estimate.rips import RewardInteraction
from counterrank.estimate.wip import WeightedItemPosition
from counterrank.estimate.wpi import WeightedPseudoinverse
from counterrank.registry import Registry, instance_of
from counterrank.setting.evidence import Evidence
from counterrank.setting.need import Need

_ADMIT = instance_of(Estimator, "name")
ESTIMATORS: Registry[Estimator] = Registry("estimator", "counterrank.estimators", _ADMIT, {
    "list": List(),
    "wlist": WeightedList(),
    "ip": ItemPosition(),
    "wip": WeightedItemPosition(),
    "pbm": PositionBased(),
    "item": Item(),
    "rctr": RankClickThrough(),
    "pi": Pseudoinverse(),
    "wpi": WeightedPseudoinverse(),
    "rips": RewardInteraction(),
    "cdr": CascadeDoublyRobust(),
    "dm": DirectMethod(),
    "dr": DoublyRobust(),
    "dr-list": DoublyRobustList(),
})  # fmt: skip

LOG_MEAN = next(name for name, estimator in ESTIMATORS.items() if estimator.log_mean)

__all__ = [
    "ESTIMATORS",
    "LOG_MEAN",
    "ByClicks",
    "ByRewards",
    "Estimate",
    "Estimator",
    "Evidence",
    "Item",
    "ItemPosition",
    "LinearEstimate",
    "List",
    "Need",
    "PositionBased",
    "Pseudoinverse",
    "Weighs",
]
