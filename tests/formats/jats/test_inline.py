"""Formulas of MathML on one line."""

from __future__ import annotations

import pytest

from tests.formats.jats.test_reader import article, lines, parse


def _script(name: str, base: str, *scripts: str) -> str:
    operands = "".join(f"<mml:mn>{one}</mml:mn>" for one in (base, *scripts))
    return f"<mml:{name}>{operands}</mml:{name.split()[0]}>"


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


@pytest.mark.parametrize(
    ("formula", "text"),
    [
        (_script("menclose notation='updiagonalstrike'", "20") + "<mml:mn>10</mml:mn>", "cancel(20)10"),
        (_script("menclose notation='radical'", "x+1"), "sqrt(x+1)"),
        (_script("menclose notation='top'", "x"), "x\u0304"),
        (
            _script("menclose notation='phasorangle'", "30") + _script("menclose notation='actuarial'", "n"),
            "\u222030n\u2309",
        ),
        (_script("mfenced open='[' separators=';'", "1", "2", "3"), "[1; 2; 3)"),
        (_script("mfenced separators=''", "a", "b"), "(ab)"),
        (f"<mml:msup>{_script('mfrac', '1', '2')}<mml:mn>3</mml:mn></mml:msup>", "(1/2)^3"),
        (f"<mml:mi>a</mml:mi>{_script('mfrac', '1', '2')}<mml:mo>(</mml:mo>", "a 1/2 ("),
        ("<mml:mn>2</mml:mn><mml:mo>\u2062</mml:mo><mml:mn>3</mml:mn>", "2 3"),
        (
            "<mml:mover><mml:mrow><mml:mi>a</mml:mi><mml:mo>+</mml:mo><mml:mi>b</mml:mi></mml:mrow>"
            "<mml:mo>\u00af</mml:mo></mml:mover>",
            "(a + b)^\u00af",
        ),
        (_script("mover", "x", "\u00a8"), "x\u0308"),
        ("<mml:mi><mml:mglyph alt='K'/></mml:mi><mml:cn>5</mml:cn>", "K5"),
        (_script("mstack", "12", "15"), "12; 15"),
        (
            f"<mml:mtable>{_script('mtr', 'x', '-y')}{_script('mtr', '', '3')}</mml:mtable><mml:mo>=</mml:mo>"
            f"<mml:mtable>{_script('mtr', 'x', '=5,', '')}{_script('mtr', '', '=6')}</mml:mtable>",
            "x, -y; \u25a1, 3 = x =5,; =6",
        ),
    ],
)
def test_formulas_of_mathml_keep_their_structure(formula: str, text: str) -> None:
    assert lines(f"<p><inline-formula><mml:math>{formula}</mml:math></inline-formula></p>") == [text]


@pytest.mark.parametrize(
    ("markup", "text"),
    [
        ("log<sub>10</sub>5 and 10<sup>3</sup>5", "log10 5 and 10^3 5"),
        ("<sup>1</sup>5 patients", "1 5 patients"),
        ("10<sub>-2</sub> and x<sub>n-1</sub>", "10_-2 and x_(n-1)"),
        ("10<sup>\u2212</sup><sup>5</sup>", "10^\u22125"),
        ("10 <sup>5</sup> mg kg <sup>-1</sup> of <sup>13</sup>C", "10 ^5 mg kg ^-1 of 13C"),
        ("<tex-math>\\usepackage{b} x = 5</tex-math>", "$x = 5$"),
        ("<tex-math>\\usepackage{b} \\begin{document} x = 5</tex-math>", "$x = 5$"),
        ("25 <sup>o</sup>C", "25 \u00b0C"),
        ("<overline>A</overline>", "A\u0304"),
        ("<inline-formula><mml:math alttext='x = 5'/></inline-formula>", "x = 5"),
    ],
)
def test_scripts_and_lines_over_letters_stay_apart_from_numbers(markup: str, text: str) -> None:
    assert lines(f"<p>{markup}</p>") == [text]


def test_text_in_a_struck_style_is_left_out_and_counted() -> None:
    entry = parse(
        article("<p>a <styled-content style='text-decoration: line-through'>20</styled-content>10</p>")
    )
    assert (entry.text.rsplit("\n", 1)[1], entry.detail) == ("a 10", "parts struck out and left out (1): 20")


def test_nested_and_long_scripts_are_read_in_linear_time() -> None:
    assert lines(f"<p>a{'<sub>' * 60}n{'</sub>' * 60}</p>") == ["an"]
    long = "x" * 1_000_000
    assert "".join(lines(f"<p>a<sup>{long}</sup></p>")) == f"a^{long}"
