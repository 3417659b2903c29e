"""A headless Chromium, spoken to through a pipe: no driver and no package besides."""

from __future__ import annotations

import base64
import fcntl
import json
import os
import select
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update",
    "--disable-sync", "--no-first-run", "--disable-extensions", "--disable-default-apps", "--disable-dev-shm-usage",
    "--remote-debugging-pipe", "--mute-audio",
)  # fmt: skip

START = (  # Chromium reads commands from 3 and answers on 4
    "import os, sys; a, b = map(int, sys.argv[1:3]); os.dup2(a, 3); os.dup2(b, 4); os.close(a); os.close(b); "
    "os.execv(sys.argv[3], sys.argv[3:])"
)


# text whose contrast with its ground is below 4.5
CONTRAST = """(() => {
  const parts = (c) => c.match(/[\\d.]+/g).map(Number);
  const light = (c) => { const [r, g, b] = parts(c).slice(0, 3).map((v) => {
    v /= 255; return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const ground = (e) => { for (; e; e = e.parentElement) { const c = getComputedStyle(e).backgroundColor;
    if (parts(c).length < 4 || parts(c)[3] > 0) return c; } return "rgb(255, 255, 255)"; };
  const out = [];
  const all = "h1,h2,h3,p,li,td,th,dt,dd,small,summary,a,button,.badge,.level,.moved,svg text";
  for (const e of document.querySelectorAll(all)) {
    if (!e.textContent.trim() || !e.getClientRects().length) continue;
    const style = getComputedStyle(e), ink = e.closest("svg") ? style.fill : style.color;
    const [a, b] = [light(ink), light(ground(e))].sort((x, y) => y - x);
    if ((a + 0.05) / (b + 0.05) < 4.5) out.push([e.tagName, e.textContent.slice(0, 40), ink, ground(e)]);
  }
  return out;
})()"""


def found() -> str | None:
    """The browser of this machine, if any."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


class Browser:
    """One page at a time; what the page logs, throws, asks for and pops up is written down."""

    def __init__(self, profile: Path) -> None:
        path = found()
        assert path is not None
        commands, self._write = os.pipe()
        self._read, answers = os.pipe()
        ends = [fcntl.fcntl(end, fcntl.F_DUPFD, 10) for end in (commands, answers)]
        self._process = subprocess.Popen(
            [sys.executable, "-c", START, *map(str, ends), path, *FLAGS, f"--user-data-dir={profile}"],
            pass_fds=ends, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        for end in (commands, answers, *ends):
            os.close(end)
        self._buffer, self._count, self._session = b"", 0, ""
        self.console: list[str] = []
        self.requests: list[str] = []
        self.dialogs: list[str] = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        self._count += 1
        message: dict[str, Any] = {"id": self._count, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        deadline = time.monotonic() + 120
        while True:
            answer = self._next(deadline)
            if answer.get("id") == self._count:
                assert "error" not in answer, answer["error"]
                result: dict[str, Any] = answer["result"]
                return result

    def _next(self, deadline: float) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._read], [], [], max(deadline - time.monotonic(), 0))
            assert ready, "the browser does not answer"
            more = os.read(self._read, 1 << 20)
            assert more, "the browser has gone"
            self._buffer += more
        text, self._buffer = self._buffer.split(b"\0", 1)
        message: dict[str, Any] = json.loads(text)
        self._note(message.get("method", ""), message.get("params", {}))
        return message

    def _note(self, event: str, what: dict[str, Any]) -> None:
        if event == "Runtime.consoleAPICalled":
            self.console.append(str([a.get("value") for a in what["args"]]))
        elif event == "Runtime.exceptionThrown":
            self.console.append(what["exceptionDetails"]["text"])
        elif event == "Log.entryAdded":
            self.console.append(what["entry"]["text"])
        elif event == "Network.requestWillBeSent":
            self.requests.append(what["request"]["url"])
        elif event == "Page.javascriptDialogOpening":
            self.dialogs.append(what["message"])
            message = {"id": 0, "method": "Page.handleJavaScriptDialog", "params": {"accept": False}}
            os.write(self._write, json.dumps(message | {"sessionId": self._session}).encode() + b"\0")

    def open(self, file: Path, *, width: int = 1100, height: int = 900, scheme: str = "light") -> None:
        self.visit(file.resolve().as_uri(), width=width, height=height, scheme=scheme)

    def visit(self, url: str, *, width: int = 1100, height: int = 900, scheme: str = "light") -> None:
        self.console, self.requests, self.dialogs = [], [], []
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.media(scheme=scheme)
        self.call("Page.navigate", url=url)
        deadline = time.monotonic() + 90
        while self.run("document.readyState + location.protocol") != f"complete{url.partition('//')[0]}":
            assert time.monotonic() < deadline, "the page does not load"
            time.sleep(0.02)
        time.sleep(0.05)  # what it would ask for or pop up now

    def media(self, kind: str = "", scheme: str = "light") -> None:
        self.call(
            "Emulation.setEmulatedMedia", media=kind, features=[{"name": "prefers-color-scheme", "value": scheme}]
        )

    def run(self, script: str) -> Any:
        """The value of an expression on the page; a promise is waited for."""
        answer = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def screenshot(self, file: Path, whole: bool = True) -> None:
        taken = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        file.write_bytes(base64.b64decode(taken["data"]))

    def pdf(self, file: Path) -> None:
        file.write_bytes(base64.b64decode(self.call("Page.printToPDF", printBackground=True)["data"]))

    def close(self) -> None:
        self._session = ""
        try:
            self.call("Browser.close")
        except (AssertionError, OSError):
            self._process.kill()
        self._process.wait(timeout=60)
        os.close(self._read)
        os.close(self._write)
