"""Edges that an independent review found: each was wrong once."""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap

import numpy as np
import pyarrow as pa
import pytest

from counterrank import compare, evaluate
from counterrank.engine import Embedded
from counterrank.policy import Mixture, Table

PAGES = [["a", "b"], ["b", "a"]] * 2
CLICKS = [[1, 0], [0, 1], [0, 0], [1, 0]]


def test_second_reading_when_the_pair_table_is_nearly_full():
    lists = [[f"i{j}" for j in range(i, i + 8)] for i in range(0, 1024, 8)]
    log = pa.table({"query": ["q"] * len(lists), "items": lists, "clicks": [[1] + [0] * 7] * len(lists)})
    target = {"q": lists[0]}
    again = evaluate(log, target, estimators="ip", engine=Embedded(cache_bytes=0))
    assert again.rows[0].stderr == evaluate(log, target, estimators="ip").rows[0].stderr


def test_a_file_that_changes_between_the_passes_is_told_and_does_not_end_the_process(tmp_path):
    code = f"""
        import pyarrow as pa, pyarrow.parquet as pq
        from counterrank import evaluate
        from counterrank.engine import Embedded
        from counterrank.errors import InputError
        path = {str(tmp_path / "log.parquet")!r}
        pq.write_table(pa.table({{"query": ["q"] * 4, "items": {PAGES!r}, "clicks": {CLICKS!r}}}), path)
        class Changing(Embedded):
            def count(self, log, plan):
                run = super().count(log, plan)
                items = [[f"n{{i}}", f"m{{i}}"] for i in range(400)]
                pq.write_table(pa.table({{"query": ["q"] * 400, "items": items, "clicks": [[1, 0]] * 400}}), path)
                return run
        try:
            evaluate(path, {{"q": ["a", "b"]}}, estimators="ip", engine=Changing(cache_bytes=0))
        except InputError:
            print("told")
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.strip()) == (0, "told")


def test_candidates_hold_for_the_uniform_part_of_a_mixture():
    log = pa.table({"query": ["q"] * 4, "items": [["a"], ["b"], ["c"], ["c"]], "clicks": [[0], [0], [1], [1]]})
    target = Mixture(Table(["q"], [["a"]]), 0.5)
    assert evaluate(log, target, candidates={"q": ["a", "b"]}, estimators="ip").value("ip") == 0  # c is no candidate


@pytest.mark.parametrize("length", [100, 180])
def test_long_lists_logged_uniformly(length):
    items = [f"i{j}" for j in range(length)]
    rng = np.random.default_rng(0)
    lists = [items, *(rng.permutation(items).tolist() for _ in range(3))]
    log = pa.table({"query": ["q"] * 4, "items": lists, "clicks": [[1] + [0] * (length - 1)] * 4})
    result = evaluate(log, {"q": items}, logging="uniform", estimators="list,wlist")
    json.loads(result.to_json())
    assert result.rows[0].unsupported == 0  # uniform logging shows every ranking


@pytest.mark.parametrize("propensity", [1e-200, 5e-324])
def test_tiny_propensities(propensity):
    log = pa.table({"query": ["q"] * 4, "items": PAGES, "clicks": CLICKS, "propensity": [propensity, 0.5, 0.5, 0.5]})
    json.loads(evaluate(log, {"q": ["a", "b"]}).to_json())


def test_standard_error_of_rewards_far_from_zero():
    reward = np.random.default_rng(0).normal(size=4000)
    pages = {"query": ["q"] * 4000, "items": [["a", "b"], ["b", "a"]] * 2000}
    near, far = (
        evaluate(pa.table({**pages, "reward": reward + shift}), {"q": ["a", "b"]}).rows for shift in (0.0, 1e9)
    )
    assert [row.stderr for row in far] == pytest.approx([row.stderr for row in near], rel=1e-3)


def test_a_fitting_logging_policy_is_not_accused():
    rng = np.random.default_rng(0)
    lists = [["a", "b"] if x else ["b", "a"] for x in rng.random(2000) < 0.5]
    log = pa.table({"query": ["q"] * 2000, "items": lists, "clicks": [[1, 0]] * 2000})
    known = Table(["q", "q"], [["a", "b"], ["b", "a"]], [0.5, 0.5])
    row = evaluate(log, {"q": ["a"]}, logging=known, estimators="ip").rows[0]
    assert not [warning for warning in row.warnings if "does not fit" in warning]


def test_confidence_next_to_one():
    log = pa.table({"query": ["q"] * 4, "items": PAGES, "clicks": CLICKS})
    evaluate(log, {"q": ["a", "b"]}, confidence=1 - 1e-9)


def test_multiplicities_beyond_64_bits_are_refused():
    from counterrank.errors import InputError

    log = pa.table(
        {"query": ["q"] * 2000, "items": PAGES * 500, "clicks": CLICKS * 500, "impressions": [2**53 - 1] * 2000}
    )
    with pytest.raises(InputError):
        evaluate(log, {"q": ["a", "b"]})


@pytest.mark.parametrize("target", [{"q": ["a"]}, {"q": {"a": 1.0, "b": 2.0}}], ids=["rankings", "scores"])
def test_candidates_that_have_no_say_are_said(target):
    log = pa.table({"query": ["q"], "items": [["a"]], "clicks": [[1]]})
    assert any("`candidates` changes nothing" in note for note in evaluate(log, target, candidates={"q": ["a"]}).notes)
    used = evaluate(log, target, candidates={"q": ["a"]}, logging="uniform", estimators="ip")
    assert not any("`candidates`" in note for note in used.notes)


def test_each_policy_is_told_what_it_lacks_itself():
    log = pa.table({"query": ["q"] * 4, "items": [["a"]] * 4, "clicks": [[1], [0], [1], [0]]})
    said = compare(log, {"q": ["a"]}, baseline={"q": ["z"]}, estimator="ip").warnings
    [lost] = [text for text in said if "never shows" in text]
    assert lost.startswith("baseline: ")
    assert "of what the policy shows" in lost
