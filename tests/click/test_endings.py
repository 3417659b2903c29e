"""What follows a page's last click, against sums over all the places where its user may have stopped reading."""

from __future__ import annotations

import numpy as np
import pytest
from click_worlds import CROWD, PAIRS, A, sampled

from counterrank.click import ClickCounts, halves, user_browsing
from counterrank.click.endings import Endings
from counterrank.statistics.patterns import Patterns, joined

U = 0.8
V = np.random.default_rng(2).uniform(0.2, 0.9, len(PAIRS))


def log() -> ClickCounts:
    """Ragged pages, each twice, of which some of the first come no times and some several times."""
    one = sampled(CROWD["ccm"], PAIRS, 400, seed=5, ragged=True).patterns
    assert one is not None
    often = np.arange(len(one)) % 3
    return ClickCounts.of(PAIRS, joined([Patterns(one.queries, one.coded, often), one]))


def by_hand(patterns: Patterns) -> tuple[float, np.ndarray, np.ndarray]:
    """The log-likelihood of all pages, expected looks at each pair, and Σ w(1 − w)."""
    total, looks, doubt = 0.0, np.zeros(len(PAIRS)), np.zeros(len(PAIRS))
    for ranking, clicks, n in zip(patterns.rankings, patterns.clicks, patterns.impressions, strict=True):
        shown = ranking[ranking >= 0]
        chances = np.zeros(len(shown))  # of these clicks by a user who stops reading at each position
        for stop in range(len(shown)):
            chance = 1.0 if not clicks[stop + 1 :].any() else 0.0
            for k, pair in enumerate(shown[: stop + 1]):
                on = V[pair] if clicks[k] else U
                chance *= A[pair] if clicks[k] else 1 - A[pair]
                chance *= on if k < stop else 1.0 if k + 1 == len(shown) else 1 - on
            chances[stop] = chance
        w = chances[::-1].cumsum()[::-1] / chances.sum()
        total += n * np.log(chances.sum())
        np.add.at(looks, shown, n * w)
        np.add.at(doubt, shown, n * w * (1 - w))
    return total, looks, doubt


@pytest.mark.parametrize("worth", [1, 1 << 15])
def test_endings_are_sums_over_where_users_stopped(worth: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(halves, "WORTH", worth)
    counts = log()
    endings = Endings.of(counts, "ccm")
    places = endings.places(lambda group: group.last)
    below, sums = endings.step(places, A, U, np.append(V, 1.0), doubt=True)
    between = counts.clicks - counts.looks.last
    certain = endings.certain(counts.clicks, A) + between @ np.log(V) + endings.missed.sum() * np.log(U)
    total, looks, doubt = by_hand(counts.need_patterns("a test"))
    assert below + certain == pytest.approx(total, rel=1e-12)
    np.testing.assert_allclose(endings.seen + sums.looks, looks, rtol=1e-12)
    np.testing.assert_allclose(sums.doubt, doubt, rtol=1e-9)
    below, sums = endings.step(places, A, U, np.append(V, 1.0))  # without the doubt: by another kernel
    assert below + certain == pytest.approx(total, rel=1e-12)
    np.testing.assert_allclose(endings.seen + sums.looks, looks, rtol=1e-12)
    assert endings.followed.sum() + endings.stops == counts.looks.last.sum()


def test_equal_endings_of_a_query_are_one() -> None:
    """Pages that differ above their last click only, and one whose click has another position."""
    coded = [[0, 3, 4, 6], [7, 3, 4, 6], [3, 4, 6, -1], [0, 2, 4, 6], [0, 2, 4, 6], [1, 3, 5, 7]]
    queries = np.zeros(len(coded), dtype=np.int64)
    patterns = Patterns(queries, np.array(coded, dtype=np.int32), np.array([1, 2, 4, 8, 16, 32]))
    [part] = Endings.of(ClickCounts.of(PAIRS, patterns), "dbn").parts
    found = {tuple(items): n for group in part for items, n in zip(group.items.T.tolist(), group.often, strict=True)}
    assert sorted(n for group in part for n in group.often) == [3.0, 4.0, 24.0]
    assert found[0, 1, 2, 3] == 24.0


def test_counts_of_the_last_click_are_the_same_in_small_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    patterns = sampled(CROWD["ubm"], PAIRS, 300, seed=5, ragged=True).patterns
    assert patterns is not None
    whole = user_browsing.cells_of(PAIRS, patterns, 10)
    monkeypatch.setattr(user_browsing, "ROOM", 1)
    mixed = patterns.at(np.random.default_rng(0).permutation(len(patterns)))
    for some in (patterns, mixed):
        parts = user_browsing.cells_of(PAIRS, some, 10)
        for name in ("pairs", "places", "shown", "clicked"):
            np.testing.assert_array_equal(getattr(parts, name), getattr(whole, name))
    assert whole.shown.sum() == (patterns.coded >= 0).sum(axis=1) @ patterns.impressions
