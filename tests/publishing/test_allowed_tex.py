"""What TeX of an item may hold: every way to a file that we know is refused, and what items really use is not."""

from __future__ import annotations

import time

import pytest

from qagen_dagster.publishing.allowed_tex import own_of, refused
from qagen_dagster.publishing.problems.tex_project import allowed_definitions
from tests.support.problems.attacks import ATTACKS


@pytest.mark.parametrize("attack", ATTACKS)
def test_no_way_to_a_file_is_allowed(attack: str) -> None:
    assert refused(f"\\item What? {attack}\n\\begin{{solution}}\nNone.\n\\end{{solution}}")


@pytest.mark.parametrize(
    ("latex", "named"),
    [
        (r"\begin{InputIfFileExists}{x}", r"\begin{InputIfFileExists}{x}"),
        (r"$\alpha \unheard$", r"\unheard"),
        (r"\draw plot f ile {x};", "f in a path"),
        (r"\draw (0,0)", r"\draw without its end"),
        (r"\tikzset{a/.expanded={x}}", "/.expanded"),
        (r"\newcommand{\w}[1]{#1}\w\begin{center}\end{center}", r"\w before \begin"),
        ("a }", "a } without its {"),
    ],
)
def test_what_is_refused_is_named(latex: str, named: str) -> None:
    assert refused(latex) == named


@pytest.mark.parametrize(
    "latex",
    [
        r"The file that is the input of the table function, plot it. \SI{5}{\kilo\gram} at 50\% \& more",
        r"$\left\{ \begin{array}{l} x \\ y \end{array} \right. \dv{x}{t} \cancel{x}$ \ce{H2O} \"a \task[a] \\[1ex]",
        "\\\\% a comment with \\input{x} \n and 5\\% \\ \n x",
        r"\newcommand{\unitv}[1]{\,\mathrm{#1}}\newcommand*{\half}{\tfrac{1}{2}}\DeclareMathOperator{\sgn}{sgn} $\half\unitv{m}\sgn x$",
        r"\newcommand{\vect}[2][x]{\mathbf{#2}_{#1}} $\vect F = m\vect[y]{a}$ $\vect\alpha$",
        r"\NewDocumentCommand{\vect}{om}{\mathbf{#2}} $\vect{F}$",
        r"\newenvironment{hint}{\begin{quote}}{\end{quote}}\begin{hint}x\end{hint}",
        r"\tikzset{spring/.style={decorate,decoration={coil}}, b/.style={minimum width=#1}}",
        r"\tikzstyle{b}=[draw, fill=red] \tikz[baseline] \draw (0,0) -- (1,1);",
        r"\foreach \x/\y in {0/1,2/3} {\draw (\x,0) -- (\y,1);} \foreach \c in {red,blue} \draw[\c] (0,0);",
        r"\foreach [count=\i] \x in {1,2} {\node {\i \nodepart{two} \vrule};}",
        r"\foreach \x [count=\i] in {0,...,3} {\ifnum\x>1 \node at (\x,0) {$\i$};\else\fi}",
        r"\draw[->] foreach \x [count=\i] in {1,2} {(\x,0) -- (\i,1)} node[left] {let it file} edge node {x} (A);",
        r"\draw let \p1=($(A)-(B)$), \n1={veclen(\x1,\y1)} in (A) circle (\n1);",
        r"\draw[domain=0:1] plot (\x,{sin(\x r)}) plot coordinates {(0,0) (1,1)} pic[draw] {angle=A--B--C};",
        r"\addplot[domain=0:1] {x^2} node[pos=1] {$a$} \closedcycle; \addplot fill between[of=A and B];",
        r"\draw (0,0) to[R=$R_1$, l=5<\ohm>] (2,0) node[ground] {}; \matrix[row sep=1cm] {\node {a}; & \node {b}; \\};",
        r"\def\r{2}\pgfmathsetmacro{\s}{\r*2}\draw (0,0) circle (\r) arc[start angle=0, end angle=\s, radius=1cm];",
    ],
)  # fmt: skip
def test_what_items_use_is_allowed(latex: str) -> None:
    assert refused(latex) == ""


def test_a_definition_goes_with_the_one_that_it_needs() -> None:
    preamble = (
        "\\newcommand{\\bad}{\\input{x}}\n\\newcommand{\\worse}{\\bad}\n\\newcommand{\\good}{\\alpha}\n"
    )
    given = allowed_definitions([preamble])
    assert given == ("\\providecommand{\\good}{\\alpha}",)
    assert refused(r"$\good$", own_of(given)) == ""
    assert refused(r"$\worse$", own_of(given)) == r"\worse"


@pytest.mark.parametrize(
    "piece",
    [
        "{",
        "[",
        "(",
        "\\draw ",
        "\\begin{center}",
        "%\n",
        "\\",
        "#",
        "\\newcommand{\\a}[1]{",
        "/.style",
        "plot[",
        "\\a{",
        "\\newenvironment{x}{",
    ],
)
def test_long_texts_are_judged_in_linear_time(piece: str) -> None:
    began = time.process_time()
    refused(r"\newcommand{\a}[1]{x} tikz " + piece * (100_000 // len(piece)))
    refused(r"\newcommand{\a}[1]{x} tikz " + piece * (50_000 // len(piece)) + "}" * (50_000 // len(piece)))
    assert time.process_time() - began < 3
