"""Which estimators to run, and with which regression."""

from __future__ import annotations

from collections.abc import Sequence

from counterrank.errors import InputError, unknown
from counterrank.estimate import ESTIMATORS
from counterrank.regress import REGRESSIONS
from counterrank.setting.need import Need


def choose_estimators(
    given: Sequence[str] | str | None, metric: str, features: bool = False
) -> tuple[list[str], list[str]]:
    """The estimators to run, and notes on those that the metric does not allow.

    Those that need features come where there are some.
    """
    names = given.split(",") if isinstance(given, str) else list(given) if given is not None else None
    usual = [name for name in ESTIMATORS.usual() if not ESTIMATORS[name].asked_for]
    usual = [name for name in usual if features or Need.FEATURES not in ESTIMATORS[name].needs]
    wanted = [name.strip() for name in names] if names is not None else usual
    if "best" in wanted:
        raise InputError("`estimators='best'` stands alone: it chooses one estimator")
    for name in wanted:
        if name not in ESTIMATORS:
            raise ESTIMATORS.unknown(name, "best")
    wanted = list(dict.fromkeys(wanted))
    if metric == "clicks":
        return wanted, []
    left = [name for name in wanted if ESTIMATORS[name].gives(metric)]
    out = [name for name in wanted if name not in left]
    notes = (
        [f"{', '.join(out)} left out: they credit single clicks, and the metric is a page-level reward"] if out else []
    )
    if not left:
        *some, last = [name for name, estimator in ESTIMATORS.items() if estimator.gives(metric)]
        raise InputError(
            f"{', '.join(out)} cannot judge a page-level reward: choose from {', '.join(some)} and {last}, "
            "or add `metric='clicks'`"
        )
    return left, notes


def check_model(names: Sequence[str], features: bool, model: str | None) -> tuple[str, list[str]]:
    """The regression for the estimators that need one, and what to say where none does."""
    needy = [name for name in names if Need.FEATURES in ESTIMATORS[name].needs]
    if needy and not features:
        raise InputError(f"{', '.join(needy)} needs features of items: add `features=FILE` (query, item, numbers)")
    if model is not None and not features:
        raise InputError(f"`model={model}` is a regression on features: add `features=FILE`, or leave it out")
    if model is not None and model not in REGRESSIONS:
        raise unknown("model", model, REGRESSIONS)
    said = [] if needy or not features else [f"features are not used: {', '.join(names)} needs none"]
    return model or "ridge", said
