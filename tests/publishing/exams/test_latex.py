from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qagen_dagster.publishing.exams.pages import LatexExam
from tests.support.exams.items import bank, hard_item, item, question

TEXT = st.text(st.characters(exclude_categories=["Cs"]) | st.sampled_from("$\\{}%&#_^~"), max_size=30)


def paper(stem: str) -> str:
    return LatexExam().export(bank(item(question(stem))))["exam.tex"].decode()


def test_a_paper_of_the_exam_class() -> None:
    text = LatexExam().export(bank(item(), hard_item()))["exam.tex"].decode()
    assert text.startswith("\\documentclass[11pt,a4paper]{exam}")
    assert text.count("\\question ") == 2
    assert text.count("\\CorrectChoice ") == 2
    assert "\\CorrectChoice {}$\\dfrac{3}{4}$" in text
    assert "\\choice {}[a] \\%50\\% = 7 \\# \\{b\\} \\textasciitilde{} c" in text
    assert "costs \\$5 \\& has 10\\% off" in text
    assert "\\texttt{\\textbackslash{}unknowncommand\\{1\\}}" in text


@pytest.mark.parametrize(
    "latex",
    ["\\input{/etc/passwd}", "\\write18{ls}", "\\def\\x{1}\\x", "\\newcommand{\\y}{2}\\y", "\\catcode`\\$=1", "x % y",
     "^^5cinput", "\\csname input\\endcsname", "\\let\\a\\b", "\\renewcommand{\\frac}{1}", "\\require{x}",
     "\\begin{InputIfFileExists}{x}{}{}\\end{InputIfFileExists}", "\\begin{in%\nput}{x}\\end{input}", "\\begin{@@input}x"],
)  # fmt: skip
def test_no_command_of_a_formula_reaches_tex_that_could_read_or_redefine(latex: str) -> None:
    assert f"${latex}$" not in paper(f"See ${latex}$.")
    assert "\\texttt{" in paper(f"See ${latex}$.")


@given(TEXT)
def test_braces_balance_whatever_the_prose(text: str) -> None:
    found = paper(f"start {text.replace('$', '').replace(chr(92), '')} end")
    plain = found.replace("\\{", "").replace("\\}", "")
    assert plain.count("{") == plain.count("}")
