"""Text can never become markup."""

from __future__ import annotations

import math

import pytest
from hostile import IDS, Reader

from counterrank.errors import InputError
from counterrank.report import Reference, Whisker, element, ident, joined, sentence, whiskers
from counterrank.report.markup import Markup, verbatim
from counterrank.report.scale import Scale, around
from counterrank.screen import visible
from counterrank.words import figure_of


@pytest.mark.parametrize("text", IDS)
def test_text_and_attributes_stay_text(text: str) -> None:
    made = str(element("p", text, ["a", None, text, element("b", text)], title=text, data_v=text))
    read = Reader(made)
    assert read.tags == {"p": 1, "b": 1}
    assert read.attributes == {"title", "data-v"}
    assert read.text == f"{visible(text)}a{visible(text)}{visible(text)}"


def test_markup_has_no_way_in_from_text() -> None:
    with pytest.raises(TypeError):
        Markup("<b>", object())
    assert str(joined("<b>")) == "&lt;b&gt;"
    for name in ("b onclick=x", "", "1", "a>b"):
        with pytest.raises(ValueError):
            element(name)
    with pytest.raises(ValueError):
        element("p", **{"on click": "x"})
    for text in ("</script>", "a<!--b", "</style>"):
        with pytest.raises(ValueError):
            verbatim("script", text)


def test_ids_show_what_hides_and_are_cut() -> None:
    assert Reader(str(ident("a\u202eb\x00"))).text == "a⟨U+202E⟩b⟨U+0000⟩"
    assert Reader(str(ident("👩‍👩‍👧‍👦"))).text == "👩‍👩‍👧‍👦"  # joiners belong to the picture
    long = str(ident("y" * 10_000, 500))
    assert "10,000 characters" in long
    assert 500 < len(long) < 1200
    assert len(sentence("z" * 10_000)) < 720


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0, "0"),
        (1.2, "1.200"),
        (0.00001234, "1.23e−05"),
        (12345.6, "12,346"),
        (-0.5, "−0.5000"),
        (math.nan, "–"),
        (9999.6, "10,000"),
    ],
)
def test_numbers(value: float, shown: str) -> None:
    assert figure_of(value) == shown


def test_scales_have_round_ticks() -> None:
    assert Scale(0.13, 0.97, 0, 100).ticks() == [0.2, 0.4, 0.6, 0.8]
    assert Scale(0.5, 2e4, 0, 100, log=True).ticks() == [1, 10, 100, 1000, 10000]
    assert Scale(3, 3, 0, 100)(3) == 50
    low, high = around([None, math.inf, 2.0])
    assert low < 2 < high
    assert around([]) == (0.0, 1.0)


def test_a_picture_holds_its_numbers_and_can_be_saved(tmp_path) -> None:
    rows = [Whisker("<b>", 1.0, 0.5, 1.5, lead=True), Whisker("wide", 1.0, -1e6, 1e6), Whisker("none", None)]
    made = whiskers("A picture", rows, Reference("mean", 0.9), "clicks")
    read = Reader(str(made.figure("what it says")))
    assert {"figure", "svg", "title", "desc", "table", "th"} <= set(read.tags)
    assert "cannot tell" in read.text
    assert "b" not in read.tags
    assert made.save(tmp_path / "a.svg").read_text(encoding="utf-8").startswith("<svg")
    assert made._repr_svg_() == made.svg
    with pytest.raises(InputError, match=r"\.svg or \.png"):
        made.save(tmp_path / "a.gif")


def test_a_picture_as_png(tmp_path, monkeypatch) -> None:
    pytest.importorskip("vl_convert")
    made = whiskers("A picture", [Whisker("a", 1.0, 0.5, 1.5)])
    assert made.save(tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    monkeypatch.setitem(__import__("sys").modules, "vl_convert", None)
    with pytest.raises(InputError, match="pip install vl-convert-python"):
        made.save(tmp_path / "b.png")
