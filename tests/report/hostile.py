"""A log whose ids try what they can, and what a page must make of them."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import Any

IDS = [
    "<img src=x onerror=\"window.hit=1;alert('id')\">",
    "</script><script>window.hit=2;alert(1)</script>",
    "</style><style>body{display:none}</style>",
    '" onmouseover="window.hit=3" x=\'',
    "' autofocus onfocus='window.hit=4",
    "<!-- ]]> --> &lt;b&gt; &amp;",
    "</title></svg><iframe src='javascript:window.hit=5'>",
    "👩‍👩‍👧‍👦 🏳️‍🌈 é",
    "evil\u202egpj.exe\u2066x",
    "שלום עולם",
    "line\nbreak\ttab\u2028sep",
    "x" * 9_990 + "the end!!!",
    "javascript:alert(1)",
    "{{7*7}} ${7*7} %s %(a)s",
]


def log(repeats: int = 40, days: int = 2) -> dict[str, list[Any]]:
    """Every id is a query, and the items of each are three of the ids, in two orders."""
    rows: dict[str, list[Any]] = {"query": [], "items": [], "clicks": [], "day": []}
    for q, query in enumerate(IDS):
        items = [IDS[(q + i) % len(IDS)] for i in range(3)]
        for n in range(repeats):
            rows["query"].append(query)
            rows["items"].append(items if n % 2 else items[::-1])
            rows["clicks"].append([int((n * 7 + q) % 3 == i) for i in range(3)])
            rows["day"].append(n % days + 1)
    return rows


def target() -> dict[str, list[str]]:
    return {query: [IDS[(q + i) % len(IDS)] for i in range(3)] for q, query in enumerate(IDS)}


class Reader(HTMLParser):
    """Which elements and attributes a page has, and its text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: dict[str, int] = {}
        self.attributes: set[str] = set()
        self.words: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags[tag] = self.tags.get(tag, 0) + 1
        self.attributes |= {name for name, _ in attributes}

    def handle_data(self, data: str) -> None:
        self.words.append(data)

    @property
    def text(self) -> str:
        return "".join(self.words)
