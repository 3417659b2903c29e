"""One HTML file that needs nothing else: no network, no other file, no script to be read."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence

from counterrank.records import dataclass
from counterrank.report.markup import Child, Markup, element, joined, verbatim
from counterrank.report.picture import own_text

LARGEST = 3_000_000  # bytes of a page


@dataclass(frozen=True)
class Section:
    """A part of a page, with a name that links to it."""

    key: str
    name: str  # in the list of parts
    title: str
    body: Child


def page(title: str, header: Child, sections: Sequence[Section], footer: Child) -> str:
    """The whole file as text."""
    style, script = own_text("style.css") + own_text("chart.css"), own_text("script.js")
    policy = (
        f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; base-uri 'none'; "
        "form-action 'none'"
    )
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=policy),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("meta", name="referrer", content="no-referrer"),
        element("title", title),
        verbatim("style", style),
    )
    links = [element("li", element("a", section.name, href=f"#{section.key}")) for section in sections]
    body = element(
        "body",
        element("a", "Skip to the answer", href="#answer", class_="skip"),
        element("header", header),
        element("nav", element("ul", links), aria_label="Parts of this report"),
        element("main", [_section(section) for section in sections], id="answer"),
        element("footer", footer),
        verbatim("script", script),
    )
    return "<!DOCTYPE html>\n" + str(element("html", head, body, lang="en")) + "\n"


def _section(section: Section) -> Markup:
    name = f"{section.key}-title"
    return element("section", element("h2", section.title, id=name), section.body, id=section.key, aria_labelledby=name)


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def bullets(lines: Sequence[Child]) -> Markup:
    return element("ul", [element("li", line) for line in lines])


def paragraph(*words: Child, class_: str | None = None) -> Markup:
    return element("p", *words, class_=class_)


def facts(rows: Sequence[tuple[str, Child]]) -> Markup:
    """Names and what they are."""
    return element("dl", [joined([element("dt", name), element("dd", words)]) for name, words in rows])
