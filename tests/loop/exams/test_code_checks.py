"""Each gate names its fault, and a sound question passes all of them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from qagen_dagster.loop.exams import code_checks as gates
from qagen_dagster.mathematics.sandbox import Sandbox
from qagen_dagster.records.exams.bank import Examination, ProofStatus
from qagen_dagster.records.exams.item import QuestionPackage, Severity

STEM = "A body of mass $2$ kg moves at $3$ m s$^{-1}$. What is its kinetic energy?"
OPTIONS = {"A": "$6$ J", "B": "$9$ J", "C": "$18$ J", "D": "$3$ J"}
PATHS = {
    "A": "Forgets to square the speed.",
    "C": "Leaves out the factor of one half.",
    "D": "Takes the speed for the energy.",
}
CHECK = {"givens": {"m": "2", "v": "3"}, "expression": "m*v**2/2", "unit": "J"}


@pytest.fixture(scope="module")
def box() -> Iterator[Sandbox]:
    with Sandbox() as box:
        yield box


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
        ({"options": {"D": "$0.009$ kJ"}}, gates.SEVERAL_RIGHT),
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
        ({"check": {"givens": {}, "expression": "9", "unit": "J"}}, gates.FORM_STATES),
        ({"check": {"givens": {"E": "9"}, "expression": "E", "unit": "J"}}, gates.FORM_STATES),
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
    asked = package(stem="What is the length of the side?", options=options, check=check)
    assert names(gates.examine(asked, box)) == [gates.CALCULATOR]
    rounded = package(stem="What is the length, to two decimal places?", options=options, check=check)
    assert names(gates.examine(rounded, box)) == []


def test_options_in_words_are_left_to_the_verifier(box: Sandbox) -> None:
    words = {"A": "It doubles.", "B": "It is halved.", "C": "It stays.", "D": "It vanishes."}
    found = gates.examine(package(options=words, check=None), box)
    assert names(found) == []
