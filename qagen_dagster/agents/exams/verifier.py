"""The verifier runs twice: it solves the question without the key, then judges it beside its own solution.

Neither run sees the key or the implementer's solution. Code compares the two solutions.
"""

from __future__ import annotations

from qagen_dagster.agents.exams.ask import LIMITS, Said, ask
from qagen_dagster.agents.exams.rendering import ExamContext, shown_question
from qagen_dagster.agents.prompts import Prompt, load_prompt
from qagen_dagster.agents.spec import AgentSpec, Terminal
from qagen_dagster.errors import ToolError
from qagen_dagster.models.base import Model
from qagen_dagster.records.base import Record
from qagen_dagster.records.exams.item import (
    BlindSolution,
    ExamQuestion,
    QuestionPackage,
    Verdict,
    VerifierReport,
)
from qagen_dagster.toolkit.excerpt import block

ROLE = "verifier"
_REASONLESS = "A FAIL needs reasons, a severity, and instructions where it can be fixed."


def solve_prompt() -> Prompt:
    return load_prompt("exams/solve")


def verify_prompt() -> Prompt:
    return load_prompt("exams/verify")


def solve(context: ExamContext, model: Model, question: ExamQuestion, attempt: int) -> Said[BlindSolution]:
    """Answer from the stem and the options only. Raises ModelError."""
    spec = AgentSpec(
        name="exam solver",
        role=ROLE,
        prompt=solve_prompt(),
        tools=(),
        terminals=(Terminal("submit_solution", BlindSolution),),
        limits=LIMITS,
        reads_text=True,
    )
    values = context.exam() | shown_question(question)
    return ask(spec, BlindSolution, model, context, values, attempt=attempt, sample=100 + attempt)


def verify(
    context: ExamContext, model: Model, package: QuestionPackage, blind: BlindSolution, attempt: int
) -> Said[VerifierReport]:
    """Judge the question; the verifier sees its own solution and the paths to the other options. Raises ModelError."""
    spec = AgentSpec(
        name="exam verifier",
        role=ROLE,
        prompt=verify_prompt(),
        tools=(),
        terminals=(Terminal("submit_verdict", VerifierReport, _check),),
        limits=LIMITS,
        reads_text=True,
    )
    target = context.target()
    values = context.exam() | {name: target[name] for name in ("difficulty", "meaning")}
    values |= shown_question(package.question)
    values |= {
        "own_answer": f"{', '.join(blind.right) or 'none'} ({blind.value})",
        "own_reasoning": blind.reasoning,
        "paths": block(f"{letter}: {path}" for letter, path in sorted(package.distractor_map.items())),
    }
    return ask(spec, VerifierReport, model, context, values, attempt=attempt, sample=200 + attempt)


def _check(result: Record) -> None:
    report = VerifierReport.model_validate(result)
    if report.verdict is Verdict.FAILED and not (report.reasons or report.regen_instructions):
        raise ToolError(_REASONLESS)
