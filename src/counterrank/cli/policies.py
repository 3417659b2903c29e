"""Policies as the command line names them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from counterrank.errors import InputError, unknown
from counterrank.policy import Mixture, PlackettLuce, Policy, Scores, Slots, Table, Uniform, read_policy


def open_policy(name: str, temperature: float, option: str = "target", features: str | None = None) -> Policy:
    """A file of rankings, scores or slots, a policy directory, or one of the words logging and uniform.

    A temperature applies to scores, features to policies that score them.
    """
    if name == "uniform":
        return Uniform()
    policy = _read(name, option, ("logging", "uniform"), features)
    return read_policy(policy, temperature=temperature) if isinstance(policy, Scores) else policy


def _read(name: str, option: str, words: tuple[str, ...], features: str | None) -> Policy:
    """A policy from a file or directory; a bare word that is neither nor one of ours is a word misspelt."""
    if name not in words and not any(sign in name for sign in "./\\*:") and not Path(name).exists():
        raise unknown(option, name, [*words, "or a policy file"])
    policy = read_policy(name)
    policy = read_policy(policy, features=features) if policy.scores_features and features is not None else policy
    known = policy.queries()
    if known is not None and len(known) == 0:
        lacks = "scores features: give --features FILE" if features is None else "has no ranking for any query"
        raise InputError(f"--{option} {name}: the policy {lacks}")
    return policy


def open_sides(
    target: str, baseline: str, logging: str | None, temperature: float, baseline_temperature: float | None,
    logging_temperature: float | None, *, mix: float, features: str | None = None,
) -> tuple[Policy, Policy, Any]:  # fmt: skip
    """Target, baseline, and the logging policy as `compare` takes it."""
    warm = temperature if baseline_temperature is None else baseline_temperature
    other = open_policy(baseline, warm, "baseline", features)
    scores = isinstance(other, Scores | PlackettLuce)
    if baseline_temperature is not None and not scores:
        raise InputError(f"--baseline-temperature is for scores, but --baseline {baseline} has none: leave it out")
    policy, known = open_target(target, logging, temperature, logging_temperature, mix, scores, features=features)
    return policy, other, known


def open_logging(logging: str | None, temperature: float, features: str | None = None) -> Any:
    """The logging policy as `evaluate` takes it: one of its words, or the policy of a file or directory."""
    if logging is None or logging in ("log", "logging", "propensity", "uniform"):
        return logging
    known = _read(logging, "logging", ("log", "propensity", "uniform"), features)
    return read_policy(known, temperature=temperature) if isinstance(known, Scores) else known


def open_target(
    target: str,
    logging: str | None,
    temperature: float,
    logging_temperature: float | None,
    mix: float,
    scores: bool = False,
    *,
    features: str | None = None,
) -> tuple[Policy, Any]:
    """The target, and the logging policy as `evaluate` takes it. `scores`: the temperature applies to others too."""
    warm = temperature if logging_temperature is None else logging_temperature
    known = open_logging(logging, warm, features)
    scores = scores or isinstance(known, Scores | PlackettLuce)
    if target == "logging" and mix:
        raise InputError("--mix needs a target of its own, but the target is the logging policy")
    policy = open_policy(target, temperature, features=features)
    if temperature and not scores and isinstance(policy, Table | Slots):
        raise InputError(f"{target}: --temperature is for scores, but this file has rankings: leave it out")
    return (Mixture(policy, mix) if mix else policy), known
