"""`pi` where each position has items of its own: closed forms against `numpy.linalg.pinv` and enumerations."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass
from itertools import permutations, product
from pathlib import Path
from typing import Any

import numpy as np
import page_oracle
import pytest
from typer.testing import CliRunner

import counterrank as cr
from counterrank.cli import app
from counterrank.estimate.pseudoinverse import slots as pi_slots
from counterrank.estimate.pseudoinverse import uniform as pi_uniform
from counterrank.policy import Mixture, Slots, Uniform

Chances = list[dict[str, float]]  # of each slot's items


def make_slots(rng: np.random.Generator, sizes: tuple[int, ...], equal: bool = False, name: str = "") -> Chances:
    return [
        {f"{name}{k}-{a}": float(p) for a, p in enumerate(np.full(m, 1 / m) if equal else rng.dirichlet(np.ones(m)))}
        for k, m in enumerate(sizes)
    ]


@dataclass(frozen=True)
class Wide:
    """A q as a table of all items and positions."""

    table: np.ndarray

    def at(self, rows: np.ndarray, positions: np.ndarray) -> np.ndarray:
        return np.asarray(self.table[rows, positions])

    def squares(self) -> np.ndarray:
        return np.asarray((self.table**2).sum(axis=1))


def solved(bound: Any, table: np.ndarray) -> tuple[np.ndarray, Any]:
    weight, found = pi_slots.solve(bound, Wide(table))
    u = np.zeros(table.shape)
    u[bound.rows, bound.slots % bound.pairs.positions] = weight
    return u, found


def pages(slots: Chances) -> dict[tuple[str, ...], float]:
    """All pages, with their chances."""
    return {
        tuple(a for a, _ in page): float(np.prod([p for _, p in page])) for page in product(*(s.items() for s in slots))
    }


def gamma_of(slots: Chances, items: list[str]) -> np.ndarray:
    marks = [(page_oracle.indicator(page, items, len(slots)), chance) for page, chance in pages(slots).items()]
    return np.asarray(sum(chance * np.outer(mark, mark) for mark, chance in marks))


SIZES = [
    (1,),
    (4,),
    (2, 2),
    (3, 2),
    (1, 3),
    (1, 1, 1),
    (4, 1, 2),
    (2, 3, 4),
    (3, 3, 3, 3),
    (1, 5, 1, 2),
    (2, 2, 2, 2, 2),
]


@pytest.mark.parametrize("equal", [True, False])
@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_closed_form_of_products(sizes: tuple[int, ...], equal: bool) -> None:
    """Also for q that no policy on these slots has: parts outside of Γ's range, or items in foreign slots."""
    rng = np.random.default_rng(sum(sizes) * 10 + len(sizes))
    slots = make_slots(rng, sizes, equal)
    items = sorted(a for slot in slots for a in slot)
    length = len(sizes)
    gamma = gamma_of(slots, items)
    pinv = np.linalg.pinv(gamma, rcond=1e-12, hermitian=True)
    bound = Slots.from_dict({"q": slots})._alone("q", length)
    assert bound.pairs.item_ids.texts.to_pylist() == items
    all_pages = [page_oracle.indicator(page, items, length) for page in pages(slots)]
    target = make_slots(rng, sizes)
    own = sum(p * page_oracle.indicator(page, items, length) for page, p in pages(target).items())
    for q in (own, rng.random(len(own)), rng.random(len(own)) * (np.diag(gamma) > 0)):
        table = np.asarray(q).reshape(len(items), length)
        wide = np.zeros((len(items), bound.pairs.positions))
        wide[:, :length] = table
        u, (sigma2, lost, largest, kappa, condition, drawn) = solved(bound, wide)
        by_matrix = pinv @ q
        assert u[:, :length].ravel() == pytest.approx(by_matrix, abs=1e-8, rel=1e-8)
        assert sigma2[0] == pytest.approx(q @ by_matrix, rel=1e-9)
        assert lost[0] == pytest.approx(((q - gamma @ by_matrix) ** 2).sum(), abs=1e-9)
        assert largest[0] == pytest.approx(max(abs(page @ by_matrix) for page in all_pages), rel=1e-9)
        assert drawn[0] == 0
        values = np.linalg.eigvalsh(gamma)
        values = values[values > 1e-12]
        assert condition[0] >= values[-1] / values[0] * (1 - 1e-9)
    assert kappa[0] == pytest.approx(kappa_of(slots))
    u, (_, _, largest, _, _, _) = solved(bound, np.asarray(own).reshape(len(items), length))
    for page, mark in zip(pages(slots), all_pages, strict=True):  # proposition 3's weight
        weight = sum(target[k][a] / slots[k][a] for k, a in enumerate(page)) - length + 1
        assert float(u.ravel() @ mark) == pytest.approx(weight, abs=1e-9)
    if equal:  # of targets that show one page: Σ m_j − L + 1
        assert solved(bound, all_pages[0].reshape(-1, length))[1][2, 0] == pytest.approx(sum(sizes) - length + 1)


def kappa_of(slots: Chances) -> float:
    two = [
        p * len(one) * r * len(other)
        for j, one in enumerate(slots) for k, other in enumerate(slots) if j < k
        for p in one.values() for r in other.values()
    ]  # fmt: skip
    return min(two or [p * len(slots[0]) for p in slots[0].values()])


def least_of(shown: dict[tuple[str, ...], float], slots: Chances) -> float:
    """The definition: μ(a at j, b at k) ≥ κ / (m_j·m_k), from the pages that μ shows."""
    two = [
        sum(p for page, p in shown.items() if page[j] == a and page[k] == b) * len(one) * len(other)
        for j, one in enumerate(slots) for k, other in enumerate(slots) if j < k for a in one for b in other
    ]  # fmt: skip
    return min(two or [sum(p for page, p in shown.items() if page[0] == a) * len(slots[0]) for a in slots[0]])


@pytest.mark.parametrize(("m", "length"), [(m, k) for m in range(1, 7) for k in range(1, min(m, 4) + 1)])
def test_closed_form_of_rankings_on_enumerated_marks(m: int, length: int) -> None:
    marks = np.zeros((0, m * length))
    for ranking in permutations(range(m), length):
        marks = np.vstack([marks, page_oracle.indicator([str(a) for a in ranking], [str(a) for a in range(m)], length)])
    pinv = np.linalg.pinv(marks.T @ marks / len(marks), rcond=1e-12, hermitian=True)
    q = np.random.default_rng(m).random((m, length))
    assert pi_uniform.solved(q).ravel() == pytest.approx(pinv @ q.ravel(), abs=1e-10)


def world(seed: int, equal: bool = False) -> tuple[list[dict[str, Any]], dict[str, Chances], dict[str, Chances]]:
    """Rows drawn from slots, the slots that logged them, and others on the same items."""
    rng, np_rng = random.Random(seed), np.random.default_rng(seed)
    logging, target, rows = {}, {}, []
    for q in range(3):
        sizes = tuple(rng.randint(1, 4) for _ in range(rng.randint(1, 3)))
        logging[f"q{q}"] = make_slots(np_rng, sizes, equal, f"q{q}/")
        target[f"q{q}"] = make_slots(np_rng, sizes, name=f"q{q}/")
        drawn = [
            [rng.choices(list(slot), list(slot.values()))[0] for slot in logging[f"q{q}"]]
            for _ in range(rng.randint(1, 30))
        ]
        rows += [
            {"query": f"q{q}", "items": page, "reward": rng.gauss(1, 2), "impressions": rng.choice([1, 1, 3])}
            for page in drawn
        ]
    return rows, logging, target


def as_log(rows: list[dict[str, Any]]) -> dict[str, list[Any]]:
    return {name: [row[name] for row in rows] for name in rows[0]}


def listed(policy: dict[str, Chances]) -> dict[str, dict[tuple[str, ...], float]]:
    return {q: pages(slots) for q, slots in policy.items()}


@pytest.mark.parametrize("kind", ["log", "uniform", "slots", "mixture"])
@pytest.mark.parametrize("seed", range(10))
def test_evaluate_agrees_with_enumeration(seed: int, kind: str) -> None:
    rows, logging, target = world(seed, equal=kind == "uniform")
    known = listed(logging)
    given: Any = Slots.from_dict(logging)
    candidates = None
    if kind == "log":
        given, known = "log", None
    elif kind == "uniform":
        given, candidates = "uniform", {q: [list(slot) for slot in of] for q, of in logging.items()}
    elif kind == "mixture":
        given = Mixture(given, 0.4, Slots.from_dict(target))
        other = listed(target)
        known = {q: {r: 0.6 * p + 0.4 * other[q][r] for r, p in of.items()} for q, of in known.items()}
    got = cr.evaluate(as_log(rows), Slots.from_dict(target), estimators="pi,wpi", logging=given, candidates=candidates)
    want = page_oracle.answer(rows, listed(target), known)
    pi = got["pi"]
    assert pi.value == pytest.approx(want["pi"], abs=1e-9, rel=1e-9)
    assert got.value("wpi") == (None if want["wpi"] is None else pytest.approx(want["wpi"], abs=1e-8, rel=1e-8))
    for name in ("effective_sample_size", "unsupported"):
        assert getattr(pi, name) == pytest.approx(want[name], abs=1e-9, rel=1e-8), name
    for name in ("sigma2", "rho", "rho_bar"):
        assert getattr(pi.distance, name) == pytest.approx(want[name], abs=1e-9, rel=1e-8), name
    shown_as = page_oracle.shares(rows) if known is None else known
    assert pi.distance.kappa == pytest.approx(min(least_of(shown_as[q], target[q]) for q in target), abs=1e-12)
    if kind in ("uniform", "slots"):
        assert pi.distance.kappa == pytest.approx(min(kappa_of(slots) for slots in logging.values()))


@pytest.mark.parametrize("sizes", [(2, 3), (3, 1, 2), (2, 2, 2, 2)], ids=str)
@pytest.mark.parametrize("how", ["log", "slots"])
def test_unbiased_on_additive_rewards(sizes: tuple[int, ...], how: str) -> None:
    """A log with every page in proportion to its chance is its own expectation. Here the short form is right."""
    rng = np.random.default_rng(len(sizes))
    times = [rng.integers(1, 5, size) for size in sizes]
    slots = [
        {f"{k}-{a}": float(t / of.sum()) for a, t in enumerate(of)} for k, of in enumerate(times)
    ]  # chances of whole counts
    phi = {a: float(rng.normal()) for slot in slots for a in slot}
    total = int(np.prod([of.sum() for of in times]))
    shown = pages(slots)
    log = {
        "query": ["q"] * len(shown), "items": [list(page) for page in shown],
        "reward": [sum(phi[a] for a in page) for page in shown],
        "impressions": [round(p * total) for p in shown.values()],
    }  # fmt: skip
    target = make_slots(rng, sizes)
    truth = sum(p * sum(phi[a] for a in page) for page, p in pages(target).items())
    logging: Any = "log" if how == "log" else Slots.from_dict({"q": slots})
    got = cr.evaluate(log, Slots.from_dict({"q": target}), estimators="pi,wpi", logging=logging)
    assert got.value("pi") == pytest.approx(truth, abs=1e-10)
    assert got.value("wpi") == pytest.approx(truth, abs=1e-9)
    short = sum(
        p * sum(phi[a] for a in page) * (sum(target[k][a] / slots[k][a] for k, a in enumerate(page)) - len(sizes) + 1)
        for page, p in shown.items()
    )
    assert short == pytest.approx(truth, abs=1e-10)


def test_what_slots_cannot_tell_is_said() -> None:
    logging = Slots(["q"] * 4, [1, 1, 2, 2], ["a", "b", "c", "d"], [0.5, 0.5, 1.0, 0.0])
    log = {"query": ["q"] * 4, "items": [["a", "c"], ["b", "c"]] * 2, "reward": [1.0, 0.0, 0.5, 0.5]}
    want = {"q": {("a", "c"): 0.5, ("b", "c"): 0.5}}
    for page in (["a", "d"], ["c", "a"], ["a", "x"]):  # never shown there, in another's slot, unknown
        got = cr.evaluate(log, {"q": page}, estimators="pi", logging=logging)["pi"]
        rows = [{name: column[i] for name, column in log.items()} for i in range(4)]
        by_hand = page_oracle.answer(rows, {"q": {tuple(page): 1.0}}, want)
        assert got.unsupported == pytest.approx(by_hand["unsupported"])
        assert got.unsupported > 0
        assert got.value == pytest.approx(by_hand["pi"])
        assert got.distance.kappa == 0
        assert got.distance.deviation is None
    rare = Slots(["q"] * 3, [1, 1, 2], ["a", "b", "c"], [1 - 1e-10, 1e-10, 1.0])
    got = cr.evaluate(log, {"q": ["b", "c"]}, estimators="pi", logging=rare)["pi"]
    assert any("'q'" in text and "condition" in text for text in got.warnings)
    longer = log | {"items": [["a", "c", "e"], ["b", "c", "e"]] * 2}
    got = cr.evaluate(longer, {"q": ["b", "c", "e"]}, estimators="pi", logging=logging)["pi"]
    assert any("never shows" in text for text in got.warnings)
    assert got.unsupported > 0


def test_cuts_and_weighted_clicks() -> None:
    rows, logging, target = world(3)
    rng = random.Random(0)
    clicks = [{**row, "clicks": [int(rng.random() < 0.5) for _ in row["items"]]} for row in rows]
    log = as_log([{k: v for k, v in row.items() if k != "reward"} for row in clicks])
    got = cr.evaluate(log, Slots.from_dict(target), estimators="pi", top=1, logging=Slots.from_dict(logging))["pi"]
    cut = [{**row, "items": row["items"][:1], "reward": float(row["clicks"][0])} for row in clicks]
    first = {q: of[:1] for q, of in logging.items()}, {q: of[:1] for q, of in target.items()}
    want = page_oracle.answer(cut, listed(first[1]), listed(first[0]))
    assert got.value == pytest.approx(want["pi"], abs=1e-10)
    assert got.distance.sigma2 == pytest.approx(want["sigma2"])
    assert got.distance.kappa == pytest.approx(min(kappa_of(slots) for slots in first[0].values()))


def test_the_logging_policy_is_worth_the_logs_mean_and_one_slot_is_ips() -> None:
    rows, logging, target = world(5)
    times = np.array([row["impressions"] for row in rows])
    mean = float((times * [row["reward"] for row in rows]).sum() / times.sum())
    policy = Slots.from_dict(logging)
    assert cr.evaluate(as_log(rows), policy, logging=policy, estimators="pi").value("pi") == pytest.approx(mean)
    again = cr.evaluate(as_log(rows), Slots.from_dict(logging), logging=policy, estimators="pi")["pi"]
    assert again.value == pytest.approx(mean)
    assert (again.distance.sigma2, again.distance.rho) == pytest.approx((1.0, 1.0))
    single = [{**row, "items": row["items"][:1]} for row in rows]
    got = cr.evaluate(
        as_log(single), Slots.from_dict(target), logging=policy, estimators="pi,list", candidates=None
    )  # fmt: skip
    assert got.value("pi") == pytest.approx(got.value("list"), rel=1e-12)


def test_a_wide_page_needs_no_matrix() -> None:
    """Ten slots of 500 items: a matrix would have 25 million entries a query."""
    rng = np.random.default_rng(0)
    items = {f"q{q}": [[f"{q}.{k}.{a}" for a in range(500)] for k in range(10)] for q in range(20)}
    log = {
        "query": [q for q in items for _ in range(50)],
        "items": [[slot[rng.integers(500)] for slot in items[q]] for q in items for _ in range(50)],
        "reward": rng.random(1000).tolist(),
    }
    got = cr.evaluate(log, Uniform(items), logging="uniform", candidates=items)
    assert got["pi"].distance.sigma2 == pytest.approx(1)
    target = {q: [slot[0] for slot in slots] for q, slots in items.items()}
    page = cr.evaluate(log, target, logging="uniform", candidates=items)["pi"].distance
    assert (page.sigma2, page.rho, page.kappa) == pytest.approx((10 * 499 + 1, 10 * 499 + 1, 1.0))


def test_slots_on_the_command_line(tmp_path: Path) -> None:
    rows, logging, target = world(2, equal=True)
    (tmp_path / "log.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    for name, policy in (("target", target), ("logging", logging)):
        Slots.from_dict(policy).save(tmp_path / f"{name}.csv")
    lines = [f"{q},{k + 1},{a}\n" for q, slots in logging.items() for k, slot in enumerate(slots) for a in slot]
    (tmp_path / "candidates.csv").write_text("query,position,item\n" + "".join(lines))
    want = page_oracle.answer(rows, listed(target), listed(logging))
    start = ["evaluate", f"{tmp_path}/log.jsonl", "--target", f"{tmp_path}/target.csv", "--estimator", "pi", "--json"]
    uniform = ["--logging", "uniform", "--candidates", f"{tmp_path}/candidates.csv"]
    for options in (["--logging", f"{tmp_path}/logging.csv"], uniform):
        result = CliRunner().invoke(app, [*start, *options])
        assert result.exit_code == 0, result.output
        assert json.loads(result.stdout)["estimates"][0]["value"] == pytest.approx(want["pi"], abs=1e-9)
    warm = CliRunner().invoke(app, [*start, "--temperature", "1"])
    assert warm.exit_code == 2
