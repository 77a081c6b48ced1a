r"""The TeX project of a bank: what its items were compiled with is in it, what could read or write files is not.

That it compiles is seen by a real engine in tests/real.
"""

from __future__ import annotations

import re

import pytest

from qagen_dagster.latex.structure import split_items
from qagen_dagster.publishing.allowed_tex import refused
from qagen_dagster.publishing.problems.tex_project import definitions, left_out, packages, tex_project
from qagen_dagster.records.problems.result import BankExport
from qagen_dagster.settings import PROJECT_ROOT
from tests.support.problems.export import exported, record
from tests.support.problems.play import item, mcq

OTHER = "\\begin{solution}\n$v = 10$ by energy.\n\\end{solution}"


def project(bank: BankExport) -> dict[str, str]:
    return {path: data.decode() for path, data in tex_project(bank).items()}


def preamble(bank: BankExport) -> str:
    return project(bank)["tex/preamble.tex"]


def test_every_item_is_a_file_that_main_reads_in_order() -> None:
    bank = exported(
        record(item(), variants={"numerical": item(3, 4)}, alternates=[OTHER]), record(mcq(), name="p-02")
    )
    files = project(bank)
    main = files["tex/main.tex"]
    names = re.findall(r"\\input\{(items/[^}]+)\}", main)
    assert names == ["items/p-01", "items/p-01--alternate-1", "items/p-01--numerical", "items/p-02"]
    assert set(files) == {"tex/main.tex", "tex/preamble.tex", *(f"tex/{name}.tex" for name in names)}
    assert files["tex/items/p-02.tex"] == mcq() + "\n"
    assert (
        main.count(r"\section*{") == main.count(r"\begin{enumerate}") == main.count(r"\end{enumerate}") == 2
    )
    assert r"\title{A \& B \_\#}" in project(exported(record(item()), title="A & B _#"))["tex/main.tex"]


def test_items_stand_among_all_that_they_were_compiled_with() -> None:
    hard = item().replace(
        "A cart", r"At 30° on a \SI{5}{\kilo\gram} \ce{H2O} \multirow{2}{*}{cart} \begin{axis}\end{axis}"
    )
    head = preamble(exported(record(hard, libraries=["shapes.geometric", "circuitikz", "} \\input{x"])))
    for name in ("amsmath", "siunitx", "mhchem", "multirow", "pgfplots", "circuitikz"):
        assert f"{{{name}}}" in head, name
    for library in ("arrows.meta", "calc", "quotes", "decorations.pathmorphing", "shapes.geometric"):
        assert f"\\usetikzlibrary{{{library}}}" in head
    assert r"\DeclareUnicodeCharacter{00B0}" in head
    assert r"\PassOptionsToPackage{siunitx}{circuitikz}" in head
    assert r"\usetikzlibrary{circuitikz}" not in head
    assert r"\input" not in head


def test_what_the_sources_define_is_defined_once() -> None:
    one = (
        "\\documentclass{article}\n\\usepackage[dvipsnames, x=1]{xcolor} \\usepackage{physics,fontspec}% \\usepackage{tensor}\n"
        "\\newcommand{\\half}{\\tfrac{1}{2}}\\newcommand*{\\third}{\\tfrac{1}{3}}\n\\definecolor{sky1}{rgb}{0,0,1}\n"
        "\\definecolor{sky2}{rgb}{0,1,1}\n\\tikzset{a/.style={draw}}\n\\newenvironment{solution}{}{}\n% \\def\\no{1}\n"
        "\\newcommand{\\open}{\n"
    )
    two = "\\usepackage{xcolor}\n\\newcommand{\\half}{0.5}\n\\tikzset{b/.style={fill}}\n\\DeclareMathOperator{\\sgn}{sgn}\n\\def\\evil{\\input{x}}\n"
    assert packages([one, two]) == {"xcolor": "[dvipsnames, x=1]", "physics": ""}
    assert definitions([one, two]) == (
        "\\providecommand{\\half}{\\tfrac{1}{2}}\\providecommand*{\\third}{\\tfrac{1}{3}}",
        "\\definecolor{sky1}{rgb}{0,0,1}",
        "\\definecolor{sky2}{rgb}{0,1,1}",
        "\\tikzset{a/.style={draw}}",
        "\\tikzset{b/.style={fill}}",
        "\\ifdefined\\sgn\\else\\DeclareMathOperator{\\sgn}{sgn}\\fi",
        "\\def\\evil{\\input{x}}",
    )
    bank = exported(record(item(), preamble=one), record(item(3, 4), name="p-02", preamble=two))
    head = preamble(bank)
    assert "\\maybe[dvipsnames, x=1]{xcolor}\n\\maybe{physics}\n" in head
    assert "evil" not in head
    assert "fontspec" not in head


@pytest.mark.parametrize(
    "bad",
    [
        r"\input{/etc/passwd}",
        r"\begin{input}{/etc/passwd}\end{input}",
        r"\begin {filecontents*}[overwrite]{main.tex}x\end{filecontents*}",
        r"\makeatletter\@@input /etc/passwd ",
        r"\ExplSyntaxOn\file_input:n{x}",
        r"\UseName{input}{x}",
        r"\addplot[red] table[x=a] {/etc/passwd};",
        r"\draw plot[smooth] file {/etc/passwd};",
        r"^^5cinput x",
        r"\csname input\endcsname x",
        r"\immediate\openout5=x",
        r"\pdffiledump{/etc/passwd}",
        r"\begin{InputIfFileExists}{/etc/passwd}{}{}",
        r"\draw plot[raw gnuplot] function{x};",
    ],
)
def test_what_could_read_or_write_files_is_left_out_and_named(bad: str) -> None:
    named = refused(bad)
    assert named
    bank = exported(record(item().replace("A cart", bad), alternates=[OTHER]), record(item(), name="p-02"))
    files = project(bank)
    assert set(files) == {
        "tex/main.tex", "tex/preamble.tex", "tex/items/p-01--alternate-1.tex", "tex/items/p-02.tex",
    }  # fmt: skip
    assert "left out: it uses" in files["tex/main.tex"]


@pytest.mark.parametrize(
    "good",
    [
        r"\begin{axis}\addplot {x^2}; \end{axis} the table and its file",
        r"\draw plot[domain=0:1] (\x,{sin(\x r)});",
        r"\includegraphics{cart.png}",
        "the input of the plot, written in a file",
    ],
)
def test_what_only_draws_stays(good: str) -> None:
    assert refused(good) == ""


def test_every_item_of_the_sample_set_is_exported_as_it_stands() -> None:
    text = (PROJECT_ROOT / "corpora/problems/mechanics/sources/mechanics.tex").read_text(encoding="utf-8")
    cut = split_items(text)
    bank = exported(
        *(record(one, name=f"p-{n:02d}", preamble=cut.preamble) for n, one in enumerate(cut.bare_items))
    )
    files = project(bank)
    assert len(cut.bare_items) == 11
    assert [files[f"tex/items/{one.id}.tex"] for one in bank.items] == [
        f"{one.strip()}\n" for one in cut.bare_items
    ]
    assert left_out(bank) == []
