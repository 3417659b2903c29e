"""`counterrank.evaluate` against the oracle, on random small worlds; each seed is a case of its own."""

from __future__ import annotations

import random
from collections import Counter

import pytest

import counterrank as cr
import oracle
import worlds
from seeds import seeds

SEEDS = seeds(range(280), 120)
FIELDS = ("value", "clipped", "unsupported", "effective_sample_size")


def package_target(world: worlds.World, folder, kind: str):
    if world.target_rows is None:
        return "logging" if world.target == "logging" else cr.policy.Uniform()
    path = worlds.write_policy(world.target_rows, folder, "target", kind, world.integer_ids)
    return cr.read_policy(path, temperature=world.temperature)


def package_options(world: worlds.World, folder, kind: str) -> dict:
    options = {name: value for name, value in world.options.items() if value is not None}
    if world.logging_rows is not None:
        path = worlds.write_policy(world.logging_rows, folder, "logging", kind, world.integer_ids)
        options["logging"] = cr.read_policy(path)
    elif world.logging is not None:
        options["logging"] = world.logging
    if world.candidates is not None:
        path = worlds.write_rows(world.candidate_rows(), folder, "candidates", kind, world.integer_ids)
        options["candidates"] = str(path)
    return options


def assert_same(got: dict, expected: dict[str, dict]) -> None:
    estimates = {each["estimator"]: each for each in got["estimates"]}
    assert set(estimates) == set(expected)
    for name, numbers in expected.items():
        for field in FIELDS:
            wanted, came = numbers[field], estimates[name][field]
            where = f"{name}.{field}: {came} instead of {wanted}"
            if wanted is None:
                assert came is None, where
            else:
                assert came is not None, where
                assert came == pytest.approx(wanted, rel=1e-9, abs=1e-9), where


def names_for(world: worlds.World) -> list[str]:
    return list(oracle.OF_A_REWARD if world.options["metric"] == "reward" else oracle.ESTIMATORS)


@pytest.mark.parametrize("seed", SEEDS)
def test_every_number_is_the_oracles(seed, tmp_path):
    world = worlds.make_world(seed)
    kind = worlds.POLICY_KINDS[seed % 3]
    names = names_for(world)
    expected = oracle.evaluate(world.rows, world.target, estimators=names, **world.oracle_options())
    question = oracle.ask(world.rows, world.target, **world.oracle_options())

    log = cr.read_log(worlds.to_arrow(world.rows, world.integer_ids))
    target = package_target(world, tmp_path, kind)
    got = cr.evaluate(log, target, estimators=names, **package_options(world, tmp_path, kind)).to_dict()

    assert_same(got, expected)
    assert got["covered"] == pytest.approx(question.covered)
    assert got["metric"] == question.metric
    assert got["positions"] == question.K


@pytest.mark.parametrize("seed", seeds(range(1000, 1040), 16))
def test_long_form_is_list_form(seed, tmp_path):
    world = worlds.make_world(seed)
    names = names_for(world)
    expected = oracle.evaluate(world.rows, world.target, estimators=names, **world.oracle_options())
    log = cr.read_log(worlds.to_arrow(worlds.to_long(world.rows, random.Random(seed)), world.integer_ids))
    options = package_options(world, tmp_path, "parquet")
    got = cr.evaluate(log, package_target(world, tmp_path, "parquet"), estimators=names, **options)
    assert_same(got.to_dict(), expected)


@pytest.mark.parametrize("seed", seeds(range(2000, 2030), 12))
def test_one_estimator_alone_is_the_same_as_among_all(seed, tmp_path):
    world = worlds.make_world(seed)
    name = random.Random(seed).choice(names_for(world))
    expected = oracle.evaluate(world.rows, world.target, estimators=[name], **world.oracle_options())
    log = cr.read_log(worlds.to_arrow(world.rows, world.integer_ids))
    options = package_options(world, tmp_path, "parquet")
    got = cr.evaluate(log, package_target(world, tmp_path, "parquet"), estimators=[name], **options)
    assert_same(got.to_dict(), expected)


def a_larger_log(seed: int) -> tuple[list[dict], list[dict], dict]:
    """Some hundreds of impressions, few rankings a query, each shown often: every share is well estimated."""
    rng = random.Random(seed)
    rows, target, propensity = [], [], rng.random() < 0.4
    length = rng.randint(2, 3)
    for query in ["p", "q", "r"][: rng.randint(1, 3)]:
        items = ["a", "b", "c", "d"][: rng.randint(3, 4)]
        attraction = {item: rng.uniform(0.2, 0.8) for item in items}
        orders = list({tuple(rng.sample(items, length - (rng.random() < 0.2))) for _ in range(3)})
        orders.sort()
        for order in orders:
            for _ in range(rng.randint(90, 160)):
                clicks = [int(rng.random() < attraction[a] / (k + 1) ** 0.5) for k, a in enumerate(order)]
                row = {"query": query, "items": list(order), "clicks": clicks}
                rows.append({**row, "propensity": 1 / len(orders)} if propensity else row)
        chosen = [*orders, tuple(rng.sample(items, length))]
        shares = [rng.random() + 0.05 for _ in chosen]
        chances: Counter = Counter()
        for order, share in zip(chosen, shares, strict=True):
            chances[order] += share / sum(shares)
        target += [{"query": query, "items": list(o), "probability": p} for o, p in chances.items()]
    options = {
        "examination": "reciprocal",  # the oracle fits no curve
        "metric": "clicks",
        "clip": rng.choice([None, None, 0.777, 1.313]),
        "weights": rng.choice(["clicks", "dcg"]),
        "top": rng.choice([None, None, 1, length - 1]),
        "logging": rng.choice([None, "log", "uniform"]),
    }
    rng.shuffle(rows)
    return rows, target, options


def gathered(rows: list[dict]) -> list[dict]:
    """Equal rows as one that stands for them all."""
    count: Counter = Counter()
    for row in rows:
        count[row["query"], tuple(row["items"]), tuple(row["clicks"]), row.get("propensity")] += 1
    result = []
    for (query, items, clicks, propensity), times in count.items():
        row = {"query": query, "items": list(items), "clicks": list(clicks), "impressions": times}
        result.append(row if propensity is None else {**row, "propensity": propensity})
    return result


@pytest.mark.parametrize("seed", seeds(range(40), 16))
def test_standard_errors_are_those_of_the_jackknife(seed):
    rows, target_rows, options = a_larger_log(seed)
    together = gathered(rows)
    names = [*oracle.ESTIMATORS]
    expected = oracle.standard_error(together, oracle.table(target_rows), estimators=names, **options)
    given = {name: value for name, value in options.items() if value is not None}
    log = cr.read_log(worlds.to_arrow(rows if seed % 2 else together))
    policy = cr.read_policy(worlds.to_arrow(target_rows))
    got = cr.evaluate(log, policy, estimators=names, **given).to_dict()
    for each in got["estimates"]:
        wanted = expected[each["estimator"]]
        if wanted is None:
            assert each["stderr"] is None, each["estimator"]
        else:
            assert each["stderr"] == pytest.approx(wanted, rel=0.02, abs=1e-7), each["estimator"]


@pytest.mark.parametrize("seed", seeds(range(8), 4))
def test_standard_errors_of_a_reward(seed):
    rng = random.Random(5000 + seed)
    rows, target_rows, options = a_larger_log(seed)
    rows = [{**row, "reward": sum(row["clicks"]) + rng.gauss(0, 1)} for row in rows]
    given = {n: options[n] for n in ("clip", "logging") if options[n] is not None}
    names = [*oracle.OF_A_REWARD]
    # The reward differs in every row, so none can be gathered and the jackknife is slow: a shorter log.
    rows = rows[:300]
    queries = {row["query"] for row in rows}
    target_rows = [row for row in target_rows if row["query"] in queries]
    expected = oracle.standard_error(rows, oracle.table(target_rows), estimators=names, metric="reward", **given)
    log = cr.read_log(worlds.to_arrow(rows))
    policy = cr.read_policy(worlds.to_arrow(target_rows))
    got = cr.evaluate(log, policy, estimators=names, metric="reward", **given).to_dict()
    for each in got["estimates"]:
        assert each["stderr"] == pytest.approx(expected[each["estimator"]], rel=0.03, abs=1e-7), each["estimator"]


@pytest.mark.parametrize("seed", seeds(range(3000, 3030), 12))
def test_a_row_of_many_is_many_rows(seed, tmp_path):
    world = worlds.make_world(seed)
    names = names_for(world)
    many = []
    for row in world.rows:
        alone = {name: value for name, value in row.items() if name != "impressions"}
        many += [alone] * row.get("impressions", 1)
    target, options = package_target(world, tmp_path, "parquet"), package_options(world, tmp_path, "parquet")
    numbers = []
    for rows in (world.rows, many):
        log = cr.read_log(worlds.to_arrow(rows, world.integer_ids))
        numbers.append(cr.evaluate(log, target, estimators=names, **options).to_dict()["estimates"])
    for one, other in zip(*numbers, strict=True):
        for name in (*FIELDS, "stderr", "lower", "upper"):
            assert (one[name] is None) == (other[name] is None), (one["estimator"], name)
            if one[name] is not None:
                assert one[name] == pytest.approx(other[name], rel=1e-8, abs=1e-8), (one["estimator"], name)
