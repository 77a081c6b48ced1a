"""Numbers, words and answers of LaTeX, and comparisons of two texts."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qagen_dagster.latex.comparison import (
    final_answer,
    numbers_of,
    same_answer,
    same_numbers,
    same_words,
    words_of,
)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1.5", "3/2"),
        (".5", "1/2"),
        ("1,500 kg", "1500"),
        ("1{,}500", "1500"),
        (r"1\,500\,kg", "1500"),
        ("1,50,000", "150000"),
        ("1{,}5", "3/2"),
        (r"\frac{3}{2}", "3/2"),
        (r"\dfrac32", "3/2"),
        ("3/2", "3/2"),
        (r"2\frac{1}{2}", "5/2"),
        (r"$3 \times 10^{8}\,\mathrm{m/s}$", "300000000"),
        ("3\u00d710\u2078 m/s", "300000000"),
        (r"3.0\cdot10^{-4}", "3/10000"),
        ("5 x 10^3", "5000"),
        (r"\num{1.5e3}", "1500"),
        (r"\SI{1.6e-19}{C}", "1.6e-19"),
        ("$2^{3}$", "8"),
        ("$2^{-1}$", "1/2"),
        (r"30^\circ", "30"),
        ("$v = -5$", "-5"),
        (r"$(-\frac{1}{2})$", "-1/2"),
        ("a charge of -5 C", "-5"),
        ("$x -5$", "5"),
        ("$x - 5$", "5"),
        (r"$F \times -5$", "-5"),
        (r"a block of \vspace{2cm} 4 kg % and 7", "4"),
        (r"\begin{tasks}[label=(1)](2) \task 4 \end{tasks}", "4"),
        (r"\begin{tabular}{p{3cm}|c}4\\[3pt]\end{tabular}", "4"),
        (r"\begin{tikzpicture}\draw (0,0)--(3,4);\end{tikzpicture} 4", "4"),
        (r"$v_1^2 + a_{12}$ of R1 and H2O is 4", "4"),
        (r"$4\,\mathrm{m\,s^{-2}}$", "4"),
        (r"$e^{-0.5 t}$", "-1/2"),
    ],
)
def test_a_number_is_one_value(text: str, value: str) -> None:
    assert numbers_of(text) == (Fraction(value),)


def test_numbers_beside_each_other_are_several() -> None:
    assert numbers_of("10--20 m, 3-5 s and (-3, -4)") == tuple(map(Fraction, (-4, -3, 3, 5, 10, 20)))
    assert numbers_of("") == ()


def test_powers_that_nobody_could_write_out_are_two_numbers() -> None:
    assert numbers_of("$10^{99999}$") == (Fraction(10), Fraction(99999))
    assert numbers_of(r"$\frac{1}{0}$") == (Fraction(0), Fraction(0), Fraction(1))


def test_a_row_of_digits_is_a_word() -> None:
    assert numbers_of("1" * 50_000) == ()
    assert words_of("1" * 50_000) != words_of("2" * 50_000)
    assert len(str(numbers_of("9" * 50 + "^{900}")[0])) < 4_000


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (r"$9.8\,\mathrm{m/s^2}$", r"9.8 m/s$^2$"),
        (r"\SI{9.8}{\meter\per\second\squared}", r"$9.8~\text{m}/\text{s}^{2}$"),
        (r"\qty{5}{\kilo\gram}", "5 kg"),
        (r"$30^{\circ}$", r"\ang{30}"),
        (r"$v_{\mathrm{max}}$", r"$v_{max}$"),
        (r"\textbf{A ball} falls", "A  ball\n\nfalls"),
        ("an 8 kg block", "a $5$ kg block"),
        ("after 1 second", "after 3 seconds"),
        ("the 1st and 2nd", "the 3rd and 4th"),
        (r"A \begin{center}\includegraphics[width=5cm]{a}\end{center} ball", "a ball % rolls"),
        (r"\begin{tasks}(2)\task up \ans \task down\end{tasks}", r"up \\[2pt] down"),
    ],
)
def test_layout_says_nothing(left: str, right: str) -> None:
    assert words_of(left) == words_of(right)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("5 kg", "5 g"),
        ("$v^2$", "$v^3$"),
        ("$v_1$", "$v_2$"),
        (r"$\sin x$", r"$\cos x$"),
        ("a red ball", "a ball"),
        ("an apple", "a apple"),
        ("classes of 5", "class of 5"),
        ("the R1 branch", "the R2 branch"),
    ],
)
def test_other_words_are_other_words(left: str, right: str) -> None:
    assert words_of(left) != words_of(right)


@given(
    st.integers(1, 10**9),
    st.integers(0, 4),
    st.sampled_from(
        ("{0}", "${0}$", r"\num{{{0}}}", "a {0} kg ball", r"${0}\,\mathrm{{N}}$", "({0})", "{0}.")
    ),
    st.sampled_from((",", "{,}", r"\,", "")),
)
def test_separators_and_surroundings_change_no_value(
    digits: int, places: int, around: str, separator: str
) -> None:
    whole, _, decimals = str(Decimal(digits).scaleb(-places)).partition(".")
    grouped = f"{int(whole):,}".replace(",", separator)
    text = around.format(f"{grouped}.{decimals}" if decimals else grouped)
    assert numbers_of(text) == (Fraction(digits, 10**places),)


@given(st.text(alphabet="a1.,-/^_{}$\\ x\u00d7\u2078\n", max_size=60))
def test_no_text_breaks_the_reading(text: str) -> None:
    numbers_of(text)
    words_of(text)


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
