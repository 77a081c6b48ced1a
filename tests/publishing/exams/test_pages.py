"""Item banks as LaTeX and as a web page."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree, html

from qagen_dagster.publishing.exams.pages import html_preview, item_html, latex_exam
from qagen_dagster.publishing.markup import exported, figure_id
from tests.support.exams.items import bank, hard_item, item, question

LATEX_TEXT = st.text(st.characters(exclude_categories=["Cs"]) | st.sampled_from("$\\{}%&#_^~"), max_size=30)


def paper(stem: str) -> str:
    return latex_exam(bank(item(question(stem))))["exam.tex"].decode()


def test_a_paper_of_the_exam_class() -> None:
    text = latex_exam(bank(item(), hard_item()))["exam.tex"].decode()
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


@given(LATEX_TEXT)
def test_braces_balance_whatever_the_prose(text: str) -> None:
    found = paper(f"start {text.replace('$', '').replace(chr(92), '')} end")
    plain = found.replace("\\{", "").replace("\\}", "")
    assert plain.count("{") == plain.count("}")


TEXT = st.text(
    st.characters(exclude_categories=["Cs"]) | st.sampled_from("$\\{}<>&\n"), min_size=1, max_size=40
).filter(str.strip)


def test_the_page_stands_alone() -> None:
    page = html_preview(bank(item(), hard_item()))["preview.html"].decode()
    assert not re.search(r"<script|<link|<img|src=|url\(|@import", page)
    root = html.fromstring(page)
    assert len(root.xpath("//article")) == 2
    assert len(root.xpath("//article[2]//ol/li")) == 5
    assert root.xpath("//article[2]//math")
    assert [code.text for code in root.xpath("//article[2]//code")] == ["\\unknowncommand{1}"]
    assert "2 items" in page


@given(TEXT)
def test_an_item_is_well_formed_whatever_it_says(text: str) -> None:
    root = etree.fromstring(item_html(item(question(text, "A", A=text, B="1", C="2", D="3"))))
    assert root.get("id", "").startswith("M1-easy-")
    names = {etree.QName(element).localname for element in root.iter()}
    assert "script" not in names


FIGURE = "\\begin{tikzpicture}\n\\draw (0,0) -- (1,1);\n\\end{tikzpicture}"


@pytest.mark.parametrize(
    ("code", "kept"), [(FIGURE, True), (FIGURE.replace("draw", "input{x} \\draw"), False)]
)
def test_an_allowed_figure_is_drawn_by_the_paper(code: str, kept: bool) -> None:
    found = paper(f"How long?\n\n{code}")
    assert (code in found) == kept
    assert "\\usepackage{tikz}" in found
    assert "tikz" not in paper("How long?")


def test_a_page_has_a_figure_with_the_stem_as_alternative() -> None:
    of = bank(item(question(f"How <long>?\n\n{FIGURE}", "B"))).model_copy(
        update={"figures": {figure_id(FIGURE): b"\x89PNG"}}
    )
    page = exported(html_preview(of), of.figures)["preview.html"].decode()
    (image,) = html.fromstring(page).xpath("//article//img")
    assert (image.get("src"), image.get("alt")) == ("data:image/png;base64,iVBORw==", "How <long>?")
