"""Policies as the command line names them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from counterrank.errors import InputError, unknown
from counterrank.policy import Mixture, Policy, Scores, Slots, Table, Uniform, read_policy


def open_policy(name: str, temperature: float) -> Policy:
    """A file of rankings, scores or slots, or one of the words logging and uniform. A temperature applies to scores."""
    if name == "uniform":
        return Uniform()
    policy = _read(name, "target", ("logging", "uniform"))
    return read_policy(policy, temperature=temperature) if isinstance(policy, Scores) else policy


def _read(name: str, option: str, words: tuple[str, ...]) -> Policy:
    """A policy from a file; a bare word that is neither a file nor one of ours is a word misspelt."""
    if name not in words and not any(sign in name for sign in "./\\*:") and not Path(name).exists():
        raise unknown(option, name, [*words, "or a policy file"])
    return read_policy(name)


def open_target(
    target: str, logging: str | None, temperature: float, logging_temperature: float | None, mix: float
) -> tuple[Policy, Any]:
    """The target, and the logging policy as `evaluate` takes it."""
    warm = temperature if logging_temperature is None else logging_temperature
    known: Any = logging
    scores = False
    if logging is not None and logging not in ("log", "logging", "propensity", "uniform"):
        known = _read(logging, "logging", ("log", "propensity", "uniform"))
        scores = isinstance(known, Scores)
        known = read_policy(known, temperature=warm) if scores else known
    if target == "logging" and mix:
        raise InputError("--mix needs a target of its own, but the target is the logging policy")
    policy = open_policy(target, temperature)
    if temperature and not scores and isinstance(policy, Table | Slots):
        raise InputError(f"{target}: --temperature is for scores, but this file has rankings: leave it out")
    return (Mixture(policy, mix) if mix else policy), known
