"""EBRank and its kin by hand, by enumeration and by chance."""

from __future__ import annotations

from itertools import permutations, product

import numpy as np
import pytest
from scipy import stats

from counterrank.online import RANKERS, Memory, Options
from counterrank.online._draws import beta, normal
from counterrank.statistics.hashing import mix

CURVE = 1 / np.log2(np.arange(2, 7))


def history(seed: int = 0, items: int = 6) -> tuple[Memory, np.ndarray, np.ndarray]:
    """A query with random counts and beliefs; the last item was never shown."""
    rng = np.random.default_rng(seed)
    memory = Memory(positions=5, names=["x"])
    memory.query("q", room=16)  # its rows are the first
    for item in range(items):
        memory.add("q", str(item), [rng.normal()], (rng.gamma(2.0), 5.0))
    shown = rng.integers(0, 6, (items, 5))
    shown[-1] = 0
    clicked = rng.binomial(shown, 0.6)
    memory.rows.shown[:items], memory.rows.clicked[:items] = shown, clicked
    return memory, shown, clicked


def score(name: str, memory: Memory, exploration: float, evidence: str = "ips") -> np.ndarray:
    ranker = RANKERS[name](Options(examination=CURVE, exploration=exploration, evidence=evidence))
    return ranker.scores(memory, "q", np.random.default_rng(5))


@pytest.mark.parametrize("evidence", ["ips", "exposure"])
@pytest.mark.parametrize("exploration", [0.0, 20.0])
def test_equations_9_to_12(evidence: str, exploration: float) -> None:
    memory, shown, clicked = history()
    for i, found in enumerate(score("ebrank", memory, exploration, evidence)):
        alpha, b = memory.rows.belief[i]
        c = sum(clicked[i, k] / CURVE[k] for k in range(5))
        e = sum(shown[i, k] * CURVE[k] for k in range(5))
        if evidence == "ips":
            estimate = (c + alpha) / (shown[i].sum() + alpha + b)
        else:
            estimate = (clicked[i].sum() + alpha) / (e + alpha + b)
        assert found == pytest.approx(estimate + exploration * estimate / (e + alpha + b) ** 2, rel=1e-12)


def test_the_exact_variance_is_that_of_its_parts() -> None:
    """Var[R̂] before less after one look at the first place; a prior of strength s is s looks of its own mean."""
    memory, shown, _ = history(3)
    plain = score("ebrank", memory, 0.0)
    for i, found in enumerate(score("ebrank-exact", memory, 7.0)):
        alpha, b = memory.rows.belief[i]
        mean = min(plain[i], 1.0)

        def variance(looks: np.ndarray, mean: float = mean, strength: float = alpha + b) -> float:
            clicks = sum(n * mean * p * (1 - mean * p) / p**2 for n, p in zip(looks, CURVE, strict=True))
            return float((clicks + mean * (1 - mean) * strength) / (looks.sum() + strength) ** 2)

        more = shown[i].copy()
        more[0] += 1
        assert found == pytest.approx(plain[i] + 7.0 * (variance(shown[i]) - variance(more)), rel=1e-9)


def test_sorting_is_best_of_all_orders() -> None:
    """Eq. 17 over 6! rankings."""
    for seed in range(5):
        memory, _, _ = history(seed)
        values = score("ebrank", memory, 30.0)
        weights = np.append(CURVE, 0.0)
        every = np.array(list(permutations(range(6))))
        best = (values[every] * weights).sum(axis=1).max()
        ranker = RANKERS["ebrank"](Options(examination=CURVE, exploration=30.0))
        order = [int(item) for item in ranker.rank(memory, "q", np.random.default_rng(0))]
        assert (values[order] * weights).sum() == pytest.approx(best, rel=1e-12)


def test_debiased_clicks_are_unbiased() -> None:
    """E[C/n] = R by enumeration over all clicks of three looks (eq. 22)."""
    relevance, places = 0.7, (0, 2, 4)
    total = 0.0
    for clicks in product((0, 1), repeat=3):
        looked = [CURVE[k] * relevance for k in places]
        chance = np.prod([p if c else 1 - p for c, p in zip(clicks, looked, strict=True)])
        memory = Memory(positions=5)
        memory.add("q", "a", (), (1e-300, 1e-300))
        for c, k in zip(clicks, places, strict=True):
            memory.rows.shown[0, k] += 1
            memory.rows.clicked[0, k] += c
        total += chance * score("ebrank", memory, 0.0)[0]
    assert total == pytest.approx(relevance, rel=1e-12)


def test_ucb_in_both_forms() -> None:
    memory, shown, clicked = history(1)
    bonuses = {"ucbrank": lambda n: 1 / max(n**0.5, 0.001), "ucbrank-plus-one": lambda n: (n + 1) ** -0.5}
    for name, bonus in bonuses.items():
        for i, found in enumerate(score(name, memory, 0.3)):
            n, exposure = shown[i].sum(), (shown[i] * CURVE).sum()
            mean = clicked[i].sum() / exposure if n else memory.rows.belief[i, 0]
            assert found == pytest.approx(mean + 0.3 * bonus(n), rel=1e-12)


def test_thompson_draws_from_the_posterior() -> None:
    memory, shown, clicked = history(2)
    ranker = RANKERS["thompson"](Options(examination=CURVE, exploration=1.0))
    rng = np.random.default_rng(0)
    drawn = np.array([ranker.scores(memory, "q", rng) for _ in range(1500)])
    for i in range(6):
        alpha, b = memory.rows.belief[i]
        n = shown[i].sum()
        c = min((clicked[i] / CURVE).sum(), n)
        assert stats.kstest(drawn[:, i], stats.beta(c + alpha, n - c + b).cdf).pvalue > 1e-4


def test_draws_by_key() -> None:
    keys = [mix(np.uint64(i)) for i in range(3000)]
    assert stats.kstest([normal(np.uint64(k), 3) for k in keys], stats.norm.cdf).pvalue > 1e-4
    for a, b in ((0.05, 3.0), (1.0, 1.0), (30.0, 2.0)):
        assert stats.kstest([beta(np.uint64(k), a, b) for k in keys], stats.beta(a, b).cdf).pvalue > 1e-4


def test_an_item_without_features_gets_the_prior_of_all() -> None:
    memory = Memory(positions=2, names=["x"])
    memory.query("q", room=16)
    for item in range(8):
        memory.add("q", str(item), [float(item)])
        memory.record("q", [str(item)], [item % 2], times=10)
    memory.add("q", "bare")
    ranker = RANKERS["ebrank"](Options(examination=np.ones(2)))
    ranker.learn(memory)
    from counterrank.posterior import choose_prior

    clicks, looks = np.array([0.0, 10.0] * 4 + [0.0]), np.array([10.0] * 8 + [0.0])
    assert tuple(memory.rows.belief[8]) == choose_prior("fit", clicks, looks, np.array([0, 9]), "global").pair
    assert ranker.uncertainty(memory, np.array([0])) > 0
