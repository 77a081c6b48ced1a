from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from qagen_dagster.publishing.mathml import LONGEST, NAMESPACE, mathml, plain_mathml

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
