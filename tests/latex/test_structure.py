r"""The structure of items: what is whole and what is missing, comments and verbatim text aside."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qagen_dagster.latex.structure import (
    code_of,
    environments,
    has_environment,
    item_faults,
    options_of,
    plain_of,
    solution_of,
    statement_of,
    structure_faults,
    tikz_pictures,
)

ITEM = r"""\item A ball of mass $2\,\mathrm{kg}$ falls. % \end{solution}
\begin{tasks}(2)
  \task $4\,\mathrm{m/s}$ \ans
  \task! \verb|\task| none
  \task*(2)[(c)] $\left( 3 \right)$ % \ans
\end{tasks}
\begin{solution}
  $v = gt$, so $\$5$ and 10\% of $\{a\}$.
  \begin{enumerate}\item One step.\end{enumerate}
\end{solution}"""


def test_a_whole_item_has_no_fault() -> None:
    assert item_faults(ITEM) == ()
    assert has_environment(ITEM, "tasks")
    assert statement_of(ITEM).startswith("A ball of mass")
    assert statement_of(ITEM).endswith(r"\end{tasks}")
    assert solution_of(ITEM).startswith("$v = gt$")
    assert solution_of(ITEM).endswith(r"\end{enumerate}")


def test_options_know_which_is_right() -> None:
    assert [(one.text, one.right) for one in options_of(ITEM)] == [
        (r"$4\,\mathrm{m/s}$", True),
        (r"\verb|\task| none", False),
        (r"$\left( 3 \right)$ % \ans", False),
    ]


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (r"{ a", "a { without its }"),
        (r"a }", "a } without its {"),
        (r"\begin{a} { \end{a} }", "a { without its }"),
        (r"{ \begin{a} } \end{a}", r"\begin{a} without its \end{a}"),
        (r"\begin{a}\begin{b}\end{a}\end{b}", r"\begin{b} without its \end{b}"),
        (r"\end{a}", r"\end{a} without its \begin{a}"),
        (r"\begin{a}", r"\begin{a} without its \end{a}"),
        ("$a", "a $ without its partner"),
        ("$a\n\nb$", "a $ without its partner before an empty line"),
        (r"$$a \begin{solution}b\end{solution}$$", r"a $$ without its partner before \begin{solution}"),
        (r"\(a", r"\( and \) do not pair"),
        (r"\[a", r"\[ and \] do not pair"),
        (r"\left(a", r"\left and \right do not pair"),
    ],
)
def test_what_is_not_balanced_is_named(text: str, fault: str) -> None:
    assert structure_faults(text) == (fault,)


@pytest.mark.parametrize(
    "text",
    [
        r"\{ \} \$ \% \\ \leftarrow \{",
        "% { \\begin{a} $",
        r"\verb|{$| \begin{verbatim} } $ \end{verbatim}",
        "$a$$b$",
        r"$$ a \text{ if $x$} $$ and $a \text{ if $x$}$",
        r"\\[2pt] \\(x)",
        r"\iffalse { $ \fi",
        "",
    ],
)
def test_what_only_looks_unbalanced_is_not(text: str) -> None:
    assert structure_faults(text) == ()


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (r"A? \begin{solution}a\end{solution}", r"it does not begin with \item"),
        (r"\items? \begin{solution}a\end{solution}", r"it does not begin with \item"),
        (r"\item A? \begin{solution}a\end{solution} more", r"it does not end with \end{solution}"),
        (r"\item A? % \begin{solution}a\end{solution}", r"it does not end with \end{solution}"),
        (r"\item A?", "it has 0 complete solution environments instead of one"),
        (
            r"\item A? \begin{solution}a\end{solution}\begin{solution}b\end{solution}",
            "it has 2 complete solution environments instead of one",
        ),
        ("\\item A? \\begin{solution} % nothing\n\\end{solution}", "its solution is empty"),
        (r"\item 5 \begin{solution}a\end{solution}", "its statement is empty"),
        (
            r"\item A? \item B? \begin{solution}a\end{solution}",
            r"it has 2 \item of its own level instead of one",
        ),
    ],
)
def test_what_an_item_lacks_is_named(text: str, fault: str) -> None:
    assert fault in item_faults(text)


def test_environments_are_the_outermost_ones() -> None:
    text = r"\begin{a}\begin{a}x\end{a}\end{a} % \begin{a}"
    assert [text[start:end] for start, end in environments(text, "a")] == [
        r"\begin{a}\begin{a}x\end{a}\end{a}"
    ]
    assert environments(r"\begin{a}", "a") == ()
    assert not has_environment("% \\begin{a}\n\\verb|\\begin{a}|", "a")


def test_a_picture_inside_another_one_is_not_counted_twice() -> None:
    inner = r"\begin{tikzpicture}x\end{tikzpicture}"
    outer = rf"\begin{{circuitikz}}{inner}\end{{circuitikz}}"
    assert tikz_pictures(f"a {outer} b {inner}") == (outer, inner)


@given(st.text(alphabet="ab\\%\n{}$|[]() ", max_size=60))
def test_code_keeps_every_place(text: str) -> None:
    for bare in (code_of(text), plain_of(text)):
        assert len(bare) == len(text)
        assert [place for place, char in enumerate(bare) if char == "\n"] == [
            place for place, char in enumerate(text) if char == "\n"
        ]


@given(st.text(max_size=80))
def test_no_text_breaks_the_checks(text: str) -> None:
    item_faults(text)
    options_of(text)
    tikz_pictures(text)
