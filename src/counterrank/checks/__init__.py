"""The laws of a family, run on a member of one's own.

>>> from counterrank.estimate import ItemPosition
>>> check_estimator(ItemPosition())
"""

from counterrank.checks.click_model import CLICK_MODEL_LAWS, check_click_model
from counterrank.checks.estimator import ESTIMATOR_LAWS, check_estimator
from counterrank.checks.law import LawBroken
from counterrank.checks.policy import POLICY_LAWS, check_policy

__all__ = [
    "CLICK_MODEL_LAWS",
    "ESTIMATOR_LAWS",
    "POLICY_LAWS",
    "LawBroken",
    "check_click_model",
    "check_estimator",
    "check_policy",
]
