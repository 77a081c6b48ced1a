"""The four roles that make exam items, as agents: designer, implementer, verifier and style judge.

The designer writes the reasoning idea of a question, without numbers, equations or a solution. The implementer writes a complete
question from an idea, and another question from the same idea if the first question failed. The verifier runs twice: it solves the question
without the key and the implementer's solution, then judges the question and the steps beside its own solution. The style judge gives six
scores.
No agent controls retries or decides on acceptance: code does.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Generic, TypeVar

from qagen_dagster.agents.next_step import Finish, GiveUp, GiveUpReason
from qagen_dagster.agents.prompts import Prompt, load_addition, load_prompt
from qagen_dagster.agents.runner import call_summaries, raw_text, run_agent, unfinished
from qagen_dagster.agents.spec import AgentLimits, AgentSpec, Terminal
from qagen_dagster.configuration.profiles import Role
from qagen_dagster.errors import ToolError
from qagen_dagster.models.base import Model
from qagen_dagster.records.base import Difficulty, Record, Unable
from qagen_dagster.records.exams.bank import Attempt, Finding
from qagen_dagster.records.exams.config import ExamConfig
from qagen_dagster.records.exams.submissions import (
    BlindSolution,
    ExamQuestion,
    ExamSchema,
    FlawReport,
    IdeaPlan,
    QuestionPackage,
    StyleReport,
    Verdict,
    VerifierReport,
    sample_of,
)
from qagen_dagster.records.run import CallSummary
from qagen_dagster.toolkit.excerpt import OwnText, block, one_line

LIMITS = AgentLimits(max_turns=4, max_nudges=1)
_AT_ONCE = (GiveUpReason.MALFORMED, GiveUpReason.CONTEXT_OVERFLOW)  # ends that another attempt cannot change
ResultT = TypeVar("ResultT", bound=Record)
_NONE = "(none)"
_IDEA_CHARACTERS = 2_000  # maximum characters of all ideas in a prompt together
_CONCRETE = re.compile(r"[^\s]{0,20}[0-9=][^\s]{0,20}")
_OTHER_SCHEMA = "schema_id must be {wanted}, the schema you were given."
_TOO_CONCRETE = (
    "{field} holds {found!r}: an idea has no numbers and no equations. Say in words what relation or quantity is meant; "
    "the implementer chooses numbers."
)
# the beginning of a failure that the implementer reports
UNABLE = "the idea cannot be made into a question: "
_REASONLESS = "A FAIL needs reasons, a severity, and instructions where it can be fixed."


@dataclass(frozen=True)
class ExamContext:
    """One slot of a part. `item` is its number in the part, from 1. `prompts` replace shipped prompts, by name."""

    config: ExamConfig
    schema: ExamSchema
    difficulty: Difficulty
    item: int
    seed: int
    prompts: Mapping[str, Prompt] = field(default_factory=dict[str, Prompt])

    @property
    def account(self) -> str:
        """The name under which the calls for this slot are recorded."""
        return f"{self.schema.id}-{self.difficulty.value}-{self.item:04d}"

    def sample(self, number: int) -> int:
        """A sample number that differs between seeds, items and attempts."""
        return sample_of(self.seed, self.item, number)

    def exam(self) -> dict[str, str]:
        """The prompt values of the exam, which every role gets."""
        return {"exam": self.config.name, "candidate": self.config.candidate_profile.strip()}

    def style(self) -> dict[str, str]:
        return {"style_notes": "\n".join(f"- {note}" for note in self.config.style_notes) or _NONE}

    def target(self) -> dict[str, str]:
        """The prompt values of the schema and the difficulty."""
        return {
            "schema_id": self.schema.id,
            "schema_title": self.schema.title,
            "difficulty": self.difficulty.value,
            "meaning": OwnText(self.config.difficulties[self.difficulty].meaning),
        }


@dataclass(frozen=True)
class Reply(Generic[ResultT]):
    """The result of a role, or the reason why there is none. `raw` is everything that the model wrote."""

    result: ResultT | None
    failure: str
    raw: str
    calls: tuple[CallSummary, ...]


@dataclass(frozen=True)
class Failed:
    """The previous attempt, and why it failed."""

    attempt: Attempt
    finding: Finding


# by kind of submission: role, prompt, terminal and sample offset
_ROLES: dict[type[Record], tuple[Role, str, str, int]] = {
    IdeaPlan: (Role.DESIGNER, "designer", "submit_idea", -1),
    QuestionPackage: (Role.IMPLEMENTER, "implementer", "submit_question", 0),
    BlindSolution: (Role.VERIFIER, "solve", "submit_solution", 100),
    VerifierReport: (Role.VERIFIER, "verify", "submit_verdict", 200),
    StyleReport: (Role.STYLE_JUDGE, "style", "submit_style", 300),
    FlawReport: (Role.STYLE_JUDGE, "style", "submit_style", 300),
}


def prompts() -> tuple[Prompt, ...]:
    """The prompts of the roles."""
    names = dict.fromkeys(name for _, name, _, _ in _ROLES.values())
    return (*(load_prompt(f"exams/{name}") for name in names), retry_prompt())


def retry_prompt() -> Prompt:
    """The text before the implementer's prompt, from the second attempt on."""
    return load_addition("exams/retry")


def design(
    context: ExamContext, model: Model, ideas: Sequence[str], failures: Sequence[str]
) -> Reply[IdeaPlan]:
    """Ask for an idea that differs from `ideas`; `failures` say why earlier designs failed. Raises ModelError."""
    values = context.exam() | context.target()
    values |= {
        "schema": OwnText(context.schema.text),
        "ideas": shown_ideas(ideas),
        "failures": block(f"- {one_line(one, 400)}" for one in failures) or _NONE,
    }
    check = partial(_check_idea, context.schema.id)
    return _ask(context, model, IdeaPlan, values, len(failures) + 1, check)


def shown_ideas(ideas: Sequence[str]) -> str:
    """As many of the newest ideas as fit, and the number of older ideas that are not shown.

    The newest idea is always shown; it is cut if it is too long by itself.
    """
    rows: list[str] = []
    room = _IDEA_CHARACTERS
    for idea in reversed(ideas):
        row = f"- {one_line(idea, _IDEA_CHARACTERS - 2)}"
        if rows and len(row) + 1 > room:
            break
        rows.append(row)
        room -= len(row) + 1
    hidden = len(ideas) - len(rows)
    if hidden:
        rows.append(f"({hidden} older {'idea is' if hidden == 1 else 'ideas are'} not shown)")
    return block(reversed(rows)) or "(none yet)"


def _check_idea(schema_id: str, result: Record) -> None:
    plan = IdeaPlan.model_validate(result)
    if plan.schema_id.strip() != schema_id:
        raise ToolError(_OTHER_SCHEMA.format(wanted=schema_id))
    for name, words in words_of(plan).items():
        found = _CONCRETE.search(" ".join(words))
        if found is not None:
            raise ToolError(_TOO_CONCRETE.format(field=name, found=found.group()))


def implement(
    context: ExamContext, model: Model, plan: IdeaPlan, attempt: int, failed: Failed | None
) -> Reply[QuestionPackage]:
    """Ask for the attempt with the number `attempt`, from 1. The prompt states why the attempt in `failed` failed. Raises ModelError."""
    values = context.exam() | context.style() | context.target()
    values["plan"] = shown_plan(plan)
    thresholds = context.config.thresholds
    values |= {"least_score": str(thresholds.least_score), "least_mean": f"{thresholds.least_mean:g}"}
    if failed is not None:
        values |= {
            "previous": _NONE if failed.attempt.package is None else _shown_package(failed.attempt.package),
            "caught_by": failed.finding.stage.value,
            "why": _why(failed),
            "instructions": failed.finding.instructions or _NONE,
            "attempt": str(attempt),
        }
    return _ask(context, model, QuestionPackage, values, attempt, retried=failed is not None)


def _why(failed: Failed) -> str:
    """Why the attempt failed: from the report that rejected it, else from the faults that code found."""
    detail = f"{failed.finding.name}: {failed.finding.detail}"
    style, report = failed.attempt.style, failed.attempt.report
    if style is not None:
        kind, points = style.failure_type, (detail,)
    elif report is not None and report.verdict is Verdict.FAILED:
        kind, points = report.failure_type, report.reasons or (detail,)
    else:
        kind, points = "", tuple(detail.split("; "))
    return block(filter(None, (kind, bullets(tuple(one_line(one, 1000) for one in points)))))


def _shown_package(package: QuestionPackage) -> str:
    question = package.question
    rows = [
        question.stem,
        shown_options(question.options.items()),
        f"correct_option: {question.correct_option}",
        f"solution: {package.solution.reasoning}",
        *(f"path to {letter}: {path}" for letter, path in sorted(package.distractor_map.items())),
    ]
    if package.check is not None:
        rows.append(f"check: {package.check.expression} with {dict(package.check.givens)}")
    return block(rows)


def solve(context: ExamContext, model: Model, question: ExamQuestion, attempt: int) -> Reply[BlindSolution]:
    """Let the verifier answer from the stem and the options only. Raises ModelError."""
    return _ask(context, model, BlindSolution, context.exam() | shown_question(question), attempt)


def verify(
    context: ExamContext, model: Model, package: QuestionPackage, blind: BlindSolution, attempt: int
) -> Reply[VerifierReport]:
    """Let the verifier judge a question, its given steps and its paths to other options, beside `blind`, the verifier's own solution.
    Raises ModelError."""
    target = context.target()
    values = context.exam() | {name: target[name] for name in ("difficulty", "meaning")}
    values |= shown_question(package.question)
    values |= {
        "own_answer": f"{', '.join(blind.right) or 'none'} ({blind.value})",
        "own_reasoning": blind.reasoning,
        "steps": package.solution.reasoning,
        "paths": block(f"{letter}: {path}" for letter, path in sorted(package.distractor_map.items())),
    }
    return _ask(context, model, VerifierReport, values, attempt, _check_verdict)


def _check_verdict(result: Record) -> None:
    report = VerifierReport.model_validate(result)
    if report.verdict is Verdict.FAILED and not (report.reasons or report.regen_instructions):
        raise ToolError(_REASONLESS)


def judge_style(
    context: ExamContext, model: Model, package: QuestionPackage, report: VerifierReport, attempt: int
) -> Reply[StyleReport]:
    """Let the style judge score a question that the verifier passed. Raises ModelError."""
    confidence = f", confidence {report.confidence}" if report.confidence else ""
    values = context.exam() | context.style() | context.target() | shown_question(package.question)
    values |= {
        "correct_option": package.question.correct_option,
        "solution": package.solution.reasoning,
        "key_insight": package.solution.key_insight,
        "paths": block(f"{letter}: {path}" for letter, path in sorted(package.distractor_map.items())),
        "verifier": f"{report.verdict.value}{confidence}",
    }
    kind = StyleReport if context.config.thresholds.most_flaws is None else FlawReport
    reply = _ask(context, model, kind, values, attempt)
    result = None if reply.result is None else StyleReport.model_validate(reply.result.model_dump())
    return Reply(result, reply.failure, reply.raw, reply.calls)


def _ask(
    context: ExamContext,
    model: Model,
    kind: type[ResultT],
    values: dict[str, str],
    attempt: int,
    check: Callable[[Record], None] | None = None,
    *,
    retried: bool = False,
) -> Reply[ResultT]:
    """Run the agent of the role that submits a `kind`. Its calls are recorded with `attempt`.

    Raises ModelError when the model is not available, its prompt is too long, or its reply is malformed.
    """
    role, name, terminal, first = _ROLES[kind]
    ends = (Terminal(terminal, kind, check),)
    if kind is QuestionPackage:
        ends = (*ends, Terminal("report_unable", Unable))
    prompt, again = (
        context.prompts.get(one.name, one) for one in (load_prompt(f"exams/{name}"), retry_prompt())
    )
    prompt = again.before(prompt) if retried else prompt
    agent = AgentSpec(f"exam {role.value}", role.value, prompt, (), ends, LIMITS, reads_text=True)
    run = run_agent(agent, model, {}, values, sample=context.sample(first + attempt))
    if isinstance(run.end, GiveUp) and run.end.reason in _AT_ONCE:
        raise unfinished(str(run.end))
    calls = call_summaries(run.responses, agent.role, model.spec, context.account, attempt)
    ended = run.end.result if isinstance(run.end, Finish) else run.end
    if isinstance(ended, Unable):
        return Reply(None, f"{UNABLE}{one_line(ended.reason, 500)}", raw_text(run), calls)
    result = None if isinstance(ended, GiveUp) else kind.model_validate(ended)
    return Reply(result, "" if result else str(run.end), raw_text(run), calls)


def bullets(lines: tuple[str, ...]) -> str:
    return block(f"- {line}" for line in lines) or _NONE


def words_of(plan: IdeaPlan) -> dict[str, tuple[str, ...]]:
    """The texts of each field of a plan, without the schema's id."""
    fields = ((name, value) for name, value in plan if name != "schema_id")
    return {name: value if isinstance(value, tuple) else (value,) for name, value in fields}


def shown_plan(plan: IdeaPlan) -> str:
    """The idea as the implementer sees it."""
    rows = [f"schema_id: {plan.schema_id}"]
    for name, words in words_of(plan).items():
        listed = name in ("constraints_used", "intended_wrong_paths")
        rows += [f"{name}:", bullets(words)] if listed else [f"{name}: {words[0]}"]
    return block(rows)


def shown_options(options: Iterable[tuple[str, str]]) -> str:
    """The options in the order of their letters, one line each, such as `A: ...`."""
    return block(f"{letter}: {' '.join(text.split())}" for letter, text in sorted(options))


def shown_question(question: ExamQuestion) -> dict[str, str]:
    """The prompt values of a question: only its stem and its options."""
    return {"stem": question.stem, "options": shown_options(question.options.items())}
