"""The items of a TeX text and the structure of an item."""

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
    split_items,
    statement_of,
    structure_faults,
    tikz_pictures,
)

_PREAMBLE = "\\documentclass{article}\n\\newcommand{\\q}{\\item}\n\\begin{document}\n"
_PLAIN = st.sampled_from(
    (
        "A ball falls.",
        "$v = \\frac{3}{2}\\,u$",
        "50\\% of \\{a\\}",
        "\\itemsep 3pt",
        "% \\item not this one\n",
        "\\verb|\\item|",
        "\\begin{verbatim}\n\\item\n\\end{enumerate}\n\\end{verbatim}",
        "\\begin{enumerate}\\item first \\item second\\end{enumerate}",
        "\\begin{tasks}(2)\\task 1 \\task \\begin{itemize}\\item deep\\end{itemize}\\ans\\end{tasks}",
        "\\begin{tikzpicture}\\draw (0,0) -- (1,1);\\end{tikzpicture}",
        "{\\small in a group \\item not an item}",
        "\n\n",
    )
)
_TEXT = st.lists(_PLAIN, min_size=1, max_size=5).map(" ".join)


@st.composite
def items(draw: st.DrawFn) -> str:
    solution = f"\\begin{{solution}}\n{draw(_TEXT)}\n\\end{{solution}}"
    return f"\\item {draw(_TEXT)}\n{solution}{draw(st.sampled_from(('', chr(10), ' % end' + chr(10))))}\n"


@given(st.lists(items(), min_size=1, max_size=6), st.booleans())
def test_items_come_back_as_they_were_written(written: list[str], document: bool) -> None:
    body = "".join(written)
    text = (
        f"{_PREAMBLE}\\begin{{enumerate}}\n{body}\\end{{enumerate}}\n\\end{{document}}\n\\item behind"
        if document
        else body
    )

    cut = split_items(text)

    assert cut.items == tuple(written)
    assert "".join(cut.items) == body
    assert cut.text == text
    assert cut.preamble == ("\\documentclass{article}\n\\newcommand{\\q}{\\item}\n" if document else "")


@given(
    st.lists(
        st.sampled_from(
            (
                "\\item",
                "\\begin{a}",
                "\\end{a}",
                "\\end{b}",
                "{",
                "}",
                "$",
                "%",
                "\n",
                "\\",
                "x",
                "\\verb|",
                "\\begin{document}",
                "\\end{document}",
                "\\begin{solution}",
                "\\end{solution}",
                "\\iffalse",
            )
        ),
        max_size=30,
    )
)
def test_whatever_the_text_no_character_is_lost(parts: list[str]) -> None:
    text = "".join(parts)
    cut = split_items(text)
    assert cut.text == text
    assert all(item.startswith("\\item") for item in cut.items)


def test_lists_without_a_solution_hold_no_problems_where_others_have_one() -> None:
    text = (
        "\\begin{itemize}\\item Write neatly.\\end{itemize}\n"
        "\\begin{enumerate}\\item A? \\begin{solution}a\\end{solution}\\end{enumerate} then "
        "\\begin{enumerate}[resume]\\item B? \\begin{solution}b\\end{solution}\\end{enumerate}"
    )
    assert split_items(text).items == (
        "\\item A? \\begin{solution}a\\end{solution}",
        "\\item B? \\begin{solution}b\\end{solution}",
    )


def test_without_any_solution_every_outermost_item_is_one() -> None:
    assert split_items("\\begin{enumerate}\\item A? \\item B?\\end{enumerate}").items == (
        "\\item A? ",
        "\\item B?",
    )


def test_a_text_without_items_is_one_piece() -> None:
    assert [piece.text for piece in split_items("A ball falls.").pieces] == ["A ball falls."]
    assert split_items("").pieces == ()


def test_long_texts_that_never_close_are_cut() -> None:
    """Were the time more than linear, this would not end."""
    for part in ("\\begin{a}\\item ", "\\verb|", "\\end{a}", "\\begin{verbatim}", "{\\item}", "\\iffalse "):
        text = part * 40_000
        assert split_items(text).text == text


def test_bare_items_end_where_their_code_ends() -> None:
    text = "\\item A \\begin{solution}a\\end{solution} % done\n\n% the next one\n\\item B \\verb|%| \n"
    assert split_items(text).bare_items == (
        "\\item A \\begin{solution}a\\end{solution}",
        "\\item B \\verb|%|",
    )
    assert split_items("\\item 10\\% \\\\ % x").bare_items == ("\\item 10\\% \\\\",)


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
