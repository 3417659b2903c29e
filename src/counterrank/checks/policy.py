"""The laws of policies, against the list of all rankings of a few small queries."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import permutations
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from counterrank.checks.law import Law, expect, expect_near, hold, registered
from counterrank.errors import InputError
from counterrank.ids import Codes, Ids
from counterrank.policy import POLICIES, BoundPolicy, Policy, read_policy
from counterrank.records import dataclass
from counterrank.statistics.cells import Cells
from counterrank.statistics.pairs import Pairs

ITEMS, QUERIES, LENGTHS, DRAWS = 5, 6, (1, 2, 3, 4), 4000
FOREIGN = {"a query that nobody has": ["a", "z"]}
BUILT_IN = {"q": ["a", "b", "c", "d"], "7": ["7"], "r": ["b", "z", "a"]}


@dataclass(frozen=True)
class Tried:
    """A policy and the queries it is tried on. `foreign`: those that it does not have; `features`: what it scores."""

    bind: Callable[[Pairs], BoundPolicy]
    items: dict[str, list[str]]
    foreign: tuple[str, ...] = ()
    policy: Policy | None = None
    features: Any = None

    @classmethod
    def of(cls, policy: Policy, features: Any = None) -> Tried:
        """A policy on its own small queries, or on built-in ones where it answers any."""
        found: dict[str, list[str]] = {}
        for query, item in zip(*(each.to_pylist() for each in policy.items()), strict=True):
            found.setdefault(query, []).append(item)
        had = policy.queries()
        known = set(had.to_pylist()) if had is not None else {*found, *BUILT_IN}
        if had is None:
            found = BUILT_IN | found
        small = [query for query, of in found.items() if query in known and len(of) <= ITEMS][:QUERIES]
        if not small:
            raise InputError(f"{policy!r} has no query of at most {ITEMS} items: check one that has")
        items = {query: sorted(set(found[query])) for query in small}
        alone = cls(policy.bind, items, (), policy, features)
        if had is None:
            return alone
        more = replace(alone, items=items | FOREIGN, foreign=tuple(FOREIGN))
        try:
            more.bound()
        except InputError:
            return alone  # it refuses a run with such a query, in one line
        return more

    def bound(self, length: int = 4, positions: int = 4) -> BoundPolicy:
        """The policy on a run; codes of items are in no particular order."""
        names = sorted({item for of in self.items.values() for item in of}, key=lambda n: (len(n), n), reverse=True)
        query_ids, item_ids = Ids(pa.array(list(self.items))), Ids(pa.array(names))
        queries = np.repeat(np.arange(len(self.items)), [len(of) for of in self.items.values()])
        flat = item_ids.codes(pa.array([item for of in self.items.values() for item in of]))
        longest = np.array([min(length, len(of)) for of in self.items.values()])
        return self.bind(Pairs.build(query_ids, item_ids, queries, flat, longest, positions))

    def had(self) -> Codes:
        """The queries that it has."""
        return np.array([q for q, query in enumerate(self.items) if query not in self.foreign])


def check_policy(mine: Policy, *, features: Any = None) -> None:
    """Run the laws on a policy; `LawBroken` says which one it breaks, and how.

    It is tried on those of its queries that have at most five items. `features`: what a policy that scores features
    needs to be itself again once it was written and read.
    """
    if not isinstance(mine, Policy):
        raise InputError(f"a policy is a counterrank.policy.Policy, but {mine!r} came: subclass it")
    with registered(POLICIES, mine.kind, type(mine)):
        hold(f"policy of kind {mine.kind!r}", Tried.of(mine, features), POLICY_LAWS)


def every_ranking(pairs: Pairs, query: int) -> Codes:
    """All rankings of all lengths of one query's pairs, padded with -1."""
    rows = range(int(pairs.starts[query]), int(pairs.starts[query + 1]))
    found = [r for n in range(pairs.positions + 1) for r in permutations(rows, n)]
    return np.array([list(r) + [-1] * (pairs.positions - len(r)) for r in found], dtype=np.int64)


def chances(bound: BoundPolicy, query: int) -> tuple[Codes, NDArray[np.float64]]:
    """All rankings of a query, and how likely each is."""
    every = every_ranking(bound.pairs, query)
    return every, bound.probability(np.full(len(every), query), every)


def probabilities_sum_to_one(tried: Tried) -> None:
    """The chances of all rankings are 0 or more and sum to one; none is longer than asked for."""
    for length in LENGTHS:
        bound = tried.bound(length)
        for query in tried.had():
            every, chance = chances(bound, query)
            expect((chance >= 0).all(), f"a chance of {chance.min():g}", "0 or more")
            expect_near(chance.sum(), 1.0, "the sum of chances", least=1e-9)
            long = (every >= 0).sum(axis=1) > bound.pairs.lengths[query]
            expect(not chance[long].any(), "a ranking that is too long", f"at most {bound.pairs.lengths[query]} items")


def marginals_are_sums(tried: Tried) -> None:
    """The chance of an item at a position is the sum over the rankings that have it there."""
    for length in LENGTHS:
        bound = tried.bound(length)
        out = np.zeros((len(bound.pairs), bound.pairs.positions))
        for query in range(len(tried.items)):
            for ranking, chance in zip(*chances(bound, query), strict=True):
                shown = ranking[ranking >= 0]
                out[shown, np.arange(len(shown))] += chance
        expect_near(bound.marginals(), out, "a marginal", least=1e-12)
        for some in (np.ones(out.shape), np.random.default_rng(21).random(out.shape) < 0.4, out > 0):
            cells, [_, found] = Cells.of_tables(some.astype(np.int64), out)
            expect_near(bound.on(cells), found, "a marginal in the cells of a log", least=1e-12)


def a_cut_policy_shows_the_first_items(tried: Tried) -> None:
    """Cut to a length, it shows the first items of what it shows whole."""
    whole = tried.bound()
    for length, query in ((length, query) for length in LENGTHS for query in tried.had()):
        every, chance = chances(whole, query)
        heads, to = np.unique(np.where(np.arange(4) < length, every, -1), axis=0, return_inverse=True)
        cut = tried.bound(length).probability(np.full(len(heads), query), heads)
        expect_near(cut, np.bincount(to.ravel(), chance), "the chance of a cut ranking")


def more_positions_change_nothing(tried: Tried) -> None:
    """Positions beyond the last item are empty, and change nothing."""
    narrow, wide = tried.bound().marginals(), tried.bound(positions=6).marginals()
    expect_near(wide[:, :4], narrow, "a marginal")
    expect(not wide[:, 4:].any(), "something below the last item", "nothing")


def samples_follow_the_chances(tried: Tried) -> None:
    """Rankings are drawn as often as they are likely, and the same ones from the same seed."""
    queries = np.repeat(tried.had(), DRAWS)
    np.random.default_rng(19).shuffle(queries)
    for length in (2, 4):
        bound = tried.bound(length)
        drawn, again = (bound.sample(queries, np.random.default_rng(20)) for _ in range(2))
        expect(drawn.shape == (len(queries), 4), f"draws of shape {drawn.shape}", (len(queries), 4))
        expect((drawn == again).all(), "other rankings from the same seed", "the same")
        expect(len(bound.sample(queries[:0], np.random.default_rng(3))) == 0, "draws of no query", "none")
        for query in tried.had():
            every, chance = chances(bound, query)
            mine = drawn[queries == query]
            count = np.array([(mine == ranking).all(axis=1).sum() for ranking in every])
            expect(count.sum() == DRAWS, f"{count.sum()} rankings of the query", DRAWS)
            far = np.abs(count - DRAWS * chance) > 5 * np.sqrt(DRAWS * chance * np.maximum(1 - chance, 0)) + 1e-6
            if far.any():
                expect(False, f"a ranking {count[far][0]} times in {DRAWS}", f"{DRAWS * chance[far][0]:.6g} ± 5σ")


def the_best_is_the_most_likely(tried: Tried) -> None:
    """The ranking that it names as its best is the most likely one, also one query at a time."""
    for length in LENGTHS:
        bound = tried.bound(length)
        try:
            best = bound.best(tried.had())
        except InputError:
            return  # it says that it cannot name one
        found = bound.probability(tried.had(), best)
        for query, chance in zip(tried.had(), found, strict=True):
            expect_near(chance, chances(bound, query)[1].max(), "the chance of its best ranking")
    if tried.policy is None:
        return
    named = set(tried.policy.items()[0].to_pylist())
    for query in [query for query in tried.items if query in named and query not in tried.foreign]:
        ranking = tried.policy.rank(query, 2)
        expect(len(ranking) <= 2, f"a ranking of {len(ranking)}", "one of 2")
        drawn = tried.policy.sample(query, np.random.default_rng(0), 2)
        chance = [tried.policy.probability(query, each, 2) for each in (ranking, drawn)]
        expect(chance[0] >= chance[1] * (1 - 1e-9) > 0, f"a best ranking of chance {chance[0]:g}", f"{chance[1]:g}")


def a_query_it_lacks_gets_nothing(tried: Tried) -> None:
    """A query that it does not have gets no chances, and an error in one line where a ranking is asked for."""
    bound = tried.bound()
    for q in (list(tried.items).index(query) for query in tried.foreign):
        expect(not bound.marginals()[bound.pairs.queries == q].any(), "a marginal", "none")
        expect(not chances(bound, q)[1].any(), "a chance", "none")
        _refused(lambda q=q: bound.sample(np.array([q]), np.random.default_rng(0)), "a draw")  # type: ignore[misc]
        _refused(lambda q=q: bound.best(np.array([q])), "a ranking")  # type: ignore[misc]


def wrong_rankings_have_no_chance(tried: Tried) -> None:
    """A ranking with an item twice, or with another query's items, has no chance."""
    bound = tried.bound()
    starts, sizes = bound.pairs.starts, bound.pairs.sizes
    for query in tried.had():
        other = starts[(query + 1) % len(sizes)]
        wrong = np.array([[starts[query], starts[query], -1, -1], [other, -1, -1, -1]])[: 2 if len(sizes) > 1 else 1]
        found = bound.probability(np.full(len(wrong), query), wrong)
        expect(not found.any(), f"a chance of {found.max():g}", "none")


def written_and_read_it_is_the_same(tried: Tried) -> None:
    """Written as a directory and read back, it has the same chances; a damaged file is refused in one line."""
    if tried.policy is None:
        return
    with TemporaryDirectory() as folder:
        place = tried.policy.save(Path(folder) / "policy")
        found = read_policy(place, features=tried.features)
        expect(type(found) is type(tried.policy), f"a {type(found).__name__}", f"a {type(tried.policy).__name__}")
        again = Tried(found.bind, tried.items, tried.foreign, found)
        for length in (1, 4):
            one, two = again.bound(length), tried.bound(length)
            expect_near(one.marginals(), two.marginals(), "a marginal, once read,", rel=1e-12)
            for query in range(len(tried.items)):
                expect_near(chances(one, query)[1], chances(two, query)[1], "a chance, once read,", rel=1e-12)
        for file in sorted(place.iterdir()):
            whole = file.read_bytes()
            half = len(whole) // 2
            for damaged in (b"", whole[:half], whole[:half] + b"\0" + whole[half:]):
                file.write_bytes(damaged)
                _refused(lambda: read_policy(place), f"a policy, though {file.name} is damaged")
            file.write_bytes(whole)


POLICY_LAWS: tuple[Law[Tried], ...] = (
    probabilities_sum_to_one,
    marginals_are_sums,
    a_cut_policy_shows_the_first_items,
    more_positions_change_nothing,
    samples_follow_the_chances,
    the_best_is_the_most_likely,
    a_query_it_lacks_gets_nothing,
    wrong_rankings_have_no_chance,
    written_and_read_it_is_the_same,
)


def _refused(act: Callable[[], object], what: str) -> None:
    try:
        act()
    except InputError as error:
        expect("\n" not in str(error), "an error of several lines", "one line")
        return
    expect(False, what, "an InputError")
