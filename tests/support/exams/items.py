"""Exam items for tests: plain ones, and one that holds everything that has a meaning in some export format."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from qagen_dagster.records.base import Difficulty
from qagen_dagster.records.exams.bank import ExamItem, ItemBank, Proof, ProofStatus, item_id
from qagen_dagster.records.exams.submissions import (
    BlindSolution,
    CheckableForm,
    ExamQuestion,
    ExamSolution,
    IdeaPlan,
    QuestionPackage,
    StyleReport,
    StyleScores,
    Verdict,
    VerifierReport,
)

TIME = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
TITLES = {"M1": "Hidden Proportionality / Scaling", "P2": "Scaling Laws & <Dimensions>"}
HARD_STEM = (
    "A set $\\{x : x < 3\\}$ costs \\$5 & has 10% off; see #1, ~2 = {two} [html] ::T::.\n"
    "Find\n\n$$\\int_0^1 \\frac{x^{2}}{\\sqrt{x}}\\,dx \\neq 0$$\n\n\\(\\nu\\) is not $\\unknowncommand{1}$."
)
HARD_OPTIONS = {
    "A": "$\\dfrac{3}{4}$",
    "B": "[a] %50% = 7 # {b} ~ c -> d",
    "C": "$2\\,\\mathrm{m\\,s^{-1}}$ \u2212 \u00e9 \u03c0",
    "D": "a_b^c \\ / <b>bold</b> \"x\" 'y' |z|",
    "E": "None $ of these",
}

MOMENTUM = "A trolley of mass $2\\,\\mathrm{kg}$ moves at $3\\,\\mathrm{m\\,s^{-1}}$. What is its momentum?"
MOMENTUM_UNIT = "\\,\\mathrm{kg\\,m\\,s^{-1}}$"
_VALUES = {"A": "6", "B": "8", "C": "1.5", "D": "12"}


def question(stem: str = "What is $1 + 1$?", key: str = "B", **options: str) -> ExamQuestion:
    shown: dict[str, str] = options or {"A": "$1$", "B": "$2$", "C": "$3$", "D": "$4$"}
    return ExamQuestion.model_validate({"stem": stem, "options": shown, "correct_option": key})


def package(of: ExamQuestion, **fields: Any) -> QuestionPackage:
    wrong = {
        key: f"adds {key} = $\\frac{{1}}{{2}}$ twice #1" for key in of.options if key != of.correct_option
    }
    usual: dict[str, Any] = {
        "question": of,
        "solution": ExamSolution(
            reasoning="Add: $1 + 1 = 2$.\nNothing else.", key_insight="It is a sum {of two}."
        ),
        "distractor_map": wrong,
        "check": CheckableForm(givens={"a": "1"}, expression="a + a"),
    }
    return QuestionPackage.model_validate(usual | fields)


def plan(schema_id: str = "M1") -> IdeaPlan:
    return IdeaPlan(
        schema_id=schema_id,
        idea_summary="See that a sum doubles.",
        function_or_object_type="whole numbers",
        constraints_used=("both are equal",),
        what_is_asked="their sum",
        intended_wrong_paths=("takes one", "takes the product", "counts twice"),
        difficulty_rationale="one step",
        mcq_viability="each path has its value",
    )


def item(
    of: ExamQuestion | None = None,
    schema_id: str = "M1",
    difficulty: Difficulty = Difficulty.EASY,
    **fields: Any,
) -> ExamItem:
    asked = of or question()
    usual: dict[str, Any] = {
        "id": item_id(schema_id, difficulty, asked),
        "exam": "mini",
        "schema_id": schema_id,
        "schema_title": TITLES[schema_id],
        "difficulty": difficulty,
        "idea_plan": plan(schema_id),
        "question_package": package(asked),
        "blind_solution": BlindSolution(
            chosen_option=asked.correct_option,
            right_options=(asked.correct_option,),
            value="2",
            reasoning="sum",
        ),
        "verifier_report": VerifierReport(verdict=Verdict.PASSED, confidence="high"),
        "style_report": StyleReport(verdict=Verdict.PASSED, scores=scores()),
        "proof": Proof(status=ProofStatus.PROVEN, value="2", matching=(asked.correct_option,)),
        "models": {"designer": "embedded:exam", "verifier": "embedded:solver"},
        "attempts": 1,
        "timestamp": TIME.isoformat(),
    }
    return ExamItem.model_validate(usual | fields)


def scores(value: int = 9) -> StyleScores:
    return StyleScores(
        authenticity=value,
        one_idea=value,
        no_calculator=value,
        elegance=value,
        distractors=value,
        plausibility=value,
    )


def hard_item() -> ExamItem:
    """One that holds whatever has a meaning in some format."""
    return item(question(HARD_STEM, "A", **HARD_OPTIONS), "P2", Difficulty.HARD)


def trolley() -> ExamItem:
    """One whose key is proven, with units; D and B are the key if the mass is 4 kg or the speed 4 m/s."""
    asked = question(
        MOMENTUM, "A", **{letter: f"${value}{MOMENTUM_UNIT}" for letter, value in _VALUES.items()}
    )
    made = package(
        asked,
        solution={"reasoning": "Momentum is mass times speed.", "key_insight": "It is a product."},
        distractor_map={letter: f"the wrong formula leads to {letter}" for letter in "BCD"},
        check={"givens": {"m": "2", "v": "3"}, "expression": "m*v", "unit": "kg m/s"},
    )
    return item(asked, question_package=made)


def bank(*items: ExamItem) -> ItemBank:
    return ItemBank(exam="mini", name="Mini & <Test> / one", items=items, timestamp=TIME)
