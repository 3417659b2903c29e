"""Ranking, feedback and the policy over HTTP, as a caller meets them."""

from __future__ import annotations

import json
import math
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from scipy.stats import chisquare
from typer.testing import CliRunner

from counterrank.cli import app
from service.serving import worker

CURVE = [1 / math.log2(k + 1) for k in range(1, 101)]


def items(answer: dict[str, Any]) -> list[str]:
    return [each["item"] for each in answer["ranking"]]


def test_an_answer_has_all_its_fields(tmp_path: Path) -> None:
    with worker(tmp_path) as served:
        found = served.rank("q", ["a", 7, {"id": "c", "features": {"x": 1}}], k=2)
        assert set(found) >= {
            "impression", "query", "policy", "model", "as_of", "randomise", "pool", "candidates", "explored",
            "propensity", "ranking",
        }  # fmt: skip
        assert (found["policy"], found["pool"], found["candidates"], len(found["ranking"])) == ("ebrank", 3, 3, 2)
        for position, each in enumerate(found["ranking"], 1):
            assert set(each) == {
                "item", "position", "score", "mean", "bonus", "impressions", "clicks", "exposure", "prior", "new",
                "propensity", "why",
            }  # fmt: skip
            assert each["position"] == position
            assert each["prior"] == [1.0, 5.0]
            assert each["mean"] == pytest.approx(1 / 6)
            assert each["bonus"] == pytest.approx(20 * (1 / 6) / 36)
        assert set(items(found)) <= {"a", "7", "c"}


def test_evidence_is_what_was_shown_and_clicked(tmp_path: Path) -> None:
    """Counts, exposure, estimate and bonus of every item, beside a calculation by hand."""
    with worker(tmp_path, randomise=0.5, new_share=1.0) as served:
        shown: Counter[str] = Counter()
        clicks: Counter[str] = Counter()
        looks: Counter[str] = Counter()
        for turn in range(30):
            found = served.rank("q", list("abcdef"), k=3)
            assert found["as_of"] <= 2 * turn
            for each in found["ranking"]:
                item = each["item"]
                assert (each["impressions"], each["clicks"]) == (shown[item], clicks[item])
                assert each["exposure"] == pytest.approx(looks[item], abs=1e-9)
                mean = (clicks[item] + 1) / (looks[item] + 6)
                assert each["mean"] == pytest.approx(mean)
                assert each["bonus"] == pytest.approx(20 * mean / (looks[item] + 6) ** 2)
                assert each["score"] == pytest.approx(each["mean"] + each["bonus"])
                assert each["new"] == (shown[item] < 20)
            for position, item in enumerate(items(found)):
                shown[item] += 1
                looks[item] += CURVE[position]
            receipt = served.feedback(found["impression"], f"e{turn}", [items(found)[turn % 3]])
            assert receipt == {"duplicate": False, "late": False, "counted": 1, "sequence": 2 * turn + 2}
            clicks[items(found)[turn % 3]] += 1
        served.service.store.fold()
        verified = served.service.store.verify()
        assert (verified.impressions, verified.feedback, verified.differences) == (30, 30, 0)


def test_pages_over_http_come_as_often_as_they_say(tmp_path: Path) -> None:
    with worker(tmp_path, policy="logging", randomise=0.5) as served:
        pages: Counter[tuple[str, ...]] = Counter()
        chances: dict[tuple[str, ...], float] = {}

        async def many() -> None:
            for _ in range(1500):
                reply = await served.request("POST", "/rank", {"query": "q", "items": ["a", "b", "c"], "k": 2})
                found = json.loads(reply.content)
                pages[tuple(items(found))] += 1
                chances[tuple(items(found))] = found["propensity"]

        served.run(many())
        assert sum(chances.values()) == pytest.approx(1)
        assert chances["a", "b"] == pytest.approx(0.5 + 0.5 / 6)
        keys = sorted(chances)
        assert chisquare([pages[key] for key in keys], [1500 * chances[key] for key in keys]).pvalue > 1e-3


def test_a_user_sees_one_page_a_day(tmp_path: Path) -> None:
    with worker(tmp_path, randomise=0.7) as served:
        first = served.rank("q", list("abcdefgh"), k=3, user="anna@example.org")
        for turn in range(20):  # much is learnt in between
            other = served.rank("q", list("abcdefgh"), k=3)
            served.feedback(other["impression"], f"e{turn}", items(other)[:1])
        again = served.rank("q", list("hgfedcba"), k=3, user="anna@example.org")
        assert items(again) == items(first)
        assert again["propensity"] == first["propensity"]
        assert again["explored"] == first["explored"]
        assert [e["propensity"] for e in again["ranking"]] == [e["propensity"] for e in first["ranking"]]
        assert again["impression"] != first["impression"]
        served.service.kept._pages.clear()  # what the worker forgets, the store remembers
        assert items(served.rank("q", list("abcdefgh"), k=3, user="anna@example.org")) == items(first)
        served.call("PUT", "/policy", {"exploration": 0, "randomise": 0})
        plain = served.rank("q", list("abcdefgh"), k=3, user="anna@example.org")
        assert not plain["explored"]
        assert plain["propensity"] == 1.0
    for path in tmp_path.iterdir():
        assert b"anna" not in path.read_bytes(), path


def test_users_have_coins_of_their_own(tmp_path: Path) -> None:
    with worker(tmp_path, policy="logging", randomise=0.5) as served:
        explored = sum(served.rank("q", list("abcdefgh"), k=3, user=f"u{i}")["explored"] for i in range(200))
        assert 70 <= explored <= 130


def test_deferred_pages_count_once_they_are_named(tmp_path: Path) -> None:
    with worker(tmp_path, randomise=0.0) as served:
        found = served.rank("q", ["a", "b"], defer=True)
        assert served.rank("q", ["a", "b"], defer=True)["ranking"][0]["impressions"] == 0
        served.feedback(found["impression"], "e")
        assert served.rank("q", ["a", "b"], defer=True)["ranking"][0]["impressions"] == 1


def test_clicks_count_once(tmp_path: Path) -> None:
    with worker(tmp_path, randomise=0.0) as served:
        shown = served.rank("q", [1, 2])["impression"]
        assert served.feedback(shown, "e1", [1, "1"])["counted"] == 1
        assert served.feedback(shown, "e2", [1])["counted"] == 0
        assert served.feedback(shown, 3, ["1", "2"], reward=2.5, at="2026-01-01T00:00:00Z")["counted"] == 1
        old = served.feedback(shown, "late", [], at=4e9)
        assert old["late"]
        by_item = {each["item"]: each["clicks"] for each in served.rank("q", [1, 2])["ranking"]}
        assert by_item == {"1": 1, "2": 1}


def test_batches_have_a_status_each(tmp_path: Path) -> None:
    with worker(tmp_path) as served:
        body = [{"query": "q", "items": ["a"]}, {"query": "q", "items": []}, 5]
        reply = served.call("POST", "/batch/rank", body)
        assert [each["status"] for each in reply.json] == [200, 422, 422]
        shown = reply.json[0]["impression"]
        body = [{"impression": shown, "event": "e", "clicks": ["a"]}, {"impression": "no", "event": "f"}]
        reply = served.call("POST", "/batch/feedback", body)
        assert [each["status"] for each in reply.json] == [200, 404]
        assert reply.json[0]["counted"] == 1


def test_items_with_any_name(tmp_path: Path) -> None:
    with worker(tmp_path) as served:
        body = {
            "items": [{"id": "a b/c?ü", "features": {"x": 1}}, {"id": "a b/c?ü", "query": "q", "features": {"y": 2}}]
        }
        assert served.call("PUT", "/items", body).json == {"stored": 2}
        path = "/items/a%20b%2Fc%3F%C3%BC"
        assert served.call("GET", path).json["features"] == {"x": 1.0}
        assert served.call("GET", path + "?query=q").json["features"] == {"x": 1.0, "y": 2.0}


def test_the_kill_switch_reaches_another_worker_with_its_answer(tmp_path: Path) -> None:
    with worker(tmp_path, randomise=1.0) as one, worker(tmp_path, randomise=1.0, number=1) as other:
        assert other.service.setting.randomise == 1.0
        reply = one.call("PUT", "/policy", {"exploration": 0, "randomise": 0})
        assert reply.json["randomise"] == 0
        for served in (other, one):
            found = served.rank("q", list("abcdefgh"), k=3)
            assert (found["randomise"], found["explored"], found["propensity"]) == (0.0, False, 1.0)


def test_workers_follow_each_other(tmp_path: Path) -> None:
    with worker(tmp_path, randomise=0.0) as one, worker(tmp_path, randomise=0.0, number=1) as other:
        for turn in range(40):
            served = (one, other)[turn % 2]
            found = served.rank("q", list("abcdef"), k=3)
            last = served.feedback(found["impression"], f"e{turn}", items(found)[turn % 3 : turn % 3 + 1])
        one.run(one.service.follow())
        other.run(other.service.follow())
        mine, theirs = (served.rank("q", list("abcdef"), k=6, defer=True) for served in (one, other))
        assert min(mine["as_of"], theirs["as_of"]) >= last["sequence"]
        assert mine["ranking"] == theirs["ranking"]


def test_a_policy_directory_ranks(tmp_path: Path) -> None:
    from counterrank.policy import Scores
    from counterrank.policy.directory import write_directory

    (tmp_path / "policies").mkdir()
    scores = Scores(["q", "q", "q"], ["a", "b", "c"], [1.0, 3.0, 2.0])
    write_directory(scores.stored(), tmp_path / "policies" / "mine")
    with worker(tmp_path, policies=str(tmp_path / "policies"), randomise=0.0) as served:
        assert served.call("PUT", "/policy", {"name": "mine"}).status == 200
        found = served.rank("q", ["z", "a", "b", "c", "y"])
        assert (found["policy"], items(found)) == ("mine", ["b", "c", "a", "z", "y"])
        assert items(served.rank("unknown", ["z", "a", "b"])) == ["z", "a", "b"]


def test_the_apprentice_tells_how_it_would_differ(tmp_path: Path) -> None:
    with worker(tmp_path, policy="logging", randomise=0.0, new_share=1.0, exploration=0.0) as served:
        for turn in range(10):
            found = served.rank("q", ["a", "b"], k=1)
            assert items(found) == ["a"]
            served.feedback(found["impression"], f"e{turn}")
        told = served.call("GET", "/live.json").json["apprentice"]
        assert told["pages"] == 10
        assert told["differed"] == 9  # after the first page without a click, b looks better
        assert served.call("GET", "/live.json?query=q").json["ranking"]


def test_crawlers_are_no_evidence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with worker(tmp_path, crawlers=3, randomise=0.0) as served:
        monkeypatch.setattr("counterrank.service.service.time.time", lambda: 1_800_000_000.0)
        for _ in range(6):
            served.rank("q", ["a"], user="robot")
        assert served.rank("q", ["a"])["ranking"][0]["impressions"] == 3
        assert served.service.metrics.total("crawled") == 3
        assert served.service.store.verify().differences == 0


def test_metrics_and_documents(tmp_path: Path) -> None:
    with worker(tmp_path) as served:
        served.rank()
        text = served.call("GET", "/metrics").content.decode()
        assert "counterrank_impressions_total 1.0" in text
        assert 'counterrank_requests_total{route="rank",status="200"} 1.0' in text
        document = served.call("GET", "/openapi.json").json
        assert document["openapi"].startswith("3.1")
        assert {"/rank", "/feedback", "/items", "/batch/rank", "/policy"} <= set(document["paths"])
        assert b"/rank" in served.call("GET", "/docs").content


def test_verify_from_the_command_line(tmp_path: Path) -> None:
    with worker(tmp_path) as served:
        found = served.rank()
        served.feedback(found["impression"], "e", items(found)[:1])
    done = CliRunner().invoke(app, ["serve", "--store", f"sqlite:///{tmp_path}/store.db", "--verify"])
    assert done.exit_code == 0
    told = json.loads(done.stdout)
    assert {"impressions": 1, "feedback": 1, "pairs": 3, "differences": 0}.items() <= told.items()


@pytest.mark.parametrize(
    "body",
    [
        b'{"query": "q", "items": ' + b"[" * 100_000,
        b'{"query": "q", "items": ["a"], "x": ' + b"[" * 50_000 + b"]" * 50_000 + b"}",
        b'{"query": "q", "items": ["a"], "k": ' + b"9" * 10_000 + b"}",
        b"[" * 500_000, b'"' + b"\\" * 1001, b"\0" * 1000,
        b'{"query": "q", "items": {"a": 1}}', b"1e99999", b'{"query": "q", "query": "r", "items": ["a"]}',
        json.dumps({"query": "q", "items": [f"i{i}" for i in range(60_000)]}).encode(),
        json.dumps({"query": "\U0001f600" * 1024, "items": ["é", "e\u0301", "\u202e", "\ufffe", "a\nb"]}).encode(),
    ],
)  # fmt: skip
def test_hostile_bodies_are_answered(tmp_path: Path, body: bytes) -> None:
    with worker(tmp_path) as served:
        for method, path in (
            ("POST", "/rank"),
            ("POST", "/feedback"),
            ("POST", "/batch/rank"),
            ("PUT", "/items"),
            ("PUT", "/policy"),
        ):
            assert served.call(method, path, body).status in (200, 400, 413, 422)
        served.rank()
