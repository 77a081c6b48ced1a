"""The style judge gives six scores. Code decides from them whether the question fits the style of the exam."""

from __future__ import annotations

from qagen_dagster.agents.exams.ask import LIMITS, Said, ask
from qagen_dagster.agents.exams.rendering import ExamContext, shown_question
from qagen_dagster.agents.prompts import Prompt, load_prompt
from qagen_dagster.agents.spec import AgentSpec, Terminal
from qagen_dagster.models.base import Model
from qagen_dagster.records.exams.item import QuestionPackage, StyleReport, VerifierReport
from qagen_dagster.toolkit.excerpt import block

ROLE = "style_judge"


def prompt() -> Prompt:
    return load_prompt("exams/style")


def judge(
    context: ExamContext, model: Model, package: QuestionPackage, report: VerifierReport, attempt: int
) -> Said[StyleReport]:
    """Score a question that the verifier passed. Raises ModelError."""
    spec = AgentSpec(
        name="exam style judge",
        role=ROLE,
        prompt=prompt(),
        tools=(),
        terminals=(Terminal("submit_style", StyleReport),),
        limits=LIMITS,
        reads_text=True,
    )
    confidence = f", confidence {report.confidence}" if report.confidence else ""
    values = context.exam() | context.style() | context.target() | shown_question(package.question)
    values |= {
        "correct_option": package.question.correct_option,
        "solution": package.solution.reasoning,
        "key_insight": package.solution.key_insight,
        "paths": block(f"{letter}: {path}" for letter, path in sorted(package.distractor_map.items())),
        "verifier": f"{report.verdict.value}{confidence}",
    }
    return ask(spec, StyleReport, model, context, values, attempt=attempt, sample=300 + attempt)
