from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from qagen_dagster.publishing.markup import LONGEST, NAMESPACE, Segment, mathml, plain_mathml, split, xml_text

PIECES = st.lists(st.sampled_from(["$", "$$", "\\$", "\\(", "\\)", "\\[", "\\]", "x", " ", "\\", "\n"]))


def test_formulas_are_taken_out_of_prose() -> None:
    assert split("Let $a$ be \\(b\\): $$c$$ or \\[ d \\].") == [
        Segment("prose", "Let "), Segment("inline", "a"), Segment("prose", " be "), Segment("inline", "b"),
        Segment("prose", ": "), Segment("display", "c"), Segment("prose", " or "), Segment("display", "d"),
        Segment("prose", "."),
    ]  # fmt: skip


def test_dollars_that_are_money_stay_prose() -> None:
    assert split("\\$3 and $4") == [Segment("prose", "$3 and $4")]
    assert split("$x = \\$3$") == [Segment("inline", "x = \\$3")]
    assert split("") == []
    assert split("$$") == [Segment("prose", "$$")]


@given(PIECES.map("".join))
def test_nothing_is_lost(text: str) -> None:
    letters = [char for char in text if char == "x"]
    found = split(text)
    assert [char for segment in found for char in segment.text if char == "x"] == letters
    assert all(segment.text for segment in found)
    kinds = [segment.kind for segment in found]
    assert all(kinds[at : at + 2] != ["prose", "prose"] for at in range(len(kinds)))


def test_many_fences_that_nothing_closes_are_read_once() -> None:
    text = "\\( " * 100_000
    assert split(text) == [Segment("prose", text)]


def test_what_xml_cannot_hold_is_left_out() -> None:
    assert xml_text("a\x00\x0b\ud800\ufffe\tb\n\U0001f600") == "a\tb\n\U0001f600"


TOKENS = st.sampled_from(
    ["\\frac", "{", "}", "x", "1", "^", "_", "\\sqrt", "&", "\\\\", "<", "\\text{<i>}", "\\left(", "\\right)",
     "\\dfrac12", "\\begin{cases}", "\\end{cases}", "\\def\\a{\\a\\a}", "\\a", "\x00", "\\sin", "%"]
)  # fmt: skip


def test_formulas_are_mathml() -> None:
    assert mathml("\\frac{1}{x}") == (f'<math xmlns="{NAMESPACE}"><mfrac><mn>1</mn><mi>x</mi></mfrac></math>')
    assert 'display="block"' in (mathml("x", display=True) or "")
    assert "\u2061" in (mathml("\\sin x") or ""), "a character that XML has no name for"


@pytest.mark.parametrize(
    "latex", ["\\nosuchthing", "{", "\\href{javascript:alert(1)}{x}", "\\input{/etc/passwd}"]
)
def test_what_cannot_be_set_is_none(latex: str) -> None:
    assert mathml(latex) is None
    assert plain_mathml(latex) is None


def test_too_long_a_formula_is_none() -> None:
    assert mathml("x" * (LONGEST + 1)) is None


def test_a_strict_reader_gets_what_every_version_knows() -> None:
    found = plain_mathml("\\dfrac{1}{2} + \\mathrm{m}")
    assert found is not None
    attributes = {str(name) for element in found.iter() for name in element.attrib}
    assert attributes == {"displaystyle", "mathvariant"}
    (styled,) = (element for element in found.iter() if element.get("displaystyle"))
    assert etree.QName(styled).localname == "mstyle"


@given(st.lists(TOKENS, max_size=8).map("".join))
def test_whatever_is_set_is_well_formed_and_holds_math_alone(latex: str) -> None:
    found = mathml(latex)
    if found is not None:
        names = {etree.QName(element).namespace for element in etree.fromstring(found).iter()}
        assert names == {NAMESPACE}
