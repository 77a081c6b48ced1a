"""A key is proven when exactly one option has the value of the form, and it is the key."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from qagen_dagster.loop.exams.code_checks import Proving, option_values, prove
from qagen_dagster.mathematics.sandbox import Sandbox
from qagen_dagster.records.exams.bank import ProofStatus
from qagen_dagster.records.exams.item import CheckableForm, ExamQuestion


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
