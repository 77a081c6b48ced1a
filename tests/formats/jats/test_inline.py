"""Formulas of MathML on one line."""

from __future__ import annotations

import pytest

from tests.formats.jats.test_reader import lines


def _script(name: str, base: str, *scripts: str) -> str:
    return f"<mml:{name}>{''.join(f'<mml:mn>{one}</mml:mn>' for one in (base, *scripts))}</mml:{name}>"


@pytest.mark.parametrize(
    ("formula", "text"),
    [
        (f"<mml:mn>2</mml:mn>{_script('mfrac', '1', '2')}", "2 1/2"),
        (f"{_script('mfrac', '1', '2a')}<mml:mi>b</mml:mi>", "1/(2a) b"),
        (_script("mfrac", "x", "(a+b)(c)"), "x/((a+b)(c))"),
        (_script("mfrac", "(a)+(b)", "[c]"), "((a)+(b))/[c]"),
        (_script("mfrac", "|a|-|b|", "|c|"), "(|a|-|b|)/|c|"),
        (f"{_script('msup', 'x', '2')}<mml:mn>3</mml:mn>", "x^2 3"),
        ("<mml:mi>t</mml:mi><mml:mo>=</mml:mo><mml:mo>\u2212</mml:mo><mml:mn>5</mml:mn>", "t = \u22125"),
        ("<mml:mphantom><mml:mn>7</mml:mn></mml:mphantom><mml:mn>5</mml:mn>", "5"),
        ("<mml:maction><mml:mn>5</mml:mn><mml:mn>6</mml:mn></mml:maction>", "5"),
        ("<mml:mfrac linethickness='0'><mml:mi>n</mml:mi><mml:mn>2</mml:mn></mml:mfrac>", "n; 2"),
        (
            "<mml:mn>5</mml:mn><mml:mmultiscripts><mml:mi>U</mml:mi><mml:mprescripts/><mml:mn>92</mml:mn>"
            "<mml:mn>235</mml:mn></mml:mmultiscripts>",
            "5 _92^235U",
        ),
        (_script("mmultiscripts", "X", "2", "3"), "X_2^3"),
        ("<mml:mi>a</mml:mi><mml:apply><mml:plus/><mml:cn>5</mml:cn></mml:apply>", "a\ufffd"),
    ],
)
def test_numbers_of_mathml_stay_apart(formula: str, text: str) -> None:
    assert lines(f"<p><inline-formula><mml:math>{formula}</mml:math></inline-formula></p>") == [text]
