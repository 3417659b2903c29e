"""Policies as the command line names them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from counterrank.errors import InputError, unknown
from counterrank.policy import Mixture, PlackettLuce, Policy, Scores, Slots, Table, Uniform, read_policy


def open_policy(name: str, temperature: float, option: str = "target") -> Policy:
    """A file of rankings, scores or slots, or one of the words logging and uniform. A temperature applies to scores."""
    if name == "uniform":
        return Uniform()
    policy = _read(name, option, ("logging", "uniform"))
    return read_policy(policy, temperature=temperature) if isinstance(policy, Scores) else policy


def _read(name: str, option: str, words: tuple[str, ...]) -> Policy:
    """A policy from a file; a bare word that is neither a file nor one of ours is a word misspelt."""
    if name not in words and not any(sign in name for sign in "./\\*:") and not Path(name).exists():
        raise unknown(option, name, [*words, "or a policy file"])
    return read_policy(name)


def open_sides(
    target: str, baseline: str, logging: str | None, temperature: float, baseline_temperature: float | None,
    logging_temperature: float | None, mix: float,
) -> tuple[Policy, Policy, Any]:  # fmt: skip
    """Target, baseline, and the logging policy as `compare` takes it."""
    warm = temperature if baseline_temperature is None else baseline_temperature
    other = open_policy(baseline, warm, "baseline")
    scores = isinstance(other, Scores | PlackettLuce)
    if baseline_temperature is not None and not scores:
        raise InputError(f"--baseline-temperature is for scores, but --baseline {baseline} has none: leave it out")
    policy, known = open_target(target, logging, temperature, logging_temperature, mix, scores)
    return policy, other, known


def open_logging(logging: str | None, temperature: float) -> Any:
    """The logging policy as `evaluate` takes it: one of its words, or the policy of a file."""
    if logging is None or logging in ("log", "logging", "propensity", "uniform"):
        return logging
    known = _read(logging, "logging", ("log", "propensity", "uniform"))
    return read_policy(known, temperature=temperature) if isinstance(known, Scores) else known


def open_target(
    target: str,
    logging: str | None,
    temperature: float,
    logging_temperature: float | None,
    mix: float,
    scores: bool = False,
) -> tuple[Policy, Any]:
    """The target, and the logging policy as `evaluate` takes it. `scores`: the temperature applies to others too."""
    warm = temperature if logging_temperature is None else logging_temperature
    known = open_logging(logging, warm)
    scores = scores or isinstance(known, Scores | PlackettLuce)
    if target == "logging" and mix:
        raise InputError("--mix needs a target of its own, but the target is the logging policy")
    policy = open_policy(target, temperature)
    if temperature and not scores and isinstance(policy, Table | Slots):
        raise InputError(f"{target}: --temperature is for scores, but this file has rankings: leave it out")
    return (Mixture(policy, mix) if mix else policy), known
