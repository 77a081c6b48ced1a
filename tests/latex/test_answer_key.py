"""Answers of assertion-reason, match and passage items, and the answer of each kind of item as text."""

from __future__ import annotations

import pytest

from qagen_dagster.latex.answer_key import assertion_faults, match_faults, passage_faults, stated_answer

LIST = (
    "\\begin{enumerate}[label=(\\Alph*)]\n\\item Both are true and R explains A.\n\\item Both are true but R does not explain A.\n"
    "\\item A is true but R is false.\n\\item A is false but R is true.\n\\end{enumerate}\n"
)


def item(statement: str, solution: str) -> str:
    return f"\\item {statement}\n\\begin{{solution}}\n{solution}\n\\end{{solution}}"


def quiz(options: list[str], solution: str, right: str = "") -> str:
    tasks = "\n".join(
        f"\\task {text}" + " \\ans" * (letter in right)
        for letter, text in zip("abcdef", options, strict=False)
    )
    return item(f"Which?\n\\begin{{tasks}}(1)\n{tasks}\n\\end{{tasks}}", solution)


@pytest.mark.parametrize(
    ("solution", "right"),
    [
        (
            "A is true. R is true. The turning is the acceleration, so R explains A. The correct option is (A).",
            True,
        ),
        ("A is true. R is true. R does not explain A. The correct option is (B).", True),
        ("Both are true and R explains A. The correct option is (A).", True),
        ("A is true. R is false. The correct option is (C).", True),
        ("A is true. R is false. The correct option is (D).", False),
        ("A is true. R is true. R does not explain A. The correct option is (A).", False),
        ("The assertion is true and the reason is true. The correct option is (C).", False),
        ("A is true. R is true. The correct option is (E).", False),
        ("A is true, and R is true.", False),
    ],
)
def test_assertion_and_reason(solution: str, right: bool) -> None:
    asked = f"\\textbf{{Assertion (A):}} It is accelerated.\n\n\\textbf{{Reason (R):}} It turns.\n{LIST}"
    assert (list(assertion_faults(item(asked, solution))) == []) is right


@pytest.mark.parametrize(
    ("solution", "right"),
    [
        ("P-2, Q-1 and R-3. The correct option is (a).", True),
        (r"$P \to 2$, $Q \to 1$. The correct option is (a).", True),
        ("P-1, Q-2. The correct option is (a).", False),
        ("P-2, Q-1. The correct option is (d).", False),
        ("P-2, Q-1.", False),
    ],
)
def test_match(solution: str, right: bool) -> None:
    found = quiz(["P-2, Q-1, R-3", "P-1, Q-2, R-3"], solution)
    assert (list(match_faults(found)) == []) is right


@pytest.mark.parametrize(
    ("solution", "right"),
    [(r"1. $\boxed{3}$ 2. $\boxed{12}$", True), (r"1. $a = \boxed{3}$.", False), ("It is so.", False)],
)
def test_passage(solution: str, right: bool) -> None:
    asked = (
        "A cart.\n\\begin{enumerate}\n\\item Find its acceleration.\n\\item Find its speed.\n\\end{enumerate}"
    )
    assert (list(passage_faults(item(asked, solution))) == []) is right


def test_the_answer_of_each_kind() -> None:
    several = r"$\vec p = m \vec v$. The correct options are (a) and (c)."
    assert stated_answer(quiz(["x", "y", "z"], several, right="ac")) == "(a), (c)"
    assert stated_answer(quiz(["$3$ N", "$4$ N"], r"$\boxed{4\,\mathrm{N}}$", right="b")) == "$4$ N"
    assert stated_answer(item(f"Assertion\n{LIST}", "The correct option is (A).")) == "(A)"
    passage = item("Find both.", r"1. $\boxed{3\,\mathrm{m}}$ 2. $\boxed{12}$")
    assert stated_answer(passage) == r"3\,\mathrm{m}; 12"
    asked = "What charge? Give your answer in mC as an integer."
    assert stated_answer(item(asked, r"$Q = \boxed{240\,\mathrm{mC}}$")) == "240"
    assert stated_answer(item("What charge?", r"$Q = \boxed{240\,\mathrm{mC}}$")) == r"240\,\mathrm{mC}"
