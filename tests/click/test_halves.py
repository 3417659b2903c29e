"""Two threads find what one finds."""

from __future__ import annotations

import numpy as np
import pytest
from click_worlds import CROWD, PAIRS, sampled

from counterrank.click import FITS, Options, halves, harvest_examination
from counterrank.click.read_on import Sums, far_from_none, read_on, read_through
from counterrank.errors import Unanswerable


@pytest.mark.parametrize("name", ["dcm-ml", "pbm", "ubm", "dbn", "ccm"])
def test_a_fit_in_two_threads_is_that_in_one(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    counts, again = (sampled(CROWD["ccm"], PAIRS, 2_000, seed=1, ragged=True) for _ in range(2))
    options = Options(iterations=5, tolerance=-1)
    one = FITS[name](counts, options)
    monkeypatch.setattr(halves, "WORTH", 1)
    two = FITS[name](again, options)
    np.testing.assert_allclose(two.trace, one.trace, rtol=1e-12)
    np.testing.assert_allclose(two.model.attraction, one.model.attraction, rtol=1e-9)
    np.testing.assert_allclose(two.looks.looks, one.looks.looks, rtol=1e-9)


def test_a_page_that_nothing_explains_divides_by_nothing() -> None:
    """After its last click users go on for sure, and no item below may stay unclicked: a division by 0 once."""
    items, place = np.array([[0], [1]], dtype=np.int32), np.zeros(1, dtype=np.int32)
    sums = Sums(np.zeros(2), np.zeros(2), np.zeros((1, 2)), np.zeros(1))
    total = read_on(items, place, np.ones(1), np.array([1.0, 0.5]), 1.0, np.ones(1), sums)
    assert np.isfinite(total)
    assert total < -600
    assert sums.looks.tolist() == [1.0, 1.0]


def test_both_walks_over_endings_are_one() -> None:
    rng = np.random.default_rng(7)
    items, place = rng.integers(0, 30, (6, 150)).astype(np.int32), rng.integers(0, 31, 150).astype(np.int32)
    attraction, v, often = rng.uniform(0.01, 0.99, 30), np.append(rng.uniform(0, 1, 30), 1.0), rng.integers(1, 4, 150)
    found = []
    for kernel in (read_on, read_through):
        sums = Sums(np.zeros(30), np.zeros(0), np.zeros((31, 2)), np.zeros(1))
        found.append((kernel(items, place, often.astype(np.float64), attraction, 0.9, v, sums), *sums))
    for one, other in zip(*found, strict=True):
        np.testing.assert_allclose(other, one, rtol=1e-12)


def test_only_pages_of_some_chance_are_read_through() -> None:
    """0.1 · 0.5 at each of so many positions: 0.05⁷⁶ is 1.3e-99, and 0.05⁷⁷ is below 1e-100."""
    assert [far_from_none(size, 0.5, 0.9) for size in (1, 76, 77)] == [True, True, False]
    assert not far_from_none(1, 1.0, 1.0)
    assert not far_from_none(1, 0.0, 0.5)


def test_harvesting_says_what_it_lacks_at_the_first_position() -> None:
    with pytest.raises(Unanswerable, match="no item of position 1 was shown at another position too"):
        harvest_examination([[9, 0, 0], [0, 5, 5]], [[3, 0, 0], [0, 1, 1]])
    with pytest.raises(Unanswerable, match="no item of position 1 that stood elsewhere too was clicked there"):
        harvest_examination([[9, 9, 0], [9, 0, 0]], [[0, 3, 0], [4, 0, 0]])
