"""Two threads find what one finds."""

from __future__ import annotations

import numpy as np
import pytest
from click_worlds import CROWD, PAIRS, sampled

from counterrank.click import FITS, Options, halves


@pytest.mark.parametrize("name", ["dcm-ml", "pbm", "ubm", "dbn", "ccm"])
def test_a_fit_in_two_threads_is_that_in_one(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    counts = sampled(CROWD["ccm"], PAIRS, 2_000, seed=1, ragged=True)
    options = Options(iterations=5, tolerance=-1)
    one = FITS[name](counts, options)
    monkeypatch.setattr(halves, "WORTH", 1)
    two = FITS[name](counts, options)
    np.testing.assert_allclose(two.trace, one.trace, rtol=1e-12)
    np.testing.assert_allclose(two.model.attraction, one.model.attraction, rtol=1e-9)
    np.testing.assert_allclose(two.looks.looks, one.looks.looks, rtol=1e-9)
