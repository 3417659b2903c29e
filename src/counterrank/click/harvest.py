"""The examination curve by intervention harvesting: the same item at two positions is an experiment of its own."""

from __future__ import annotations

from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike

from counterrank.click.examination import ExaminationFit, fit_examination
from counterrank.errors import Unanswerable

HARVESTED = 100  # positions, each beside every other: memory grows with their third power


def harvest_examination(shown: ArrayLike, clicked: ArrayLike) -> ExaminationFit:
    """The curve from pairs of positions, each compared only on items that were shown at both.

    For positions j and k and each pair shown at both, clicks per impression at j and at k are averaged with the same
    weight, min(shown at j, shown at k): what stands there is then alike, and the ratio is that of examination. All
    ratios together are fitted by the likelihood of `fit_examination`. A check of the curve that `fit_examination`
    and `pbm` find: it takes less on trust, as no pair's attraction is modelled, and is noisier. Biased where an item
    attracts differently on days when it stands higher. `attraction` is that of each two positions' common items.
    Of long lists the first 100 positions are looked at.

    >>> harvest_examination([[100, 100], [200, 50]], [[40, 20], [40, 5]]).examination.round(6).tolist()
    [1.0, 0.5]

    Reference: Agarwal et al., WSDM 2019 (AllPairs).
    """
    n, c = (np.asarray(given)[:, :HARVESTED].astype(np.float64) for given in (shown, clicked))
    rate = np.divide(c, n, out=np.zeros_like(c), where=n > 0)
    two = list(combinations(range(n.shape[1]), 2))
    both, hits = np.zeros((len(two), n.shape[1])), np.zeros((len(two), n.shape[1]))
    for row, (j, k) in enumerate(two):
        weight = np.minimum(n[:, j], n[:, k])
        both[row, [j, k]] = weight.sum()
        hits[row, [j, k]] = weight @ rate[:, j], weight @ rate[:, k]
    if not both.any():
        raise Unanswerable("no item was shown at two positions: the log holds no experiment to harvest")
    return fit_examination(both, np.minimum(hits, both))
