"""Whether two pieces of LaTeX say the same, and what answer a solution ends at."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qagen_dagster.latex.content import final_answer, same_answer, same_numbers, same_words


@pytest.mark.parametrize(
    ("solution", "answer"),
    [
        (r"$v = gt = 9.8\,\mathrm{m/s}$.", r"9.8\,\mathrm{m/s}"),
        ("so $v = 5$ m/s.", "$5$ m/s"),
        (r"$x = 5$\,kg", r"$5$ \,kg"),
        (r"\( v = 3 \) m/s", "$3$ m/s"),
        (r"\boxed{v = 5\,\mathrm{m/s}} % \boxed{6}", r"v = 5\,\mathrm{m/s}"),
        (r"$\boxed{\frac{3}{2}}$ J", r"\frac{3}{2}"),
        (r"\boxed{\{ 1 \}}", r"\{ 1 \}"),
        ("$a = 3$. The answer is 5 m.", "5 m"),
        (r"\begin{align*} a &= 3 \\ b &= 4\,\mathrm{m} \\ \end{align*}", r"4\,\mathrm{m}"),
        (r"$E = 2\pi \approx 6.28\,\mathrm{J}$", r"6.28\,\mathrm{J}"),
        (r"$F = 3\,\mathrm{N}$, which is large.", r"3\,\mathrm{N}"),
        (r"$x = 2$ \begin{tikzpicture}[scale=3]\end{tikzpicture}", "2"),
        ("Answer: (b)", None),
        ("The correct option is (b).", None),
        (r"\includegraphics[width=5cm]{x}", None),
        ("It moves up.", None),
        ("", None),
    ],
)
def test_a_solution_ends_at_its_answer(solution: str, answer: str | None) -> None:
    assert final_answer(solution) == answer


@pytest.mark.parametrize(
    ("left", "right", "same"),
    [
        ("5 m", "500 cm", True),
        ("5", "5.0", True),
        ("3.14", r"\pi", True),
        ("5 m", "6 m", False),
        ("5 m", "5 s", False),
        ("20", "19.6", False),
        (r"$\frac{mg}{2}$", r"\frac{1}{2}mg", True),
        (r"v=5\,\mathrm{m/s}", "$5$ m/s", True),
        (r"\boxed{5}", "5", True),
        ("1,500 N", r"1.5\times10^3\,\text{N}", True),
        ("It increases", r"\text{it increases}", True),
        ("up", "down", None),
        ("10 m/s east", "10 m/s west", None),
        ("???", "!!!", None),
    ],
)
def test_answers_are_compared_by_value(left: str, right: str, same: bool | None) -> None:
    assert same_answer(left, right) is same
    assert same_answer(right, left) is same


@given(st.integers(1, 10**6), st.integers(1, 10**6))
def test_whole_answers_are_the_same_only_when_they_round_together(left: int, right: int) -> None:
    within = abs(left - right) <= 0.005 * max(left, right)
    assert same_answer(f"${left}\\,\\mathrm{{N}}$", f"{right} N") is within


def test_numbers_count_as_often_as_they_stand() -> None:
    assert same_numbers("2 and 1.50", r"\frac{3}{2} then 2.0")
    assert not same_numbers("2 and 2", "2")


def test_words_count_in_their_order() -> None:
    assert same_words(r"A \emph{red} ball of 5 kg", "a red ball of 7 kg")
    assert not same_words("a red ball", "a ball red")
