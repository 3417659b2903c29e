"""Policies as the command line names them."""

from __future__ import annotations

from typing import Any

from counterrank.errors import InputError
from counterrank.policy import Logged, Mixture, Policy, Scores, Uniform, read_policy


def open_policy(name: str, temperature: float) -> Policy:
    """A file of rankings or scores, or one of the words logging and uniform. A temperature applies to scores."""
    if name == "uniform":
        return Uniform()
    policy = read_policy(name)
    if isinstance(policy, Scores):
        return read_policy(policy, temperature=temperature)
    if temperature and not isinstance(policy, Logged):
        raise InputError(f"{name}: --temperature is for scores, but this file has rankings: leave it out")
    return policy


def open_target(
    target: str, logging: str | None, temperature: float, logging_temperature: float | None, mix: float
) -> tuple[Policy, Any]:
    """The target, and the logging policy as `evaluate` takes it."""
    warm = temperature if logging_temperature is None else logging_temperature
    known: Any = logging
    if logging is not None and logging not in ("log", "logging", "propensity", "uniform"):
        known = read_policy(logging)
        if isinstance(known, Scores):
            known = read_policy(known, temperature=warm)
    if target == "logging" and mix:
        raise InputError("--mix needs a target of its own, but the target is the logging policy")
    policy = open_policy(target, temperature)
    return (Mixture(policy, mix) if mix else policy), known
