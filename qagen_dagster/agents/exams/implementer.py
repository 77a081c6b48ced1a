"""The implementer writes a complete question from an idea, and another one from the same idea when that failed.

No agent controls retries: the retry instructions stand before the implementer's user message.
"""

from __future__ import annotations

from dataclasses import dataclass

from qagen_dagster.agents.exams.ask import LIMITS, Said, ask
from qagen_dagster.agents.exams.rendering import ExamContext, bullets, shown_options, shown_plan
from qagen_dagster.agents.prompts import Prompt, load_addition, load_prompt
from qagen_dagster.agents.spec import AgentSpec, Terminal
from qagen_dagster.models.base import Model
from qagen_dagster.records.exams.item import IdeaPlan, QuestionPackage, StyleReport, Verdict, VerifierReport
from qagen_dagster.toolkit.excerpt import block, one_line

ROLE = "implementer"
_NONE = "(none)"


@dataclass(frozen=True)
class Failed:
    """The previous attempt: its question if there was one, the step that rejected it and why, and the reports."""

    package: QuestionPackage | None
    caught_by: str
    detail: str
    instructions: str
    report: VerifierReport | None = None
    style: StyleReport | None = None


def prompt() -> Prompt:
    return load_prompt("exams/implementer")


def retry_prompt() -> Prompt:
    return load_addition("exams/retry")


def implement(
    context: ExamContext, model: Model, plan: IdeaPlan, attempt: int, failed: Failed | None
) -> Said[QuestionPackage]:
    """Ask for attempt `attempt` (from 1). From the second on, the model is told what failed. Raises ModelError."""
    values = context.exam() | context.style() | context.target()
    values["plan"] = shown_plan(plan)
    thresholds = context.config.thresholds
    values |= {"least_score": str(thresholds.least_score), "least_mean": f"{thresholds.least_mean:g}"}
    chosen = prompt()
    if failed is not None:
        chosen = retry_prompt().before(chosen)
        values |= _told(failed) | {"attempt": str(attempt)}
    spec = AgentSpec(
        name="exam implementer",
        role=ROLE,
        prompt=chosen,
        tools=(),
        terminals=(Terminal("submit_question", QuestionPackage),),
        limits=LIMITS,
        reads_text=True,
    )
    return ask(spec, QuestionPackage, model, context, values, attempt=attempt, sample=attempt)


def _told(failed: Failed) -> dict[str, str]:
    return {
        "previous": _NONE if failed.package is None else _shown(failed.package),
        "caught_by": failed.caught_by,
        "why": _why(failed),
        "instructions": failed.instructions or _NONE,
    }


def _why(failed: Failed) -> str:
    """The reasons in the report that failed; without a report, what code found."""
    if failed.style is not None:
        kind, points = failed.style.failure_type, (failed.detail,)
    elif failed.report is not None and failed.report.verdict is Verdict.FAILED:
        kind, points = failed.report.failure_type, failed.report.reasons or (failed.detail,)
    else:
        kind, points = "", tuple(failed.detail.split("; "))
    return block(filter(None, (kind, bullets(tuple(one_line(one, 1000) for one in points)))))


def _shown(package: QuestionPackage) -> str:
    question = package.question
    rows = [
        question.stem,
        shown_options(question),
        f"correct_option: {question.correct_option}",
        f"solution: {package.solution.reasoning}",
        *(f"path to {letter}: {path}" for letter, path in sorted(package.distractor_map.items())),
    ]
    if package.check is not None:
        rows.append(f"check: {package.check.expression} with {dict(package.check.givens)}")
    return block(rows)
