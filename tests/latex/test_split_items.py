r"""Cutting TeX into items: nothing is lost, nothing is moved, and an `\item` inside an item is none."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qagen_dagster.latex.structure import split_items

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
    assert cut.with_items(cut.items) == text
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


def test_other_items_take_their_places() -> None:
    cut = split_items("a \\begin{enumerate}\\item 1 \\item 2 \\end{enumerate} z")
    assert cut.with_items(("\\item x ", "\\item y ")) == (
        "a \\begin{enumerate}\\item x \\item y \\end{enumerate} z"
    )
    with pytest.raises(ValueError, match="1 items given, 2 expected"):
        cut.with_items(("\\item x",))


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
