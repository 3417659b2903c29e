"""The live page in a real browser: it shows what the service says, as text, keeps to the service, and can stop it."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
import re
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("litestar", reason="needs counterrank[serve]")

from counterrank.service import live_data
from report.browser import CONTRAST, Browser, found
from service.played import Users, played, serving

EVIL = "<img src=x onerror=alert(1)><script>alert(2)</script>\"'&"
PAGE = files("counterrank.service").joinpath("live", "page.html").read_bytes()


def beliefs(item: str, position: int) -> dict[str, Any]:
    return {
        "query": EVIL, "item": item, "position": position, "score": 0.31, "mean": 0.25, "bonus": 0.06, "deviation": 0.1,
        "impressions": 12, "clicks": 3, "exposure": 9.5, "prior": [1.0, 4.0], "new": position == 1, "propensity": 0.95,
        "why": f"3 clicks in 9.5 looks {EVIL}",
    }  # fmt: skip


def live(exploration: float = 20.0, randomise: float = 0.05) -> dict[str, Any]:
    minutes = [{"at": 60.0 * i, "impressions": 10 + i, "clicked": 3} for i in range(60)]
    return {
        "now": 1000.0, "started": 100.0, "workers": 2, "as_of": 12345, "kill_switch": exploration == randomise == 0,
        "policy": {"name": EVIL, "exploration": exploration, "randomise": randomise, "epoch": 4, "at": 50.0},
        "model": {"version": "3", "features": 136, "plain": [1.0, 9.0]},
        "models": [{"version": "3", "at": 90.0, "active": True, "notes": {EVIL: EVIL}}],
        "retraining": {"failures": 1, "every": 10000, "running": False},
        "traffic": {"impressions": 2370, "feedback": 300, "clicks": 290, "per_second": 3.25, "minutes": minutes},
        "policies": [
            {"policy": EVIL, "impressions": 2000, "clicked": 250, "rate": 0.125, "lower": 0.1, "upper": 0.15,
             "confidence": 0.95},
            {"policy": "logging", "impressions": 0, "clicked": 0, "rate": None, "lower": None, "upper": None,
             "confidence": 0.95},
        ],
        "exploration": {"share": 0.048, "explored": 480, "impressions": 10000},
        "apprentice": {"pages": 100, "differed": 40, "share": 0.4, "overlap": 0.8},
        "alarms": [{"name": "below", "active": True, "message": f"the policy is worse {EVIL}"},
                   {"name": "collapsed", "active": False, "message": "not now"}],
        "uncertain": [beliefs(EVIL, 1), beliefs("plain", 2)], "ranking": None, "rights": ["admin", "feedback", "rank"],
    }  # fmt: skip


class Made:
    """A service that answers as it is told; what it was asked is written down."""

    def __init__(self) -> None:
        self.state, self.puts, self.asked = live(), list[Any](), list[str]()
        self.token: str | None = None
        self.broken = False
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                outer.get(self)

            def do_PUT(self) -> None:
                outer.put(self)

            def log_message(self, *_: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def send(self, to: BaseHTTPRequestHandler, status: int, body: bytes, kind: str = "application/json") -> None:
        to.send_response(status)
        to.send_header("content-type", kind)
        to.send_header("content-length", str(len(body)))
        to.end_headers()
        to.wfile.write(body)

    def get(self, to: BaseHTTPRequestHandler) -> None:
        self.asked.append(to.path)
        if to.path == "/":
            return self.send(to, 200, PAGE, "text/html; charset=utf-8")
        if self.token is not None and to.headers.get("authorization") != f"Bearer {self.token}":
            return self.send(to, 401, b'{"error": {"code": "unauthorized", "message": "", "field": null}}')
        if self.broken:
            return self.send(to, 503, b"{}")
        ranking = [beliefs(EVIL, 1), beliefs("other", 2)] if "query=" in to.path else None
        return self.send(to, 200, json.dumps(self.state | {"ranking": ranking}).encode())

    def put(self, to: BaseHTTPRequestHandler) -> None:
        body = json.loads(to.rfile.read(int(to.headers["content-length"])))
        self.puts.append((to.path, to.headers.get("authorization"), body))
        self.state = live(body["exploration"], body["randomise"])
        self.send(to, 200, b"{}")


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    if found() is None:
        pytest.skip("no Chromium on this machine: install chromium")
    made = Browser(tmp_path_factory.mktemp("profile"))
    yield made
    made.close()


@pytest.fixture
def service() -> Iterator[Made]:
    made = Made()
    yield made
    made.server.shutdown()
    made.server.server_close()


def until(browser: Browser, script: str) -> None:
    deadline = time.monotonic() + 90
    while not browser.run(f"!!({script})"):
        assert time.monotonic() < deadline, script
        time.sleep(0.03)


def opened(browser: Browser, service: Made, **options: Any) -> None:
    browser.visit(service.url, **options)
    until(browser, "!document.getElementById('all').hidden")


def text(browser: Browser, name: str) -> str:
    return str(browser.run(f"document.getElementById('{name}').innerText"))


def test_the_policy_of_the_page_names_its_one_script() -> None:
    script = re.search(rb"<script>(.*?)</script>", PAGE, re.DOTALL)
    assert script is not None
    digest = base64.b64encode(hashlib.sha256(script[1]).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in PAGE.decode()
    assert PAGE.count(b"<script") == 1
    assert not re.search(rb"(?:src|href)=\"(?!data:)", PAGE)


@pytest.mark.parametrize("width", [1100, 400])
def test_it_shows_what_the_service_says(browser: Browser, service: Made, width: int) -> None:
    opened(browser, service, width=width)
    assert "event 12,345, 2 workers, up for 15 min" in text(browser, "status")
    assert "3.25 a second" in text(browser, "traffic").replace("\n", " ")
    assert "12.5 %" in text(browser, "policies")
    assert "4.8 %" in text(browser, "exploration")
    assert "40.0 %" in text(browser, "apprentice")
    assert "1 retraining failed" in text(browser, "models")
    assert "the policy is worse" in text(browser, "alarms")
    assert "not now" not in text(browser, "alarms")
    assert browser.run("document.querySelectorAll('#traffic rect').length") == 120
    assert browser.run("document.documentElement.scrollWidth <= innerWidth + 1")
    assert browser.console == []


def test_ids_are_text_and_nothing_else_is_asked_for(browser: Browser, service: Made) -> None:
    opened(browser, service)
    browser.run(
        "document.getElementById('query').value = '<b>x</b> & y'; document.querySelector('#why button').click()"
    )
    until(browser, "document.querySelectorAll('#ranking tbody tr').length === 2")
    assert EVIL in browser.run("document.getElementById('ranking').textContent")
    assert EVIL in browser.run("document.getElementById('uncertain').textContent")
    assert browser.run("document.querySelectorAll('main img, main script, main b').length") == 0
    assert browser.dialogs == []
    assert browser.console == []
    assert "/live.json?query=%3Cb%3Ex%3C%2Fb%3E%20%26%20y" in service.asked
    assert all(url.startswith((service.url, "data:")) for url in browser.requests)


def test_the_kill_switch_asks_once_more_and_can_be_undone(browser: Browser, service: Made) -> None:
    opened(browser, service)
    browser.run("document.getElementById('stop').click()")
    assert service.puts == []
    browser.run("document.getElementById('not').click()")
    browser.run("document.getElementById('stop').click()")
    browser.run("document.getElementById('sure').click()")
    until(browser, "document.getElementById('again') && !document.getElementById('again').disabled")
    assert service.puts == [("/policy", None, {"exploration": 0, "randomise": 0})]
    assert "The kill switch is on" in text(browser, "policy")
    browser.run("document.getElementById('again').click()")
    until(browser, "document.getElementById('stop')")
    assert service.puts[1][2] == {"exploration": 20, "randomise": 0.05}


def test_only_admins_have_it(browser: Browser, service: Made) -> None:
    service.state = live() | {"rights": ["rank"]}
    opened(browser, service)
    assert browser.run("document.getElementById('switch').hidden") is True


def test_a_token_is_asked_for_and_sent(browser: Browser, service: Made) -> None:
    service.token = "let me in"  # noqa: S105
    browser.visit(service.url)
    until(browser, "!document.getElementById('enter').hidden")
    for given, shown in (("wrong", "This token is not known here."), ("let me in", "")):
        browser.run(
            f"document.getElementById('token').value = '{given}'; document.querySelector('#enter button').click()"
        )
        if shown:
            until(browser, f"document.getElementById('token-said').innerText === '{shown}'")
    until(browser, "!document.getElementById('all').hidden")
    browser.run("document.getElementById('stop').click()")
    browser.run("document.getElementById('sure').click()")
    until(browser, "document.getElementById('again')")
    assert service.puts[0][1] == "Bearer let me in"
    assert "let me in" not in browser.run("document.documentElement.outerHTML + location.href")
    browser.run("sessionStorage.clear()")


def test_it_says_when_no_answer_comes_and_goes_on(browser: Browser, service: Made) -> None:
    opened(browser, service)
    service.broken = True
    until(browser, "document.getElementById('status').innerText.startsWith('no answer since')")
    service.broken = False
    until(browser, "document.getElementById('status').innerText.startsWith('event')")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_can_be_read_in_light_and_dark(browser: Browser, service: Made, scheme: str) -> None:
    service.state = live(0.0, 0.0)
    opened(browser, service, scheme=scheme)
    assert browser.run(CONTRAST) == []
    ground = browser.run("getComputedStyle(document.body).backgroundColor")
    assert (sum(map(int, re.findall(r"\d+", ground)[:3])) > 384) == (scheme == "light")


def test_the_service_says_what_the_page_reads(tmp_path: Path) -> None:
    """The made-up answer above has the fields of a real one, and no others."""
    users = Users.drawn(3, queries=2, items=4)

    async def real() -> dict[str, Any]:
        async with serving(tmp_path, k=2, policy="logging") as (service, _):
            await played(service, users, 60)
            return await live_data.live(service, "q0")

    said, made = asyncio.run(real()), live()
    assert said.keys() | {"rights"} == made.keys()
    for name in ("policy", "model", "retraining", "traffic", "exploration", "apprentice"):
        assert made[name].keys() <= said[name].keys(), name
    for name, mine in (
        ("policies", made["policies"]),
        ("uncertain", made["uncertain"]),
        ("ranking", made["uncertain"]),
    ):
        known = {"deviation", "query"} if name == "ranking" else {"position", "score", "bonus", "propensity"}
        assert said[name], name
        assert mine[0].keys() - known <= said[name][0].keys(), name
    assert said["traffic"]["minutes"][0].keys() >= made["traffic"]["minutes"][0].keys()
    assert all(alarm.keys() >= made["alarms"][0].keys() for alarm in said["alarms"])
