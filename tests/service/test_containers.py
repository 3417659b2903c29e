"""The container files name settings that there are, and run as nobody special."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

from counterrank.service.settings import Settings

ROOT = Path(__file__).parents[2]
FILES = [(ROOT / name).read_text(encoding="utf-8") for name in ("Dockerfile", "compose.yaml")]


def test_every_variable_is_a_setting() -> None:
    named = {name.lower() for text in FILES for name in re.findall(r"COUNTERRANK_([A-Z_]+)", text)}
    assert named <= {each.name for each in fields(Settings)}
    assert {"store", "tokens", "secret", "host"} <= named


def test_it_does_not_run_as_root_and_copies_what_it_needs() -> None:
    text = FILES[0]
    assert re.search(r"^USER counterrank$", text, re.MULTILINE)
    copied = re.findall(r"^COPY (?!--from)(.+) \S+$", text, re.MULTILINE)
    assert all((ROOT / name).exists() for names in copied for name in names.split())
    ignored = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    assert all(f"!{name}" in ignored for names in copied for name in names.split())


def test_compose_is_reachable_from_this_machine_only() -> None:
    ports = re.findall(r'ports: \["([^"]+)"\]', FILES[1])
    assert ports
    assert all(port.startswith("127.0.0.1:") for port in ports)
