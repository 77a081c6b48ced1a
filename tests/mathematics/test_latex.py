"""LaTeX that is whole is let through; what is broken is named."""

from __future__ import annotations

import pytest

from qagen_dagster.loop.exams.code_checks import latex_fault

WHOLE = [
    "no mathematics at all",
    "$x^2$ and $\\frac{1}{2}$",
    "$$\\int_0^1 x\\,dx$$",
    "\\(a\\) and \\[b\\]",
    "it costs \\$5 and 50\\%",
    "$\\left(\\frac{a}{b}\\right)^{2}$",
    "$\\begin{cases}1 & x>0\\\\0 & x\\leq 0\\end{cases}$",
    "$\\{1,2\\}$",
    "$$\\begin{cases}1 & x>0\\\\[2pt]0 & x\\leq 0\\end{cases}$$",
    "\\(\\frac{1}{2}\\) beside $x$",
    "$x \\leftarrow y$ and $a\\rightarrow b$",
    "",
]
BROKEN = {
    "$x^2": "without its partner",
    "$\\frac{1}{2$": "without its }",
    "$\\frac{1}2}$": "without its {",
    "${x$ and $y}$": "another",
    "$\\left(x$": "\\\\left and",
    "$x\\right)$": "\\\\left and",
    "$\\begin{cases}1$": "without its \\\\end",
    "$1\\end{cases}$": "without its \\\\begin",
    "$\\begin{array}1\\end{cases}$": "without its \\\\begin",
    "\\(x": "do not pair",
    "$x^$": "breaks off",
    "$\\frac$": "breaks off",
    "$x$ and \\frac{1}{2}": "outside",
}


@pytest.mark.parametrize("text", WHOLE)
def test_whole(text: str) -> None:
    assert latex_fault(text) == ""


@pytest.mark.parametrize(("text", "said"), BROKEN.items())
def test_broken(text: str, said: str) -> None:
    assert said.replace("\\\\", "\\") in latex_fault(text)
