"""LLM grades: a judge reads the document and says whether it supports the answer.

After "QAGRedo Algorithm Report", section 4.3.3; long documents are searched instead of cut. A judge's failure is a
result, never an exception.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from qagen_dagster.agents.accounting import response_summaries
from qagen_dagster.agents.prompts import Prompt, load_prompt
from qagen_dagster.agents.runner import run_agent
from qagen_dagster.agents.spec import AgentSpec, Limits, Terminal
from qagen_dagster.agents.steps import Finish, GiveUp, GiveUpReason
from qagen_dagster.english.sentences import claims
from qagen_dagster.errors import ModelError
from qagen_dagster.grounding.generic import is_generic
from qagen_dagster.grounding.methods.judge_excerpt import Lines, shown
from qagen_dagster.grounding.source import Source
from qagen_dagster.grounding.tally import GROUNDED_CONFIDENCE
from qagen_dagster.models.base import Model, ModelSpec
from qagen_dagster.models.messages import Request, Response
from qagen_dagster.records.grading import AnswerGrade, JudgeVerdict, SentenceGrade, SentenceStatus, Verdict
from qagen_dagster.records.questions.results import CallSummary
from qagen_dagster.records.questions.submissions import GroundingVerdict

ROLE = "judge"
TERMINAL = "submit_verdict"
BUDGETS = (
    100_000,
    24_000,
    6_000,
)  # characters shown; a smaller one is tried if the model rejects a larger one
BESIDE_QUOTES = 5_000  # characters shown beside the quotes of an answer that has some
NO_JUDGE = "no judge is bound"


@dataclass(frozen=True)
class Judge:
    """The model that judges an answer, and what only a judge needs to know of the answer.

    `attempt` distinguishes repeated gradings of the same answer, so that each gets its own verdict. `quoted` holds the
    lines of the answer's evidence: with it the judge of a long document sees these, what is near them, and what a search finds.
    """

    model: Model
    document_id: str = ""
    attempt: int = 1
    quoted: Sequence[Lines] = ()

    def most(self, source: Source) -> int:
        """The number of characters of the document to show."""
        lines = source.text.split("\n") if self.quoted else ()
        quotes = sum(len(line) for first, last in self.quoted for line in lines[first - 1 : last])
        return min(BUDGETS[0], quotes + BESIDE_QUOTES) if self.quoted else BUDGETS[0]


@dataclass(frozen=True)
class Judged:
    """The outcome of asking the judge: a verdict, or why there is none."""

    verdict: JudgeVerdict | None
    failure: str
    calls: tuple[CallSummary, ...] = ()


def prompt() -> Prompt:
    return load_prompt("grading/judge")


def grade(question: str, answer: str, source: Source, judge: Judge | None) -> AnswerGrade:
    """Grade `answer` by the judge's verdict; without one nothing is measured, and the reason is kept.

    The confidence is that of the answer being grounded: one minus the judge's own for NOT_SUPPORTED.
    """
    pieces = [claim.text for claim in claims(answer)]
    if not pieces:
        return AnswerGrade(is_grounded=None, confidence=None, method="llm")
    judged = ask(question, answer, source, judge)
    if judged.verdict is None:
        return AnswerGrade(
            is_grounded=None,
            confidence=None,
            method="llm (no judge)" if judge is None else "llm (judge failed)",
            sentences=tuple(
                SentenceGrade(sentence=piece, status=SentenceStatus.NOT_MEASURED, reason=judged.failure)
                for piece in pieces
            ),
            judge_failure=judged.failure,
            calls=judged.calls,
        )
    return grade_of_verdict(pieces, judged.verdict, judged.calls)


def grade_of_verdict(pieces: list[str], verdict: JudgeVerdict, calls: tuple[CallSummary, ...]) -> AnswerGrade:
    """The grade that follows from a verdict alone, for the sentences `pieces`."""
    supported = verdict.verdict is Verdict.SUPPORTED
    confidence = verdict.confidence if supported else round(1 - verdict.confidence, 6)
    return AnswerGrade(
        is_grounded=supported and confidence >= GROUNDED_CONFIDENCE,
        confidence=confidence,
        method="llm",
        issues=() if supported else (judge_issue(verdict),),
        sentences=tuple(_judged(piece, supported, verdict.reason) for piece in pieces),
        llm_verdict=verdict,
        calls=calls,
    )


def _judged(piece: str, supported: bool, reason: str) -> SentenceGrade:
    if is_generic(piece):
        return SentenceGrade(sentence=piece, status=SentenceStatus.GENERIC)
    if supported:
        return SentenceGrade(sentence=piece, status=SentenceStatus.SUPPORTED)
    return SentenceGrade(sentence=piece, status=SentenceStatus.NOT_FOUND, reason=reason)


def judge_issue(verdict: JudgeVerdict) -> str:
    """The verdict in one line for a person."""
    return f"Judge: {verdict.verdict.value} ({verdict.confidence:.2f}): {verdict.reason or 'no reason given'}"


def ask(question: str, answer: str, source: Source, judge: Judge | None) -> Judged:
    """Ask the judge once, with one turn to repair an unreadable reply. A model's failure never raises."""
    if judge is None:
        return Judged(None, NO_JUDGE)
    model = _Recorder(judge.model)
    end: Finish | GiveUp | ModelError = GiveUp(GiveUpReason.MAX_TURNS, "")
    most = judge.most(source)
    for budget in (most, *(less for less in BUDGETS if less < min(most, len(source.text)))):
        part = shown(source, question, answer, budget, judge.quoted)
        values = {"scope": part.scope, "document": part.document, "question": question, "answer": answer}
        try:
            end = run_agent(_spec(), model, {}, values, sample=judge.attempt).end
        except ModelError as error:
            end = error
        if not (isinstance(end, GiveUp) and end.reason is GiveUpReason.CONTEXT_OVERFLOW):
            break
    calls = response_summaries(model.responses, ROLE, model.spec, judge.document_id, judge.attempt)
    if isinstance(end, ModelError):
        return Judged(None, f"{type(end).__name__.removesuffix('Error')}: {end}", calls)
    if isinstance(end, GiveUp):
        return Judged(None, f"{end.reason.value}: {end.detail}", calls)
    said = GroundingVerdict.model_validate(end.result)
    reason = " ".join(said.reason.split())
    verdict = JudgeVerdict(verdict=Verdict(said.verdict), confidence=said.confidence, reason=reason)
    return Judged(verdict, "", calls)


def _spec() -> AgentSpec:
    return AgentSpec(
        name="grounding judge",
        role=ROLE,
        prompt=prompt(),
        tools=(),
        terminals=(Terminal(TERMINAL, GroundingVerdict),),
        limits=Limits(max_turns=2, max_tool_calls=8, max_nudges=1),
        reads_text=True,
    )


@dataclass(frozen=True)
class _Recorder:
    """`model`; it keeps the responses, because those before an error are paid, too."""

    model: Model
    responses: list[Response] = field(default_factory=list[Response])

    @property
    def spec(self) -> ModelSpec:
        return self.model.spec

    def respond(self, request: Request) -> Response:
        self.responses.append(self.model.respond(request))
        return self.responses[-1]
