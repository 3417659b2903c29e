"""Every kind of policy keeps the laws of policies; and the laws find what they are there to find."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from counterrank.checks import POLICY_LAWS, LawBroken, check_policy
from counterrank.checks.policy import Tried
from counterrank.errors import InputError
from counterrank.policy import POLICIES, Logged, Policy, Scores, Table

sys.path.insert(0, str(Path(__file__).parents[1] / "policy"))
from policy_worlds import FEATURES, ITEMS, MADE, MISSING, few_features, logged


def tried(name: str) -> Tried:
    if name == "logged":  # it is there only with a log
        return Tried(logged, ITEMS, (MISSING,))
    features = few_features() if name == "genspec" else FEATURES if MADE[name].stored().features else None
    return Tried.of(MADE[name], features)


@pytest.mark.parametrize("law", POLICY_LAWS, ids=lambda law: law.__name__)
@pytest.mark.parametrize("name", [*MADE, "logged"])
def test_every_policy(name: str, law: Any) -> None:
    law(tried(name))


def test_every_kind_is_tried_and_known_by_its_name() -> None:
    assert {type(policy) for policy in MADE.values()} | {Logged} == set(POLICIES.values())
    assert {name: kind.kind for name, kind in POLICIES.items()} == {name: name for name in POLICIES}


class Mine(Policy):
    """A table of one's own, with one thing changed."""

    kind = "mine"

    def __init__(self, change: str = "", table: Table | None = None) -> None:
        self.change = change
        self.table = table or Table(["q", "q", "r"], [["a", "b", "c"], ["b", "a", "c"], ["c"]], [0.75, 0.25, 1.0])

    def queries(self) -> Any:
        return self.table.queries()

    def items(self) -> Any:
        return self.table.items()

    def bind(self, pairs: Any) -> Any:
        bound = self.table.bind(pairs)
        if self.change in CHANGES:
            name, of = CHANGES[self.change]
            real = getattr(bound, name)
            setattr(bound, name, lambda *given: of(bound, real, *given))
        return bound

    def stored(self) -> Any:
        if self.change == "not written":
            raise NotImplementedError
        return super().stored()

    def rows(self) -> Any:
        return self.table.rows()

    @classmethod
    def restored(cls, stored: Any) -> Any:
        return cls("", Table.restored(stored))


CHANGES: dict[str, tuple[str, Any]] = {
    "chances": ("probability", lambda bound, real, *given: real(*given) * 0.9),
    "marginals": ("marginals", lambda bound, real: real()[:, ::-1]),
    "draws": ("sample", lambda bound, real, queries, rng: bound.best(queries)),
    "seed": ("sample", lambda bound, real, queries, rng: real(queries, np.random.default_rng())),
    "best": ("best", lambda bound, real, queries: real(queries)[:, ::-1]),
}


@pytest.mark.parametrize(
    ("change", "law", "words"),
    [
        ("chances", "sum to one", "the sum of chances 0.9 came, 1 was expected"),
        ("marginals", "the rankings that have it there", "a marginal"),
        ("draws", "as often as they are likely", "0 times in 4000 came, 1000 ± 5σ was expected"),
        ("seed", "from the same seed", "other rankings"),
        ("best", "the most likely one", "chance of its best ranking"),
        ("not written", "read back", "NotImplementedError"),
    ],
)
def test_a_broken_law_is_told_in_one_line(change: str, law: str, words: str) -> None:
    before = dict(POLICIES)
    with pytest.raises(LawBroken) as caught:
        check_policy(Mine(change))
    said = str(caught.value)
    assert said.startswith("policy of kind 'mine' breaks a law: ")
    assert law in said
    assert words in said
    assert "\n" not in said
    assert dict(POLICIES) == before


def test_what_keeps_the_laws_passes() -> None:
    check_policy(Mine())
    with pytest.raises(InputError, match="subclass it"):
        check_policy(len)
    with pytest.raises(InputError, match="at most 5 items"):
        check_policy(Scores.from_dict({"q": {str(i): float(i) for i in range(6)}}))
