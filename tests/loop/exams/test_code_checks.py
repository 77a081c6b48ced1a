"""The checks of an exam question that code makes, and the proof of its key."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from qagen_dagster.loop.exams import code_checks as gates
from qagen_dagster.loop.exams import computed_key
from qagen_dagster.loop.exams.code_checks import latex_fault
from qagen_dagster.loop.exams.computed_key import Proving, option_values, prove
from qagen_dagster.mathematics.sandbox import Sandbox
from qagen_dagster.records.exams.bank import Examination, ProofStatus
from qagen_dagster.records.exams.submissions import CheckableForm, ExamQuestion, QuestionPackage, Severity

WHOLE = [
    "no mathematics at all",
    "$x^2$ and $\\frac{1}{2}$",
    "$$\\int_0^1 x\\,dx$$",
    "\\(a\\) and \\[b\\]",
    "it costs \\$5 and 50\\%",
    "$\\left(\\frac{a}{b}\\right)^{2}$",
    "$\\begin{cases}1 & x>0\\\\0 & x\\leq 0\\end{cases}$",
    "$\\{1,2\\}$",
    "$$\\begin{cases}1 & x>0\\\\[2pt]0 & x\\leq 0\\end{cases}$$",
    "\\(\\frac{1}{2}\\) beside $x$",
    "$x \\leftarrow y$ and $a\\rightarrow b$",
    "",
]
BROKEN = {
    "$x^2": "without its partner",
    "$\\frac{1}{2$": "without its }",
    "$\\frac{1}2}$": "without its {",
    "${x$ and $y}$": "another",
    "$\\left(x$": "\\\\left and",
    "$x\\right)$": "\\\\left and",
    "$\\begin{cases}1$": "without its \\\\end",
    "$1\\end{cases}$": "without its \\\\begin",
    "$\\begin{array}1\\end{cases}$": "without its \\\\end",
    "\\(x": "do not pair",
    "$x^$": "breaks off",
    "$\\frac$": "breaks off",
    "$x$ and \\frac{1}{2}": "outside",
}


@pytest.mark.parametrize("text", WHOLE)
def test_whole(text: str) -> None:
    assert latex_fault(text) == ""


@pytest.mark.parametrize(("text", "said"), BROKEN.items())
def test_broken(text: str, said: str) -> None:
    assert said.replace("\\\\", "\\") in latex_fault(text)


@pytest.fixture(scope="module")
def box() -> Iterator[Sandbox]:
    with Sandbox() as box:
        yield box


def proving(
    box: Sandbox, options: list[str], expression: str, unit: str = "", key: str = "A", **givens: str
) -> Proving:
    question = ExamQuestion.model_validate(
        {"stem": "?", "options": dict(zip("ABCDEFGH", options, strict=False)), "correct_option": key}
    )
    check = CheckableForm(givens=givens, expression=expression, unit=unit)
    return prove(question, check, option_values(question.options, box), box)


@pytest.mark.parametrize(
    ("options", "expression", "unit"),
    [
        (["9 J", "18 J", "6 J", "3 J"], "2*3**2/2", "J"),
        (["$0.009$ kJ", "18 J", "6 J", "3 J"], "2*3**2/2", "J"),
        (["9", "18", "6", "3"], "2*3**2/2", "J"),
        (["9 J", "18 J", "6 J", "3 J"], "2*3**2/2", ""),
        ([r"$\frac{\sqrt{3}}{2}$", "1", "0.5", "0.87"], "sin(pi/3)", ""),
        (["$60^\\circ$", "$30^\\circ$", "$45^\\circ$", "$90^\\circ$"], "acos(1/2)", "rad"),
        (["$60^\\circ$", "$30^\\circ$", "$45^\\circ$", "$90^\\circ$"], "acos(1/2)*180/pi", "degrees"),
        (["25%", "20%", "75%", "4%"], "100/4", "%"),
        (["9", "8", "7", "cannot be determined"], "3*3", ""),
    ],
)
def test_proven(box: Sandbox, options: list[str], expression: str, unit: str) -> None:
    assert proving(box, options, expression, unit).proof.status is ProofStatus.PROVEN


def test_symbols_stay_symbols(box: Sandbox) -> None:
    options = [r"$\frac{3F}{2}$", "$3F$", r"$\frac{2F}{3}$", "$F$"]
    assert proving(box, options, "a*F/b", a="3", b="2", F="F").proof.status is ProofStatus.PROVEN


@pytest.mark.parametrize(
    ("options", "matching"),
    [
        (["8", "9", "7", "6"], ("B",)),
        (["9", "9.0", "7", "6"], ("A", "B")),
        (["32400", "6000", "600", "60000"], ()),
    ],
)
def test_refuted(box: Sandbox, options: list[str], matching: tuple[str, ...]) -> None:
    proof = proving(box, options, "900*6/10/60").proof
    assert proof.status is ProofStatus.REFUTED
    assert proof.matching == matching
    assert "9" in proof.detail


def test_a_rounded_match_is_told(box: Sandbox) -> None:
    found = proving(box, ["2.65", "2.64", "2.6", "7"], "sqrt(7)")
    assert found.proof.matching == ("A", "C")
    assert proving(box, ["2.65", "2.64", "3", "7"], "sqrt(7)").rounded


def test_what_cannot_be_compared_is_unproven(box: Sandbox) -> None:
    words = proving(box, ["it grows", "it shrinks", "it stays", "it ends"], "1")
    assert (words.proof.status, words.failure) == (ProofStatus.UNPROVEN, None)
    broken = proving(box, ["9", "8", "7", "6"], "1/0")
    assert broken.proof.status is ProofStatus.UNPROVEN
    assert broken.failure is not None


def test_the_known_wrong_row_of_a_public_set_is_refuted(box: Sandbox) -> None:
    """900 kilometres an hour in miles a minute at 0.6 miles a kilometre: 9, and the set's key is 32400."""
    options = ["32400", "6000", "600", "60000", "10"]
    found = proving(box, options, "v*f/60", v="900", f="0.6")
    assert found.proof.status is ProofStatus.REFUTED
    assert found.proof.value == "9"


STEM = "A body of mass $2$ kg moves at $3$ m s$^{-1}$. What is its kinetic energy?"
OPTIONS = {"A": "$6$ J", "B": "$9$ J", "C": "$18$ J", "D": "$3$ J"}
PATHS = {
    "A": "Forgets to square the speed.",
    "C": "Leaves out the factor of one half.",
    "D": "Takes the speed for the energy.",
}
CHECK = {"givens": {"m": "2", "v": "3"}, "expression": "m*v**2/2", "unit": "J"}


def package(**fields: Any) -> QuestionPackage:
    """The sound question with some fields changed; `options` are changed letter by letter."""
    options = {
        letter: text for letter, text in (OPTIONS | fields.pop("options", {})).items() if text is not None
    }
    usual = {
        "question": {
            "stem": fields.pop("stem", STEM),
            "options": options,
            "correct_option": fields.pop("key", "B"),
        },
        "solution": {"reasoning": "$\\frac{1}{2}\\times 2\\times 3^2=9$.", "key_insight": "One formula."},
        "distractor_map": PATHS,
        "check": CHECK,
    }
    return QuestionPackage.model_validate(usual | fields)


def names(examination: Examination) -> list[str]:
    return [fault.name for fault in examination.faults]


def test_a_sound_question_is_proven_and_has_no_fault(box: Sandbox) -> None:
    found = gates.examine(package(), box)
    assert names(found) == []
    assert (found.proof.status, found.proof.matching) == (ProofStatus.PROVEN, ("B",))
    without = gates.examine(package(check=None), box)
    assert (names(without), without.proof.status) == ([], ProofStatus.ABSENT)


@pytest.mark.parametrize(
    ("fields", "fault"),
    [
        ({"key": "A", "distractor_map": {"B": PATHS["A"], "C": PATHS["C"], "D": PATHS["D"]}}, gates.WRONG_KEY),
        ({"options": {"B": "$10$ J"}}, gates.NONE_RIGHT),
        ({"options": {"D": "$0.009$ kJ"}}, computed_key.SEVERAL_RIGHT),
        ({"options": {"D": "$\\frac{36}{2}$ J"}}, gates.EQUAL_OPTIONS),
        ({"options": {"D": "$9\\,$ J"}}, gates.SAME_TEXT),
        ({"options": {"D": "$ $"}}, gates.EMPTY_OPTION),
        ({"options": {"D": "$3$"}}, gates.MIXED_UNITS),
        ({"distractor_map": {"A": PATHS["A"], "C": PATHS["C"]}}, gates.NO_PATH),
        ({"distractor_map": PATHS | {"D": "wrong"}}, gates.NO_PATH),
        ({"distractor_map": PATHS | {"D": PATHS["A"]}}, gates.SAME_PATH),
        ({"distractor_map": PATHS | {"B": "It is simply right."}}, gates.KEY_IN_MAP),
        ({"distractor_map": PATHS | {"G": "Leads to no option at all."}}, gates.PATH_OF_NOTHING),
        ({"stem": STEM.replace("$2$", "$2")}, gates.UNBALANCED_LATEX),
        ({"options": {"D": "$\\frac{3}{1$ J"}}, gates.UNBALANCED_LATEX),
        ({"stem": STEM.replace("$3$", "$3.14159$")}, gates.CALCULATOR),
        ({"options": {"D": "$7.29461$ J"}}, gates.CALCULATOR),
        ({"stem": STEM.replace("$2$", "$2748313$")}, gates.CALCULATOR),
        ({"check": {"givens": {}, "expression": "9", "unit": "J"}}, computed_key.FORM_STATES),
        ({"check": {"givens": {"E": "9"}, "expression": "E", "unit": "J"}}, computed_key.FORM_STATES),
        ({"check": {"givens": {"m": "2", "v": "3"}, "expression": "m*v^2/2"}}, gates.FORM_FAILED),
        ({"check": {"givens": {"m": "2"}, "expression": "m*v**2/2"}}, gates.FORM_FAILED),
        ({"check": {"givens": {"m": "0"}, "expression": "9/m"}}, gates.FORM_FAILED),
    ],
)  # fmt: skip
def test_a_fault_is_named_and_can_be_mended(box: Sandbox, fields: dict[str, Any], fault: str) -> None:
    found = gates.examine(package(**fields), box)
    assert fault in names(found), found
    assert all(one.severity is Severity.FIXABLE and one.detail for one in found.faults)


@pytest.mark.parametrize(
    "expression",
    [
        "__import__('os').system('touch {path}')",
        "(lambda: [1 for _ in iter(int, 1)])()",
        "10**10**10",
        "[0]*10**10",
        "open('{path}','w').write('x')",
        "Sum(Sum(Sum(sqrt(i)*j*k,(i,1,2000)),(j,1,2000)),(k,1,2000))",
    ],
    ids=lambda text: text[:20],
)
def test_a_malicious_form_rejects_the_item_at_once(box: Sandbox, expression: str, tmp_path: Path) -> None:
    path = tmp_path / "made"
    check = {"givens": {"m": "2"}, "expression": expression.replace("{path}", str(path))}
    found = gates.examine(package(check=check), box)
    assert [(one.name, one.severity) for one in found.faults] == [(gates.FORM_HOSTILE, Severity.STRUCTURAL)]
    assert found.proof.status is ProofStatus.UNPROVEN
    assert not path.exists()


def test_a_rounded_key_needs_a_stem_that_asks_for_it(box: Sandbox) -> None:
    options = {"A": "2.24", "B": "2.65", "C": "3.16", "D": "3.32"}
    check = {"givens": {"a": "7"}, "expression": "sqrt(a)"}
    asked = package(stem="What is the side of a square of area $7$?", options=options, check=check)
    assert names(gates.examine(asked, box)) == [gates.CALCULATOR]
    rounded = package(
        stem="What is the side of a square of area $7$, to two decimal places?", options=options, check=check
    )
    assert names(gates.examine(rounded, box)) == []


NINE = "$\\frac{1}{2}\\times 2\\times 3^2=9$ J"


@pytest.mark.parametrize(
    ("end", "more", "named"),
    [
        (", so the answer is C.", "", "C"),
        (". Hence (C).", "", "C"),
        (". C is correct.", "", "C"),
        (". Therefore option D.", "", "D"),
        (", so the lamp is C.", "", "C"),
        (", so the lamp is C.", " It is heated by the lamps $A$, $B$ and $C$.", ""),
        (", so the current is $2$ A.", "", ""),
        (". The value $2$ A is right.", "", ""),
        (", so B is right.", "", ""),
    ],
)
def test_the_letter_at_which_a_solution_ends(box: Sandbox, end: str, more: str, named: str) -> None:
    solution = {"reasoning": f"{NINE}{end}", "key_insight": "One formula."}
    found = gates.examine(package(stem=STEM + more, solution=solution), box)
    assert names(found) == ([gates.ELSEWHERE] if named else [])


@pytest.mark.parametrize(
    ("stem", "options"),
    [
        ("An efficiency of 40% is reached by a motor of $500$ W. What is its useful power?", ["20 W", "200 W", "300 W", "900 W"]),
        ("A motor of $500$ W gives $200$ W. What is its efficiency?", ["25%", "40%", "60%", "80%"]),
    ],
)  # fmt: skip
def test_a_bare_per_cent_sign_hides_nothing(box: Sandbox, stem: str, options: list[str]) -> None:
    solution = {"reasoning": "The share is 200/500 = 40%.", "key_insight": "One formula."}
    check = {"givens": {"P": "500", "u": "200"}, "expression": "u/P"}
    if "W" in options[0]:
        check = {"givens": {"P": "500", "e": "40"}, "expression": "e/100*P", "unit": "W"}
    letters = dict(zip("ABCD", options, strict=True))
    assert (
        names(gates.examine(package(stem=stem, options=letters, solution=solution, check=check), box)) == []
    )


@pytest.mark.parametrize(
    ("asked", "options", "expected"),
    [
        (", to two significant figures", ["3.3 m s$^{-1}$", "29 m s$^{-1}$", "30 m s$^{-1}$", "88 m s$^{-1}$"], []),
        (" (to the nearest $10$ m s$^{-1}$)", ["3 m s$^{-1}$", "30 m s$^{-1}$", "50 m s$^{-1}$", "90 m s$^{-1}$"], []),
        ("", ["3.3 m s$^{-1}$", "29 m s$^{-1}$", "44 m s$^{-1}$", "88 m s$^{-1}$"], [gates.NONE_RIGHT]),
        (", to two significant figures", ["3.3 m s$^{-1}$", "28 m s$^{-1}$", "44 m s$^{-1}$", "88 m s$^{-1}$"], [gates.NONE_RIGHT]),
    ],
)  # fmt: skip
def test_whole_numbers_are_rounded_where_the_stem_asks_for_it(
    box: Sandbox, asked: str, options: list[str], expected: list[str]
) -> None:
    found = gates.examine(
        package(
            stem=f"A stone falls from rest for $3.0$ s, where $g=9.8$ m s$^{{-2}}$. What is its speed then{asked}?",
            options=dict(zip("ABCD", options, strict=True)),
            solution={"reasoning": "$v=9.8\\times3.0=29.4$.", "key_insight": "One formula."},
            check={"givens": {"g": "9.8", "t": "3"}, "expression": "g*t", "unit": "m s^-1"},
        ),
        box,
    )
    assert names(found) == expected


@pytest.mark.parametrize(
    ("stem", "options", "check", "expected"),
    [
        ("The distance of two charges is halved. The force was $12$ N. What is it now?", ["6 N", "48 N", "24 N", "3 N"], {"givens": {"F": "12", "k": "1/2"}, "expression": "F/k**2", "unit": "N"}, []),
        ("The half-life is $6$ h, so that $\\frac{1}{8}$ is left after $18$ h. What share is left after $18$ h?", ["1/6", "1/8", "1/4", "1/3"], {"givens": {"T": "6", "t": "18"}, "expression": "(1/2)**(t/T)"}, [computed_key.POOR_OPTION]),
        ("A current of $2$ A in $12\\,\\Omega$ makes $24$ V. What is the voltage?", ["6 V", "24 V", "12 V", "48 V"], {"givens": {"I": "2", "R": "12"}, "expression": "I*R", "unit": "V"}, [computed_key.POOR_OPTION]),
        ("The radius of a planet is twice that of another one of the same density. How many times as strong is its gravity?", ["1", "2", "4", "8"], {"givens": {"k": "2"}, "expression": "k**3/k**2"}, []),
    ],
)  # fmt: skip
def test_what_the_stem_gives(
    box: Sandbox, stem: str, options: list[str], check: dict[str, Any], expected: list[str]
) -> None:
    solution = {"reasoning": "It follows from the law.", "key_insight": "One formula."}
    letters = dict(zip("ABCD", options, strict=True))
    assert (
        names(gates.examine(package(stem=stem, options=letters, solution=solution, check=check), box))
        == expected
    )


def test_options_in_words_are_left_to_the_verifier(box: Sandbox) -> None:
    words = {"A": "It doubles.", "B": "It is halved.", "C": "It stays.", "D": "It vanishes."}
    found = gates.examine(package(options=words, check=None), box)
    assert names(found) == []
