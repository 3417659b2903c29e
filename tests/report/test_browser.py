"""The report in a real browser: it works, keeps quiet and can be read by anyone."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from browser import CONTRAST, Browser
from hostile import log, target

import counterrank as cr
from counterrank.findings.diagnosis import Diagnosis, Finding, Tail


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("pages")
    rng = np.random.default_rng(3)
    queries = [f"query {i % 50 if i < 1500 else i % 7}" for i in range(2000)]
    orders = [list(map(str, rng.permutation(4))) for _ in queries]
    clicks = [[int(rng.random() < 0.6 / (k + 1) * (1 + int(item)) / 4) for k, item in enumerate(o)] for o in orders]
    rows = {"query": queries, "items": orders, "clicks": clicks, "day": rng.integers(1, 6, 2000).tolist()}
    new = {f"query {i}": ["3", "2", "1", "0"] for i in range(50)}
    doubts = [
        Finding("overlap", "trust", "the log shows most of it", ["ip"]),
        Finding("drift", "caution", "it drifts by 3 %", []),
        Finding("size", "do not trust", "few impressions carry it", ["list"]),
    ]
    tail = Tail(
        edges=[0.5, 1.0, 2.0, 4.0],
        counts=[10.0, 500.0, 20.0],
        zero=40.0,
        negative=0.0,
        largest=3.5,
        largest_share=0.01,
        ten=0.02,
    )
    result = replace(
        cr.evaluate(rows, new),
        diagnosis=Diagnosis("caution", "the log drifts", doubts, "pbm"),
        tails={"list": tail, "ip": tail},
        days=pa.table({"day": [1, 2], "impressions": [900, 1100], "mean": [0.5, 0.6], "stderr": [0.01, None]}),
        curve=pa.table({"position": [1, 2], "impressions": [9, 9], "rate": [0.5, 0.2], "examination": [1.0, 0.5]}),
    )
    return {
        "evaluation": result.report(folder / "e.html", log=rows),
        "comparison": replace(
            cr.compare(rows, new), diagnosis=Diagnosis("do not trust", "half of it is unsupported", doubts)
        ).report(folder / "c.html", log=rows),
        "hostile": cr.evaluate(log(), target()).report(folder / "h.html", log=log()),
        "hostile comparison": cr.compare(log(), target(), "uniform").report(folder / "hc.html", log=log()),
    }


NAMES = ("evaluation", "comparison", "hostile", "hostile comparison")


def column(browser: Browser, at: int, attribute: str = "dataset.v") -> list[Any]:
    return browser.run(
        f"Array.from(document.querySelectorAll('.sortable tbody tr:not([hidden])'), (r) => r.cells[{at}].{attribute})"
    )


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("width", [1100, 400])
def test_it_renders_and_keeps_quiet(browser: Browser, pages: dict[str, Path], name: str, width: int) -> None:
    browser.open(pages[name], width=width)
    assert browser.console == []
    assert browser.dialogs == []
    assert browser.requests == [pages[name].resolve().as_uri()]
    assert browser.run("document.querySelector('h1').getBoundingClientRect().height") > 20
    assert browser.run("document.documentElement.scrollWidth") <= width  # nothing runs off the side
    assert browser.run("typeof window.hit") == "undefined"
    assert browser.run("document.querySelectorAll('img, iframe, main script, main style, [onerror]').length") == 0


def test_tables_sort_both_ways(browser: Browser, pages: dict[str, Path]) -> None:
    browser.open(pages["evaluation"])
    for at in range(1, 6):
        press = f"document.querySelectorAll('.sortable thead button')[{at}].click()"
        browser.run(press)
        down = [float(v) for v in column(browser, at) if v]
        assert down == sorted(down, reverse=True)
        assert len(set(down)) > 1
        browser.run(press)
        assert [float(v) for v in column(browser, at) if v] == sorted(down)
        heads = "document.querySelectorAll('.sortable thead th')"
        assert browser.run(f"Array.from({heads}, (h) => h.ariaSort).filter(Boolean)") == ["ascending"]
    browser.run("document.querySelectorAll('.sortable thead button')[0].click()")
    names = column(browser, 0, "textContent")
    assert names == [f"query {i}" for i in range(50)]  # numbers within names count as numbers


def test_tables_can_be_searched(browser: Browser, pages: dict[str, Path]) -> None:
    browser.open(pages["evaluation"])
    search = (
        "(() => { const i = document.querySelector('.sortable input'); i.value = %r; "
        "i.dispatchEvent(new Event('input')); })()"
    )
    browser.run(search % "query 4")
    assert sorted(column(browser, 0, "textContent")) == sorted(f"query {i}" for i in (4, *range(40, 50)))
    assert browser.run("document.querySelector('.sortable output').value") == "11 of 50 rows"
    browser.run(search % "")
    assert len(column(browser, 0)) == 50


def test_hostile_ids_are_seen_and_found(browser: Browser, pages: dict[str, Path]) -> None:
    browser.open(pages["hostile"])
    shown = "".join(column(browser, 0, "innerText"))
    assert "<img src=x onerror=\"window.hit=1;alert('id')\">" in shown
    assert "</script><script>window.hit=2;alert(1)</script>" in shown
    assert "👩‍👩‍👧‍👦" in shown
    assert "evil⟨U+202E⟩gpj.exe" in shown
    browser.run(
        "(() => { for (const e of document.querySelectorAll('summary, th button')) e.click();"
        " for (const e of document.querySelectorAll('*')) { e.dispatchEvent(new Event('mouseover')); e.focus?.(); }"
        " })()"
    )
    assert browser.run("typeof window.hit") == "undefined"
    assert browser.dialogs == []
    assert browser.run("getComputedStyle(document.body).display") == "block"


@pytest.mark.parametrize("name", NAMES)
def test_light_and_dark_can_be_read(browser: Browser, pages: dict[str, Path], name: str) -> None:
    grounds = []
    for scheme in ("light", "dark"):
        browser.open(pages[name], scheme=scheme)
        grounds.append(browser.run("getComputedStyle(document.querySelector('section')).backgroundColor"))
        assert browser.run(CONTRAST) == []
    assert grounds == ["rgb(255, 255, 255)", "rgb(23, 27, 34)"]


def test_on_paper_there_are_no_controls(browser: Browser, pages: dict[str, Path], tmp_path: Path) -> None:
    browser.open(pages["evaluation"], scheme="dark")
    browser.media("print", "dark")
    hidden = "Array.from(document.querySelectorAll('nav, .tools, .numbers'), (e) => getComputedStyle(e).display)"
    assert set(browser.run(hidden)) == {"none"}
    assert browser.run("getComputedStyle(document.querySelector('section')).backgroundColor") == "rgb(255, 255, 255)"
    assert browser.run(CONTRAST) == []
    browser.pdf(tmp_path / "r.pdf")
    assert (tmp_path / "r.pdf").read_bytes().startswith(b"%PDF")
    browser.media()


@pytest.mark.parametrize("name", NAMES[:2])
def test_everybody_can_find_their_way(browser: Browser, pages: dict[str, Path], name: str) -> None:
    browser.open(pages[name])
    assert browser.run("document.documentElement.lang") == "en"
    assert browser.run("document.title").endswith("counterrank")
    for landmark in ("header", "nav[aria-label]", "main", "footer"):
        assert browser.run(f"document.querySelectorAll('body > {landmark}').length") == 1
    levels = browser.run("Array.from(document.querySelectorAll('h1,h2,h3,h4'), (h) => Number(h.tagName[1]))")
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))
    ids = browser.run("Array.from(document.querySelectorAll('[id]'), (e) => e.id)")
    assert len(ids) == len(set(ids))
    links = browser.run("Array.from(document.querySelectorAll('a[href]'), (a) => a.getAttribute('href').slice(1))")
    assert set(links) <= set(ids)
    assert browser.run("Array.from(document.querySelectorAll('table'), (t) => !!t.caption && !!t.tHead).every(Boolean)")
    assert browser.run("Array.from(document.querySelectorAll('thead th'), (t) => t.scope).every((s) => s === 'col')")
    assert browser.run("Array.from(document.querySelectorAll('tbody th'), (t) => t.scope).every((s) => s === 'row')")
    labelled = "(s) => s.getAttribute('role') === 'img' && s.ariaLabel && s.querySelector('title + desc')"
    assert browser.run(f"Array.from(document.querySelectorAll('svg')).every({labelled})")
    assert browser.run("Array.from(document.querySelectorAll('input'), (i) => i.labels.length).every((n) => n === 1)")
    unnamed = browser.call("Accessibility.getFullAXTree")["nodes"]
    names = {
        node["role"]["value"]: node.get("name", {}).get("value", "")
        for node in unnamed
        if node.get("role", {}).get("value") in ("button", "link", "searchbox", "image", "navigation", "region")
        and not node.get("ignored")
    }
    assert all(names.values()), names


def test_without_scripts_it_says_the_same(browser: Browser, pages: dict[str, Path]) -> None:
    browser.call("Emulation.setScriptExecutionDisabled", value=True)
    try:
        browser.open(pages["evaluation"])
        assert browser.run("document.querySelector('.tools').hidden") is True
        assert len(column(browser, 0)) == 50
    finally:
        browser.call("Emulation.setScriptExecutionDisabled", value=False)
